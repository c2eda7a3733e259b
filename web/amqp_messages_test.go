package web

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/storetest"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
	webamqp "schakel/web/amqp"
	"schakel/web/api"
	deliverieswebdeliveries "schakel/web/deliveries"
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
			[]string{"AppRec is overdue", "can be resent once", "/resend"},
		},
		{
			"spent",
			func(m *store.AMQPMessage) { delivery(m); m.OverdueAt, m.Resends = store.At(w.clock.Now()), 1 },
			[]string{"resent once at most", "1 time"},
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
			[]string{"Dead letter", "Put back on its queue", "Discard this message", "its sender was told nothing"},
		},
		{
			"quarantined",
			func(m *store.AMQPMessage) {
				m.Direction, m.Status, m.PartyID, m.PartnerID, m.Her = store.AMQPIn, store.AMQPQuarantined, "", "", 0
			},
			[]string{"Quarantined", "nobody was answered", "unknown", "Discard this message"},
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
	wantWords(t, text(w.admin.get("/admin/errors")), "AMQP messages with an error (2)")
	wantWords(t, text(w.admin.get("/admin/amqp")), "Wait for an AppRec", "Quarantined", "the oldest", "Chain clinic", "Legekontor", "It has no certificates.")
}

// checkMessageScope has a partner see its own messages, and no others (G7).
func (w *amqpWorld) checkMessageScope(t *testing.T) {
	t.Helper()
	page := text(w.staff.get("/partner/amqp/messages"))
	wantWords(t, page, "rejected", "Legekontor")
	lacks(t, page, "quarantined<")
	rows, _, err := w.db.AMQPMessages(t.Context(), store.AMQPFilter{})
	noError(t, err)
	other, _ := w.at(t, "eve@example.nl")
	for _, m := range rows {
		own := "/partner/amqp/messages/" + m.ID
		if m.PartnerID == w.owner {
			page := text(w.staff.get(own))
			lacks(t, page, "/resend", "/drop")
		} else {
			wantStatus(t, w.staff.get(own), http.StatusNotFound)
		}
		wantStatus(t, other.get(own), http.StatusNotFound)
		wantStatus(t, w.staff.get("/admin/amqp/messages/"+m.ID), http.StatusForbidden)
		wantStatus(t, w.staff.post("/admin/amqp/messages/"+m.ID+"/drop", url.Values{"reason": {"because"}}), http.StatusForbidden)
		wantStatus(t, w.staff.post(own+"/drop", url.Values{"reason": {"because"}}), http.StatusMethodNotAllowed)
	}
	wantWords(t, text(other.get("/partner/amqp/messages")), "Nothing was exchanged")
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
	wantWords(t, text(w.admin.get(at(dead.ID))), "The message is discarded.", "Ada Admin discarded AMQP message dead", "Sent in error.")
	wantWords(t, text(w.admin.get(at(processed.ID))), "Resend the AppRec", "Answers to it")
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
		if w := site.AMQPReasonOf(string(c)); w.Label == "" || w.Remedy == "" || strings.Contains(w.Label.String(), ":") {
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
		if slices.Contains(site.StoppedReasons(), code) || site.ReasonOf(code) != site.AMQPReasonOf(code) || site.ReasonOf(code).Remedy == "" {
			t.Errorf("%s has no words, or is not in the error queue", code)
		}
	}
	if w := site.AMQPReasonOf("E31"); w.Label.String() != "Rejected with code E31" {
		t.Errorf("%+v", w)
	}
}

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
	lacks(t, page, "AMQP error came back", at+"/resend")
	wantWords(t, text(w.admin.get("/admin/amqp/messages")), "On its way")
	second := w.message(t, "second-id", of(store.AMQPOpenMessage))
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		first.Status = store.AMQPReplaced
		_, err := tx.UpdateAMQPMessage(t.Context(), &first, store.AMQPFailed)
		return err
	}))
	wantWords(t, text(w.admin.get(at)), "Replaced by a resend", "Resent as", "/admin/amqp/messages/"+second.ID)
	wantWords(t, text(w.admin.get("/admin/amqp/messages/"+second.ID)), "Sent in place of", at)
}

// What to do is said to who reads it: what we rejected is for its sender to mend, and what they rejected for us.
// Rules: AMQP-49, AMQP-87, AMQP-88.
func TestAMQPRemedyIsForTheReader(t *testing.T) {
	t.Parallel()
	for _, c := range message.Conditions() {
		m := store.AMQPMessage{Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: store.AMQPRefused, Reason: string(c)}
		if got := webamqp.AMQPRemedy(m).String(); got == "" || got == site.AMQPReasonOf(m.Reason).Remedy.String() {
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
		got := webamqp.AMQPRemedy(store.AMQPMessage{Direction: tc.direction, Kind: tc.kind, Status: tc.status, Reason: "T02"}).String()
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
	lacks(t, page, "Messages expire")
	save(store.AMQPQueue{Name: "100_async", PartyID: w.own, Known: true, TTLMS: 900_000})
	wantWords(t, text(w.admin.get("/admin/amqp")), "Messages expire in queues that we read", "Its messages expire after 15 min")
}

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
	wantWords(t, text(w.admin.get(list)), "Reprocess 4 messages", "Put back 1 dead letter", "Discard 6 messages")
	wantWords(t, text(w.admin.get(list+"?state=quarantined&herId=555")), "Reprocess 2 messages", "Discard 2 messages")
	wantWords(t, text(w.admin.get(list+"?herId=none")), "Reprocess 1 message")
	wantRefused(t, w.admin.get(list+"?herId=x"), "Fill in a HER-id")
	wantWords(t, text(w.admin.get(list+"/"+one.ID)), "Register the sender with its HER-id", "Reprocess this message", "HER-id 555")
	wantWords(t, text(w.admin.get("/admin/amqp")), "Received, but nobody is subscribed")
	wantStatus(t, w.admin.post(list+"/all/reprocess?state=quarantined&herId=555", nil), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(list)), "Reprocessing is requested for 2 messages", "2 messages of this list are being worked on")
	asked, err := w.db.CountAMQPMessages(t.Context(), store.AMQPFilter{Asked: true, HerID: 555})
	if err != nil || asked != 2 {
		t.Errorf("%d asked, %v", asked, err)
	}
	refused := shows(t, w.admin.post(list+"/all/drop?state=held", nil), http.StatusUnprocessableEntity, "Say why")
	wantWords(t, refused, `href="#drop-all-reason"`, `action="`+list+`/all/drop?state=held"`, `hx-get="`+list+`?state=held"`)
	wantStatus(t, w.admin.post(list+"/all/drop?state=held", url.Values{"reason": {"A test."}}), http.StatusSeeOther)
	wantWords(t, text(w.admin.get("/admin/audit")), "asked for an action on AMQP messages: reprocess, 2 messages", "drop, 1 messages")
	wantStatus(t, w.admin.post(list+"/all/burn", nil), http.StatusNotFound)
	wantStatus(t, w.staff.post(list+"/all/drop", url.Values{"reason": {"A test."}}), http.StatusForbidden)
}

// bridged is an API with the bridge to message brokers, which connects to none.
func bridged(t *testing.T) *apiHarness {
	t.Helper()
	h := newAPIHarness(t, func(cfg *api.Config) {
		b := amqp.New(amqp.Config{DB: cfg.DB, Now: storetest.NewClock().Now, Log: slog.New(slog.DiscardHandler), Node: "a"})
		b.Join(cfg.Engine.(*outbox.Engine))
		cfg.AMQP = b
	})
	return h.withCatalogue(t)
}

// amqpMessage keeps a message with a partner.
func (h *apiHarness) amqpMessage(t testing.TB, partnerID, id string, edit func(*store.AMQPMessage)) string {
	t.Helper()
	m := store.AMQPMessage{
		Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPOpenMessage, PartnerID: partnerID, OwnHer: 100, Her: 200, MessageID: id, MsgID: "msg-" + id,
	}
	edit(&m)
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertAMQPMessage(t.Context(), &m); err != nil {
			return err
		}
		return tx.TraceAMQP(t.Context(), store.AMQPTrace{MessageID: m.ID, Step: "written", Node: "a"})
	}))
	return "/events/v1/amqp-messages/" + m.ID
}

func comeIn(status string) func(*store.AMQPMessage) {
	return func(m *store.AMQPMessage) { m.Direction, m.Status = store.AMQPIn, status }
}

// A machine finds messages as a person does in the portal: a partner its own, the own organisation all.
// Rules: AMQP-15, AMQP-16.
func TestAMQPMessagesOverTheAPI(t *testing.T) {
	t.Parallel()
	h := bridged(t)
	partner := h.newPartner(t, "Legekontor").ID
	own, other, boss := h.consumer(t, partner), h.consumer(t, h.newPartner(t, "Other").ID), h.writer(t)
	open := h.amqpMessage(t, partner, "open", func(*store.AMQPMessage) {})
	h.amqpMessage(t, partner, "rejected", func(m *store.AMQPMessage) {
		m.Status, m.Reason, m.Codes = store.AMQPRejected, "T02", store.Strings{"T02"}
	})
	h.amqpMessage(t, partner, "turned", comeIn(store.AMQPRejected))
	nobodys := h.amqpMessage(t, "", "quarantined", comeIn(store.AMQPQuarantined))
	h.amqpMessage(t, partner, "answer", func(m *store.AMQPMessage) {
		comeIn(store.AMQPMatched)(m)
		m.Kind, m.ReferenceID = store.AMQPAppRec, strings.TrimPrefix(open, "/events/v1/amqp-messages/")
	})
	const list = "/events/v1/amqp-messages"
	for query, want := range map[string][3]string{ // of the partner, another, the own organisation
		"":                            {"4", "0", "5"},
		"?status=rejected":            {"1", "0", "1"},
		"?status=rejected-by-us":      {"1", "0", "1"},
		"?status=attention":           {"1", "0", "2"},
		"?status=overdue":             {"0", "0", "0"},
		"?kind=apprec":                {"1", "0", "1"},
		"?direction=out&perPage=1":    {"2", "0", "2"},
		"?id=msg-open":                {"1", "0", "1"},
		"?until=2001-01-01T00:00:00Z": {"0", "0", "0"},
	} {
		for i, c := range []*apiClient{own, other, boss} {
			if got := c.get(t, list+query).want(t, http.StatusOK).header.Get("Total-Count"); got != want[i] {
				t.Errorf("%q by %d: %s, want %s", query, i, got, want[i])
			}
		}
	}
	own.get(t, list+"?from=yesterday").problem(t, http.StatusBadRequest, "invalid")
	shown := decoded[webamqp.AMQPMessageAnswer](t, own.get(t, open).want(t, http.StatusOK))
	if shown.MessageID != "open" || shown.HerID != 200 || len(shown.Trace) != 1 || shown.Trace[0].Step != "written" || len(shown.Answers) != 1 || shown.Answers[0].MessageID != "answer" {
		t.Errorf("shown %+v", shown)
	}
	other.get(t, open).problem(t, http.StatusNotFound, "not-found")
	own.get(t, nobodys).problem(t, http.StatusNotFound, "not-found")
	boss.get(t, nobodys).want(t, http.StatusOK)
	h.publisher(t, partner).get(t, open).problem(t, http.StatusForbidden, "insufficient-scope")
}

// What is not allowed is a conflict that says why; only the own organisation decides.
// Rules: AMQP-52, AMQP-118, AMQP-119, AMQP-120.
func TestAMQPActsOverTheAPI(t *testing.T) {
	t.Parallel()
	h := bridged(t)
	partner := h.newPartner(t, "Legekontor").ID
	h.approvedSubscription(t, partner)
	where := h.publisher(t, h.own.ID).publish(t, sampleEvent("sent-1")).want(t, http.StatusAccepted).header.Get("Location")
	deliveries := must(h.db.DeliveriesOf(t.Context(), strings.TrimPrefix(where, "/events/v1/events/")))(t)
	h.kill(t, deliverieswebdeliveries.NewDeliveryAnswer(deliveries[0]))
	of := func(status string) func(*store.AMQPMessage) {
		return func(m *store.AMQPMessage) { m.Status, m.DeliveryID = status, deliveries[0].ID }
	}
	failed, rejected := h.amqpMessage(t, partner, "failed", of(store.AMQPFailed)), h.amqpMessage(t, partner, "rejected", of(store.AMQPRejected))
	dead, processed := h.amqpMessage(t, partner, "dead", comeIn(store.AMQPDead)), h.amqpMessage(t, partner, "processed", comeIn(store.AMQPProcessed))
	boss, own := h.writer(t), h.consumer(t, partner)
	writer := h.newClient(t, partner, identity.NewClient{Scopes: []string{site.ScopeRegistryWrite}})
	for _, verb := range []string{"/resend", "/answer", "/put-back", "/drop"} {
		own.postJSON(t, failed+verb, `{"reason":"x"}`).problem(t, http.StatusForbidden, "insufficient-scope")
		writer.postJSON(t, failed+verb, `{"reason":"x"}`).problem(t, http.StatusNotFound, "not-found")
		boss.postJSON(t, "/events/v1/amqp-messages/amm_none"+verb, `{"reason":"x"}`).problem(t, http.StatusNotFound, "not-found")
	}
	for path, why := range map[string]string{
		rejected + "/resend": "It got a negative AppRec.", failed + "/put-back": "does not wait for this", processed + "/answer": "There is no AppRec of ours",
		dead + "/resend": "Only a business message or request of ours",
	} {
		if p := boss.postJSON(t, path, "").problem(t, http.StatusConflict, "conflict"); !strings.Contains(string(p.Detail), why) {
			t.Errorf("%s: %q", path, p.Detail)
		}
	}
	boss.postJSON(t, failed+"/resend", "").want(t, http.StatusAccepted)
	boss.postJSON(t, failed+"/resend", "").problem(t, http.StatusConflict, "not-resendable")
	boss.postJSON(t, dead+"/drop", `{"reason":" "}`).problem(t, http.StatusBadRequest, "invalid")
	if got := boss.postJSON(t, dead+"/drop", `{"reason":"Sent in error."}`).want(t, http.StatusOK).member(t, "status"); got != store.AMQPDropped {
		t.Errorf("it is %v", got)
	}
}

// Without the bridge nothing can be decided, and that is said.
func TestAMQPActsWithoutBridge(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	dead := h.amqpMessage(t, h.newPartner(t, "Legekontor").ID, "dead", comeIn(store.AMQPDead))
	if p := h.writer(t).postJSON(t, dead+"/put-back", "").problem(t, http.StatusConflict, "conflict"); string(p.Detail) != webamqp.WithoutBridge.String() {
		t.Errorf("%q", p.Detail)
	}
}
