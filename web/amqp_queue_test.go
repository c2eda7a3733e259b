package web

import (
	"strings"
	"testing"

	"schakel/store"
)

// The overview lists the queues that are read, with what is known of their time to live, and warns when messages expire.
//
// Rules: AMQP-42, INC-22
func TestAMQPQueueLifetimes(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	wantWords(t, text(w.admin.get("/admin/amqp")), "Queues that we read", "No broker was asked about a queue yet")
	save := func(queues ...store.AMQPQueue) {
		t.Helper()
		noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return tx.SaveAMQPQueues(t.Context(), w.broker, queues, store.Time{}) }))
	}
	save(store.AMQPQueue{Name: "100_async", PartyID: w.own, Known: true}, store.AMQPQueue{Name: "100_error", PartyID: w.own})
	page := text(w.admin.get("/admin/amqp"))
	wantWords(t, page, "100_async", "None in its arguments", "whether a policy sets one", "100_error", "Not known", "does not tell over AMQP")
	if strings.Contains(page, "Messages expire") {
		t.Error("the page warns of nothing")
	}
	save(store.AMQPQueue{Name: "100_async", PartyID: w.own, Known: true, TTLMS: 900_000})
	wantWords(t, text(w.admin.get("/admin/amqp")), "Messages expire in queues that we read", "Its messages expire after 15m0s")
}
