package web

import (
	"html"
	"net/http"
	"net/url"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/event"
	"schakel/store"
)

// byAMQP makes the endpoint of a party one by AMQP, with a held delivery for each state of its message. An empty state is of a delivery whose
// message was never written.
func (w *queueWorld) byAMQP(p queueParty, reason, status string, edit func(*store.AMQPMessage)) store.Delivery {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		ep, err := tx.Endpoint(w.t.Context(), p.endpoint)
		noError(w.t, err)
		ep.Kind = store.EndpointAMQP
		return tx.UpdateEndpoint(w.t.Context(), &ep)
	})
	_, pool := w.db.Pools()
	must(pool.ExecContext(w.t.Context(), `UPDATE endpoint SET kind = 'amqp' WHERE id = ?`, p.endpoint))(w.t)
	d := w.failed(p, store.DeliveryHeld, reason)
	if status == "" {
		return d
	}
	m := store.AMQPMessage{
		Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: status, Reason: reason, PartnerID: p.id, OwnHer: 100, Her: 200,
		MessageID: d.ID, MsgID: "msg-" + d.ID, DeliveryID: d.ID, EventID: d.EventID,
	}
	if edit != nil {
		edit(&m)
	}
	w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.t.Context(), &m) })
	return d
}

// A message that its receiver answered is not sent again (AMQP-113, AMQP-118): no page offers it, the button of many counts the others alone, and
// a form that is sent all the same is refused and changes nothing.
func TestMessagesSentForGoodAreNotOffered(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	final := w.byAMQP(w.first, "T02", store.AMQPRejected, nil)
	issue := w.issueOf(final, "T02")
	for _, at := range []struct {
		b    *browser
		base string
	}{{w.admin, "/admin"}, {w.first.browser, "/partner"}} {
		lacks(t, wantPage(t, at.b.get(at.base+"/deliveries/"+final.ID), http.StatusOK, "its receiver has answered this message"), `/resend"`)
		lacks(t, wantPage(t, at.b.get(at.base+"/deliveries?status=held"), http.StatusOK, final.ID), final.ID+`/resend"`)
		lacks(t, wantPage(t, at.b.get(at.base+"/issues/"+issue.ID), http.StatusOK, "1 delivery by AMQP cannot be resent"), "/deliveries/all?", "resend or discard them")
		lacks(t, wantPage(t, at.b.get(at.base+"/deliveries/all?status=held"), http.StatusOK, "1 delivery by AMQP cannot be resent"), "Resend 1 delivery", "Resend 0")
		answer := at.b.post(at.base+"/deliveries/"+final.ID+"/resend", nil)
		shows(t, at.b.get(answer.Header.Get("Location")), http.StatusOK, "This delivery cannot be resent: its receiver has answered")
	}
	w.wantState(final.ID, store.DeliveryHeld)
	again := w.byAMQP(w.first, "transport:invalid-signature", store.AMQPFailed, nil)
	w.issueOf(again, "T02")
	for _, at := range []struct {
		b    *browser
		base string
	}{{w.admin, "/admin"}, {w.first.browser, "/partner"}} {
		wantPage(t, at.b.get(at.base+"/deliveries/"+again.ID), http.StatusOK, again.ID+`/resend"`)
		wantPage(t, at.b.get(at.base+"/deliveries?status=held"), http.StatusOK, again.ID+`/resend"`)
		wantPage(t, at.b.get(at.base+"/issues/"+issue.ID), http.StatusOK, "/deliveries/all?")
		wantPage(t, at.b.get(at.base+"/deliveries/all?status=held"), http.StatusOK, "2 deliveries match", "1 delivery by AMQP cannot be resent", "Resend 1 delivery")
	}
}

// The rule of the database is that of the bridge, for every state of a message.
func TestSentForGoodIsTheRuleOfTheBridge(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for _, kind := range []string{store.AMQPBusiness, store.AMQPRequest} {
		for _, status := range []string{
			store.AMQPOpenMessage, "overdue", "twice", store.AMQPAcknowledged, store.AMQPPartly, store.AMQPRejected, store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered,
		} {
			var sent store.AMQPMessage
			d := w.byAMQP(w.first, "request", status, func(m *store.AMQPMessage) {
				m.Kind = kind
				if status == "overdue" || status == "twice" {
					m.Status, m.OverdueAt = store.AMQPOpenMessage, store.At(w.clock.Now())
				}
				if status == "twice" {
					m.Resends = 1
				}
				sent = *m
			})
			found := must(w.db.SentForGood(t.Context(), []string{d.ID}))(t)
			if why := amqp.MayResend(sent, w.clock.Now()); (why != "") != (len(found) == 1) {
				t.Errorf("%s %s: the database finds %d, the bridge says %q", kind, status, len(found), why)
			}
		}
	}
	lone := w.byAMQP(w.first, amqp.ReasonSentBefore, "", nil)
	if found := must(w.db.SentForGood(t.Context(), []string{lone.ID}))(t); len(found) != 1 {
		t.Error("a message that was sent by another delivery may go again")
	}
}

// A partner that receives reads advice for receivers: what the sender has to do is not asked of it.
func TestPartnersReadNoAdviceForSenders(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for reason, of := range map[string][2]string{ // advice for the administrator, for the partner
		"T02":                         {"Publish a corrected message", "tell the administrator if your system refused it by mistake"},
		"transport:invalid-signature": {"the one in the address registry", "tell the administrator if your system refused it by mistake"},
		amqp.ReasonNoProcess:          {"Agree a process with the other party", "The administrator mends it"},
	} {
		d := w.byAMQP(w.first, reason, store.AMQPRejected, nil)
		_, pool := w.db.Pools()
		must(pool.ExecContext(t.Context(), `UPDATE delivery SET detail = '', cause = reason WHERE id = ?`, d.ID))(t)
		wantWords(t, text(w.admin.get("/admin/deliveries/"+d.ID)), of[0])
		page := text(w.first.browser.get("/partner/deliveries/" + d.ID))
		lacks(t, page+text(w.first.browser.get("/partner")), of[0])
		wantWords(t, page, of[1])
	}
	message := must(w.db.AMQPOfDelivery(t.Context(), must2(w.db.Deliveries(t.Context(), store.DeliveryFilter{Reason: "T02"}))(t)[0].ID))(t)[0]
	page := text(w.first.browser.get("/partner/amqp/messages/" + url.PathEscape(message.ID)))
	lacks(t, page, "publish a corrected one with a MsgId", "Publish a corrected")
	wantWords(t, page, "its sender publishes a corrected one")
}

// The issue of a batch and that of a message show what was sent and what came back, and the mail about them has it too; the command for a batch
// sends the one event under a key of its own.
func TestIssueSamplesOfBatchAndMessage(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one, two := w.deliver(w.event(event.DataJSON, `1`), w.first), w.deliver(w.event(event.DataJSON, `{"second":true}`), w.first)
	b := store.Batch{EndpointID: one.EndpointID, IdempotencyKey: "4b2a1a0e-9c1d-4b57-9c0e-0e8b8a5b7d11", KeyExpiresAt: one.KeyExpiresAt, Members: store.Strings{one.ID, two.ID}, Size: 2048}
	w.write(func(tx *store.Tx) error { return tx.FreezeBatch(t.Context(), &b) })
	w.write(func(tx *store.Tx) error {
		return tx.InsertAttempts(t.Context(), []store.Attempt{
			{
				DeliveryID: one.ID, Number: 1, StartedAt: tx.Now, StatusCode: 422, URL: "https://roc.example.nl/events", BatchID: b.ID,
				RequestHeaders: `{"Content-Type":["application/cloudevents-batch+json"],"Idempotency-Key":["\"4b2a1a0e\""]}`, ResponseBody: []byte("second is wrong"), ResponseHeaders: `{"Server":["roc"]}`,
			},
			{DeliveryID: two.ID, Number: 1, StartedAt: tx.Now, StatusCode: 422, BatchID: b.ID},
		})
	})
	of := w.issueOf(two, "http-422")
	for base, b := range map[string]*browser{"/admin": w.admin, "/partner": w.first.browser} {
		page := shows(t, b.get(base+"/issues/"+of.ID), http.StatusOK, "POST https://roc.example.nl/events", "second is wrong", "See the batch", "as a batch of one")
		command := html.UnescapeString(commandOnPage.FindStringSubmatch(page)[1])
		wantWords(t, command, `Idempotency-Key: \"$KEY\"`, "Content-Type: application/cloudevents-batch+json", `'[{`, `"second":true`)
		lacks(t, command, "4b2a1a0e", `"data":1`)
	}
	wantWords(t, html.UnescapeString(text(w.first.browser.get("/partner/issues/"+of.ID+"/mail"))), "POST https://roc.example.nl/events", "422")
	d := w.byAMQP(w.other, "T02", store.AMQPRejected, func(m *store.AMQPMessage) {
		m.Queue, m.Subject, m.Codes = "12345_async", "DIALOG_INNBYGGER_EKONTAKT", store.Strings{"T02: XML validerer ikke"}
	})
	of = w.issueOf(d, "T02")
	for base, b := range map[string]*browser{"/admin": w.admin, "/partner": w.other.browser} {
		shows(t, b.get(base+"/issues/"+of.ID), http.StatusOK, "AMQP 12345_async", "MsgId: msg-"+d.ID, "T02: XML validerer ikke")
	}
	mail := html.UnescapeString(text(w.other.browser.get("/partner/issues/" + of.ID + "/mail")))
	wantWords(t, mail, "AMQP 12345_async", "T02")
	lacks(t, mail, "XML validerer ikke") // what somebody wrote may repeat data, which is not mailed
}
