package outbox

import (
	"errors"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A partner cannot pile up jobs; others and administrators are not held up by it.
func TestJobsOfAPartnerAreBounded(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	north, south := c.partner("North", "nl.a"), c.partner("South", "nl.a")
	c.stop() // so that the jobs stay
	start := func(partnerID string) error {
		_, err := c.eng.StartJob(c.Context(), Actor{Kind: "client", ID: "cli_1", Name: "Machine", PartnerID: partnerID}, ActionResend, store.DeliveryFilter{}, "")
		return err
	}
	for n := range maxJobs {
		if err := start(north.PartnerID); err != nil {
			t.Fatalf("job %d: %v", n+1, err)
		}
	}
	if err := start(north.PartnerID); !errors.Is(err, ErrTooManyJobs) {
		t.Errorf("one more: %v", err)
	}
	for _, other := range []string{south.PartnerID, ""} {
		if err := start(other); err != nil {
			t.Errorf("another's: %v", err)
		}
	}
}
