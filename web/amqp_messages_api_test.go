package web

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/storetest"
	amqpwebamqp "schakel/web/amqp"
	"schakel/web/api"
	deliverieswebdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

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
	var shown amqpwebamqp.AMQPMessageAnswer
	own.get(t, open).want(t, http.StatusOK).decode(t, &shown)
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
	deliveries, err := h.db.DeliveriesOf(t.Context(), strings.TrimPrefix(where, "/events/v1/events/"))
	noError(t, err)
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
		if p := boss.postJSON(t, path, "").problem(t, http.StatusConflict, "conflict"); !strings.Contains(p.Detail, why) {
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
	if p := h.writer(t).postJSON(t, dead+"/put-back", "").problem(t, http.StatusConflict, "conflict"); p.Detail != amqpwebamqp.WithoutBridge {
		t.Errorf("%q", p.Detail)
	}
}
