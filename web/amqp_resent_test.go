package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
	webamqp "schakel/web/amqp"
	"schakel/web/site"
)

// A message that is sent again is shown as on its way until it is on its queue, and leads to the one in its place and back.
// Rules: AMQP-15, AMQP-119.
func TestAMQPMessageIsResent(t *testing.T) {
	t.Parallel()
	q := newQueueWorld(t)
	d := q.rejected(q.first)
	w := &amqpWorld{portalHarness: q.portalHarness, admin: q.admin, owner: q.first.id}
	of := func(status string) func(*store.AMQPMessage) {
		return func(m *store.AMQPMessage) { m.DeliveryID, m.Status = d.ID, status }
	}
	first := w.message(t, "first-id", of(store.AMQPFailed))
	at := "/admin/amqp/messages/" + first.ID
	wantWords(t, text(w.admin.get(at)), "AMQP error came back")
	wantStatus(t, w.admin.post(at+"/resend", nil), http.StatusSeeOther)
	page := text(w.admin.get(at))
	wantWords(t, page, "On its way", "Not now: It is on its way.")
	if strings.Contains(page, "AMQP error came back") || strings.Contains(page, at+"/resend") {
		t.Error("what is on its way is shown as failed, or can be sent again")
	}
	if list := text(w.admin.get("/admin/amqp/messages")); !strings.Contains(list, "On its way") {
		t.Error("the list does not say that it is on its way")
	}
	second := w.message(t, "second-id", of(store.AMQPOpenMessage))
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		first.Status = store.AMQPReplaced
		_, err := tx.UpdateAMQPMessage(t.Context(), &first, store.AMQPFailed)
		return err
	}))
	wantWords(t, text(w.admin.get(at)), "Replaced by a resend", "Sent again as", "/admin/amqp/messages/"+second.ID)
	wantWords(t, text(w.admin.get("/admin/amqp/messages/"+second.ID)), "Sent in place of", at)
}

// What to do is said to who reads it: what we rejected is for its sender to mend, and what they rejected for us.
// Rules: AMQP-49, AMQP-87, AMQP-88.
func TestAMQPRemedyIsForTheReader(t *testing.T) {
	t.Parallel()
	for _, c := range message.Conditions() {
		m := store.AMQPMessage{Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: store.AMQPRefused, Reason: string(c)}
		if got := webamqp.AMQPRemedy(m); got == "" || got == site.AMQPReasonOf(m.Reason).Remedy {
			t.Errorf("%s: %q", c, got)
		}
	}
	for _, tc := range []struct {
		direction, kind, status string
		ours                    bool
	}{
		{store.AMQPOut, store.AMQPBusiness, store.AMQPRejected, true},
		{store.AMQPIn, store.AMQPAppRec, store.AMQPMatched, true},
		{store.AMQPIn, store.AMQPBusiness, store.AMQPRejected, false},
		{store.AMQPOut, store.AMQPAppRec, store.AMQPSent, false},
	} {
		got := webamqp.AMQPRemedy(store.AMQPMessage{Direction: tc.direction, Kind: tc.kind, Status: tc.status, Reason: "T02"})
		if ours := strings.Contains(got, "Publish a corrected message"); ours != tc.ours || got == "" {
			t.Errorf("%s %s: %q", tc.direction, tc.kind, got)
		}
	}
}

type unfitBridge struct{ site.AMQPBridge }

func (unfitBridge) Unfit() []amqp.Unfit {
	return []amqp.Unfit{{Party: "Chain clinic", PartyID: "amp_1", Purpose: store.AMQPSign, Thumbprint: "AB12", Detail: "It is for TLS."}}
}

// An own certificate of a wrong usage is told on the overview.
// Rules: AMQP-69.
func TestUnfitCertificatesAreTold(t *testing.T) {
	t.Parallel()
	a := (&webamqp.Pages{Portal: &site.Portal{PortalConfig: site.PortalConfig{AMQP: unfitBridge{}}}}).AMQPAdmin()
	var page strings.Builder
	noError(t, view.AMQPOverviewPage(ui.Page{}, view.AMQPOverviewView{Unfit: a.UnfitRows()}).Render(t.Context(), &page))
	wantWords(t, page.String(), "Chain clinic", "/admin/amqp/parties/amp_1", "is not used for signing", "AB12", "It is for TLS.")
}
