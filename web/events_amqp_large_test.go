package web

import (
	"net/http"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A business message over 64 KiB is taken once an endpoint of kind amqp is subscribed to its type, without any setting: its data is kept
// apart, from where the AMQP message gets it, and other receivers get a reference. Other types are rejected as before, and so is data
// beyond the limit of data that is stored apart.
//
// Rules: EDU-01a, CE-21, CE-31, OPEN-02
func TestLargeBusinessMessageIsTaken(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := &largeWorld{pullWorld: newPullWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock)}
	body, data := largeEvent("large-1", 200_000)
	w.publisher.publish(t, body).want(t, http.StatusRequestEntityTooLarge)
	var endpoint store.Endpoint
	clinic := w.newPartner(t, "Legekontor")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		endpoint = store.Endpoint{PartnerID: clinic.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		return tx.InsertEndpoint(t.Context(), &endpoint)
	}))
	refused := w.publisher.publish(t, body).want(t, http.StatusRequestEntityTooLarge)
	wantWords(t, string(refused.body), "at most 65536 are taken")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertSubscription(t.Context(), &store.Subscription{
			PartnerID: endpoint.PartnerID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{"nl.example.student.enrolled"},
		})
	}))
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	if path, _ := w.address(t); path == "" || len(data) != 200_000 {
		t.Error("the other receiver gets no reference")
	}
	tooMuch, _ := largeEvent("large-2", 11<<20)
	w.publisher.publish(t, tooMuch).want(t, http.StatusRequestEntityTooLarge)
}
