package web

import (
	"net/http"
	"net/url"
	"testing"

	"schakel/store"
)

// An administrator acts on all messages of a list: the page says on how many, the API does the same, and the audit trail has it.
// A discarded delivery takes its message off the work list.
//
// Rules: AMQP-13, AMQP-49, AMQP-52, AMQP-87
func TestAMQPActionsOnAll(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	in := func(status string, her int64) func(*store.AMQPMessage) {
		return func(m *store.AMQPMessage) {
			m.Direction, m.Status, m.Her, m.PartyID, m.PartnerID, m.Encoded, m.Digest = store.AMQPIn, status, her, "", "", []byte("x"), m.MessageID
		}
	}
	one := w.message(t, "one", in(store.AMQPQuarantined, 555))
	w.message(t, "two", in(store.AMQPQuarantined, 555))
	w.message(t, "three", in(store.AMQPQuarantined, 0))
	w.message(t, "letter", in(store.AMQPDead, 200))
	w.message(t, "held", in(store.AMQPHeld, 200))
	w.message(t, "rejected", func(m *store.AMQPMessage) { m.Status = store.AMQPRejected })
	list := "/admin/amqp/messages"
	wantWords(t, text(w.admin.get(list)), "Reprocess 4 messages", "Put back 1 dead letter", "Drop 6 messages")
	wantWords(t, text(w.admin.get(list+"?state=quarantined&herId=555")), "Reprocess 2 messages", "Drop 2 messages")
	wantWords(t, text(w.admin.get(list+"?herId=none")), "Reprocess 1 message")
	wantRefused(t, w.admin.get(list+"?herId=x"), "Fill in a HER-id")
	wantWords(t, text(w.admin.get(list+"/"+one.ID)), "Register the sender with its HER-id", "Reprocess this message", "HER-id 555")
	wantWords(t, text(w.admin.get("/admin/amqp")), "Held, without a recipient")
	wantStatus(t, w.admin.post(list+"/all/reprocess?state=quarantined&herId=555", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(list)), "Reprocess is asked for 2 messages", "2 messages of this list are being worked on")
	asked, err := w.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Asked: true, HerID: 555})
	if err != nil || asked != 2 {
		t.Errorf("%d asked, %v", asked, err)
	}
	wantStatus(t, w.admin.post(list+"/all/drop?state=held", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(list)), "Say why")
	wantStatus(t, w.admin.post(list+"/all/drop?state=held", url.Values{"reason": {"A test."}}), http.StatusSeeOther)
	wantWords(t, text(w.admin.get("/admin/audit")), "asked for an action on AMQP messages: reprocess, 2 messages", "drop, 1 messages")
	wantStatus(t, w.admin.post(list+"/all/burn", nil), http.StatusNotFound)
	wantStatus(t, w.staff.post(list+"/all/drop", url.Values{"reason": {"A test."}}), http.StatusForbidden)
}
