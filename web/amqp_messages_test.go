package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/amqp/message"
	"schakel/store"
	"schakel/web/site"
)

// An administrator finds messages by state, id and party, and sees the reason of each state and of each button that is absent.
// Rules: AMQP-13, AMQP-14, AMQP-15, AMQP-16, AMQP-49, AMQP-53, AMQP-87, AMQP-88, AMQP-89, AMQP-113.
func TestAMQPMessagePages(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t)
	wantWords(t, text(w.admin.get("/admin/amqp/messages")), "Nothing was exchanged by AMQP yet")
	w.filled(t)
	delivery := func(m *store.AMQPMessage) { m.DeliveryID = "dlv_none" }
	for _, tc := range []struct {
		id    string
		edit  func(*store.AMQPMessage)
		words []string
	}{
		{"open", delivery, []string{"Waits for its AppRec", "once its positive AppRec is here", "Its AppRec is not overdue yet."}},
		{
			"overdue",
			func(m *store.AMQPMessage) { delivery(m); m.OverdueAt = store.At(w.clock.Now()) },
			[]string{"AppRec is overdue", "can be sent again once", "/resend"},
		},
		{
			"spent",
			func(m *store.AMQPMessage) { delivery(m); m.OverdueAt, m.Resends = store.At(w.clock.Now()), 1 },
			[]string{"sent again once at most", "1 time"},
		},
		{
			"rejected",
			func(m *store.AMQPMessage) {
				delivery(m)
				m.Status, m.Reason, m.Codes = store.AMQPRejected, "T02", store.Strings{"T02: XML validerer ikke"}
			},
			[]string{"Rejected by its receiver", "Document is not valid", "T02: XML validerer ikke", "Publish a corrected message with a MsgId of its own"},
		},
		{
			"failed",
			func(m *store.AMQPMessage) {
				delivery(m)
				m.Status, m.Reason = store.AMQPFailed, string(message.ExpiredCertificate)
			},
			[]string{"AMQP error came back", "Certificate of the sender has expired", "transport:expired-certificate", "/resend"},
		},
		{
			"dead",
			func(m *store.AMQPMessage) {
				m.Direction, m.Status, m.Queue, m.Encoded = store.AMQPIn, store.AMQPDead, "100_dl", []byte("x")
			},
			[]string{"Dead letter", "Put back on its queue", "Drop this message", "its sender was told nothing"},
		},
		{
			"quarantined",
			func(m *store.AMQPMessage) {
				m.Direction, m.Status, m.PartyID, m.PartnerID, m.Her = store.AMQPIn, store.AMQPQuarantined, "", "", 0
			},
			[]string{"Quarantined", "nobody was answered", "unknown", "Drop this message"},
		},
		{
			"processed", func(m *store.AMQPMessage) { m.Direction, m.Status = store.AMQPIn, store.AMQPProcessed },
			[]string{"Processed", "There is no AppRec of ours to this message."},
		},
		{
			"turned", func(m *store.AMQPMessage) { m.Direction, m.Status, m.Reason = store.AMQPIn, store.AMQPRejected, "T02" },
			[]string{"Rejected by us", "Its sender publishes a corrected message"},
		},
	} {
		m := w.message(t, tc.id, tc.edit)
		page := text(w.admin.get("/admin/amqp/messages/" + m.ID))
		wantWords(t, page, append(tc.words, "Written to the queue", "(on a)", tc.id, "msg-"+tc.id)...)
	}
	w.checkMessageFilter(t)
	w.checkMessageScope(t)
}

func (w *amqpWorld) checkMessageFilter(t *testing.T) {
	t.Helper()
	for query, want := range map[string][]string{
		"":                      {"open", "overdue", "spent", "rejected", "failed", "dead", "quarantined", "processed", "turned"},
		"?state=attention":      {"rejected", "failed", "dead", "quarantined"},
		"?state=overdue":        {"overdue", "spent"},
		"?state=dead":           {"dead"},
		"?state=rejected":       {"rejected"},
		"?state=rejected-by-us": {"turned"},
		"?until=2001-01-01":     nil,
		"?from=2001-01-01":      {"open", "overdue", "spent", "rejected", "failed", "dead", "quarantined", "processed", "turned"},
		"?direction=in":         {"dead", "quarantined", "processed", "turned"},
		"?id=msg-failed":        {"failed"},
		"?id=cor-open":          {"open"},
		"?kind=apprec":          nil,
		"?party=" + w.party:     {"open", "overdue", "spent", "rejected", "failed", "dead", "processed", "turned"},
		"?state=x&direction=up": {"open", "overdue", "spent", "rejected", "failed", "dead", "quarantined", "processed", "turned"},
	} {
		page := text(w.admin.get("/admin/amqp/messages" + query))
		for _, id := range []string{"open", "overdue", "spent", "rejected", "failed", "dead", "quarantined", "processed", "turned"} {
			if shown := strings.Contains(page, `>`+id+`</code>`) || strings.Contains(page, ">"+id+"<"); shown != slices.Contains(want, id) {
				t.Errorf("%q: %s is shown: %v", query, id, shown)
			}
		}
	}
	wantWords(t, text(w.admin.get("/admin/amqp/messages?kind=apprec")), "Nothing matches this filter")
	wantRefused(t, w.admin.get("/admin/amqp/messages?from=yesterday"), "Write the day as year-month-day")
	wantWords(t, text(w.admin.get("/admin/dead-letters")), "AMQP messages on dead-letter queues (1)")
	wantWords(t, text(w.admin.get("/admin/errors")), "AMQP messages that were refused (2)")
	wantWords(t, text(w.admin.get("/admin/amqp")), "Wait for an AppRec", "Quarantined", "the oldest", "Chain clinic", "Legekontor", "It has no certificates.")
}

// checkMessageScope has a partner see its own messages, and no others (G7).
func (w *amqpWorld) checkMessageScope(t *testing.T) {
	t.Helper()
	page := text(w.staff.get("/partner/amqp/messages"))
	wantWords(t, page, "rejected", "Legekontor")
	if strings.Contains(page, "quarantined<") {
		t.Error("a partner sees a message of nobody")
	}
	rows, _, err := w.db.AMQPMessages(t.Context(), store.AMQPFilter{})
	noError(t, err)
	other, _ := w.at(t, "eve@example.nl")
	for _, m := range rows {
		own := "/partner/amqp/messages/" + m.ID
		if m.PartnerID == w.owner {
			page := text(w.staff.get(own))
			if strings.Contains(page, "/resend") || strings.Contains(page, "/drop") {
				t.Error("a partner is offered what an administrator decides")
			}
		} else {
			wantStatus(t, w.staff.get(own), http.StatusNotFound)
		}
		wantStatus(t, other.get(own), http.StatusNotFound)
		wantStatus(t, w.staff.get("/admin/amqp/messages/"+m.ID), http.StatusForbidden)
		wantStatus(t, w.staff.post("/admin/amqp/messages/"+m.ID+"/drop", url.Values{"reason": {"because"}}), http.StatusForbidden)
		wantStatus(t, w.staff.post(own+"/drop", url.Values{"reason": {"because"}}), http.StatusMethodNotAllowed)
	}
	if rows := text(other.get("/partner/amqp/messages")); !strings.Contains(rows, "Nothing was exchanged") {
		t.Error("a stranger sees messages")
	}
}

// The buttons do what the bridge allows and tell why it refuses.
// Rules: AMQP-52, AMQP-118, AMQP-120.
func TestAMQPMessageActions(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	in := func(status string) func(*store.AMQPMessage) {
		return func(m *store.AMQPMessage) { m.Direction, m.Status = store.AMQPIn, status }
	}
	rejected := w.message(t, "rejected", func(m *store.AMQPMessage) { m.Status, m.DeliveryID = store.AMQPRejected, "dlv_x" })
	dead, processed := w.message(t, "dead", in(store.AMQPDead)), w.message(t, "processed", in(store.AMQPProcessed))
	answer := w.message(t, "answer", func(m *store.AMQPMessage) {
		m.Kind, m.Status, m.ReferenceID, m.MsgID = store.AMQPAppRec, store.AMQPSent, processed.ID, ""
	})
	at := func(id string) string { return "/admin/amqp/messages/" + id }
	wantStatus(t, w.admin.post(at(rejected.ID)+"/resend", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(at(rejected.ID))), "It got a negative AppRec")
	wantStatus(t, w.admin.post(at(rejected.ID)+"/put-back", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(at(rejected.ID))), "does not wait for this")
	wantRefused(t, w.admin.post(at(dead.ID)+"/drop", url.Values{"reason": {""}}), "Say why")
	wantStatus(t, w.admin.post(at(dead.ID)+"/drop", url.Values{"reason": {"Sent in error."}}), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(at(dead.ID))), "The message is dropped.", "Ada Admin dropped AMQP message dead", "Sent in error.")
	wantWords(t, text(w.admin.get(at(processed.ID))), "Send the AppRec again", "Answers to it")
	wantStatus(t, w.admin.post(at(processed.ID)+"/answer", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(at(processed.ID))), "Its AppRec was not sent yet")
	if now, err := w.db.AMQPMessage(t.Context(), answer.ID); err != nil || now.Status != store.AMQPDue {
		t.Errorf("the AppRec is %s, %v", now.Status, err)
	}
	for _, verb := range []string{"resend", "put-back", "answer"} {
		wantStatus(t, w.admin.post(at("amm_none")+"/"+verb, nil), http.StatusNotFound)
	}
	wantStatus(t, w.browser().get(at(dead.ID)), http.StatusSeeOther)
}

// Every condition of the profile and every code it names has words: a cause and what to do.
// Rules: AMQP-37, AMQP-49.
func TestEveryAMQPReasonHasWords(t *testing.T) {
	t.Parallel()
	for _, c := range message.Conditions() {
		if w := site.AMQPReasonOf(string(c)); w.Label == "" || w.Remedy == "" || strings.Contains(w.Label, ":") {
			t.Errorf("%s: %+v", c, w)
		}
	}
	codes := append([]string{"E10", "T01", "T02"}, slices.Sorted(func(yield func(string) bool) {
		for _, code := range constants(t, "../delivery/amqp/out.go", "Reason") {
			if !yield(code) {
				return
			}
		}
	})...)
	for _, code := range codes {
		if !slices.Contains(site.ErrorQueueReasons(), code) || site.ReasonOf(code) != site.AMQPReasonOf(code) || site.ReasonOf(code).Remedy == "" {
			t.Errorf("%s has no words, or is not in the error queue", code)
		}
	}
	if w := site.AMQPReasonOf("E31"); w.Label != "Rejected with code E31" {
		t.Errorf("%+v", w)
	}
}
