package cli

import (
	"fmt"
	"strings"
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

// TestRefusedTokenSaysWhereToLook expects the error to point at the client, at the address, or nowhere because it passes.
func TestRefusedTokenSaysWhereToLook(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: ": look at the id and the key or secret", 401: ": look at the id and the key or secret", 404: ": look at --token-url", 405: ": look at --token-url", 503: "",
	} {
		text := tokenRefused{status: status}.Error()
		if _, where, _ := strings.Cut(text, fmt.Sprint("status ", status)); !strings.HasPrefix(where, want) || want == "" && where != "" {
			t.Errorf("%d: %s", status, text)
		}
	}
}
