package outbox

import (
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// TestNewEndpointGetsItsTestEvent tests an endpoint that was made while the engine runs and has no subscription yet.
func TestNewEndpointGetsItsTestEvent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		c.partner("North", "nl.a")
		c.accept("nl.a", "1")
		c.rcv.wait(t) // by now the engine knows all endpoints there are
		ep := store.Endpoint{PartnerID: c.own.ID, Name: "new", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		c.write(func(tx *store.Tx) error { return tx.InsertEndpoint(t.Context(), &ep) })
		c.eng.Changed()
		eventID, _, err := c.eng.SendTest(t.Context(), Actor{}, ep.ID, "urn:nld:oin:1")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.rcv.wait(t); got.EventID != eventID || got.Event.CEType != TestEventType {
			t.Errorf("got %s of type %s", got.EventID, got.Event.CEType)
		}
	})
}
