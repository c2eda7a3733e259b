package cli

import (
	"testing"

	"schakel/registry/partners"
)

// A delivery is not cut before the time-out of its endpoint, whatever the endpoint may have.
//
// Rules: EDU-12.
func TestDeliveriesMayTakeAsLongAsTheirEndpointSays(t *testing.T) {
	t.Parallel()
	guard, err := OutboundFlags{}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if got := guard.HTTPClient().Timeout; got < partners.LongestTimeout {
		t.Errorf("a request is cut after %s; an endpoint may have a time-out of %s", got, partners.LongestTimeout)
	}
}
