package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// issuesAt lists the causes and states of the issues of an endpoint, with their failures and sample.
func (w *world) issuesAt(endpointID string) map[string]store.Issue {
	w.t.Helper()
	rows, _, err := w.db.Issues(w.ctx, store.IssueFilter{EndpointID: endpointID})
	noErr(w.t, err)
	found := make(map[string]store.Issue, len(rows))
	for _, i := range rows {
		found[i.Cause] = i
	}
	return found
}

// wantIssue checks the one issue of an endpoint, and that the delivery waits for its cause.
func (w *world) wantIssue(endpointID, cause, status string, failures int64, deliveryID string) {
	w.t.Helper()
	all := w.issuesAt(endpointID)
	i := all[cause]
	if len(all) != 1 || i.Status != status || i.Failures != failures || i.DeliveryID != deliveryID || i.Detail == "" || i.PartnerID != w.partner.ID {
		w.t.Errorf("%+v, want one of %s that is %s with %d failures of %s", all, cause, status, failures, deliveryID)
	}
	if d, err := w.db.Delivery(w.ctx, deliveryID); err != nil || d.Cause != cause {
		w.t.Errorf("delivery has the cause %q, want %q, %v", d.Cause, cause, err)
	}
}

// What a consumer rejects, or receives without end, is an issue, which resolves by itself when a later receive is acknowledged.
func TestPulledDeliveriesMakeIssues(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		at := p.sub.EndpointID
		ids := p.newDeliveries(p.sub, 2)
		p.reject(p.receive(2), store.PullDone, store.PullDone)
		p.wantIssue(at, store.ReasonRejected, store.IssueOpen, 2, ids[1])

		resend := func(id string) {
			p.write(func(tx *store.Tx) error { _, err := tx.Resend(p.ctx, id, "", p.in(time.Hour)); return err })
			p.acknowledge(p.receive(1), store.PullDone)
		}
		resend(ids[0])
		p.wantIssue(at, store.ReasonRejected, store.IssueOpen, 2, ids[1]) // the other one is still held
		resend(ids[1])
		p.wantIssue(at, store.ReasonRejected, store.IssueResolved, 2, ids[1])
		history, err := p.db.IssueEventsOf(p.ctx, p.issuesAt(at)[store.ReasonRejected].ID, 10)
		if err != nil || len(history) != 2 || history[0].Action != store.IssueEventResolved || history[0].Actor != "" {
			t.Errorf("%+v, %v", history, err)
		}

		again := p.newDeliveries(p.sub, 1)
		p.reject(p.receive(1), store.PullDone)
		p.wantIssue(at, store.ReasonRejected, store.IssueReopened, 3, again[0])
	})
}

// A delivery that is received as often as allowed is an issue, whether its leases end or its consumer gives it back.
func TestReceivedTooOftenMakesAnIssue(t *testing.T) {
	for name, giveBack := range map[string]func(p *puller, locks []store.PullLock){
		"released": func(p *puller, locks []store.PullLock) { p.release(locks, 0, store.PullDone) },
		"expired":  func(p *puller, _ []store.PullLock) { p.clock.Advance(2 * time.Minute); p.expire(1) },
	} {
		t.Run(name, func(t *testing.T) {
			eachPuller(t, func(_ *testing.T, p *puller) {
				ids := p.newDeliveries(p.sub, 1)
				for range maxReceives {
					giveBack(p, p.receive(1))
				}
				p.wantIssue(p.sub.EndpointID, store.ReasonCountExceeded, store.IssueOpen, 1, ids[0])
			})
		})
	}
}

// A key that expires is an issue: of its own when nothing was tried, and otherwise of the cause that made it wait so long.
func TestExpiredKeysMakeIssues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.set(ids[1], `status = 'retrying', cause = 'dns'`)
		w.failing("dns", 1)
		w.write(func(tx *store.Tx) error { return tx.ResolveIssue(w.ctx, w.issue("dns").ID, "Ada") })
		w.clock.Advance(8 * 24 * time.Hour)
		w.write(func(tx *store.Tx) error {
			n, err := tx.ExpireKeys(w.ctx, 10)
			same(t, n, err, int64(2))
			return nil
		})
		all := w.issuesAt(w.endpoint.ID)
		if i := all["key-expired"]; len(all) != 2 || i.Status != store.IssueOpen || i.Failures != 1 || i.DeliveryID != ids[0] || i.Detail == "" || i.PartnerID != w.partner.ID {
			t.Errorf("%+v", all)
		}
		if i := all["dns"]; i.Status != store.IssueReopened || i.DeliveryID != ids[1] {
			t.Errorf("%+v", i)
		}
	})
}

// A message that its receiver refused by a negative AppRec is an issue of its endpoint.
func TestRefusedMessagesMakeIssues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		m := w.newMessage(store.AMQPOut, store.AMQPBusiness, store.AMQPRejected, "b22")
		m.DeliveryID, m.MessageID, m.Reason, m.Detail = id, "c333", "E31", "E31: not valid"
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &m) })
		w.set(id, `status = 'delivered'`)
		hold := func(tx *store.Tx) error { _, err := tx.HoldAMQPRefused(w.ctx, 10); return err }
		w.write(hold)
		w.wantIssue(w.endpoint.ID, "E31", store.IssueOpen, 1, id)
		w.write(hold)
		w.wantIssue(w.endpoint.ID, "E31", store.IssueOpen, 1, id)
	})
}

// An issue resolves by itself when the last delivery that waits for its cause is discarded, by a person or because its event expired.
func TestDiscardResolvesIssues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		for _, id := range ids[:2] {
			w.set(id, `status = 'dead', cause = 'dns'`)
		}
		w.set(ids[2], `status = 'retrying', cause = 'dns', expires_at = ?`, w.in(time.Minute))
		w.failing("dns", 3)
		w.failing("tls", 1)
		discard := func(id string) {
			w.write(func(tx *store.Tx) error { _, err := tx.Discard(w.ctx, id, "superseded"); return err })
		}
		discard(ids[0])
		w.write(func(tx *store.Tx) error { return tx.AcknowledgeIssue(w.ctx, w.issue("dns").ID, "Ada") })
		discard(ids[1])
		if i := w.issue("dns"); i.Status != store.IssueAcknowledged {
			t.Errorf("one still waits for it: %+v", i)
		}
		w.clock.Advance(time.Hour)
		same(t, w.expireEvents(10), nil, int64(1))
		if i := w.issue("dns"); i.Status != store.IssueResolved || i.ResolvedBy != "" || i.ResolvedAt != w.now() {
			t.Errorf("none waits for it any more: %+v", i)
		}
		if i := w.issue("tls"); i.Status != store.IssueOpen {
			t.Errorf("another cause: %+v", i)
		}
	})
}

// Subscribers are told of each change once, but not of an issue for as long as only events about issues failed.
func TestIssueEventsToTell(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		fails := func(cause, eventType string) {
			w.write(func(tx *store.Tx) error {
				d := store.Delivery{ID: "dlv_1", PartnerID: w.partner.ID, EndpointID: w.endpoint.ID, EventType: eventType, Cause: cause, Detail: "It failed."}
				return tx.RecordIssues(w.ctx, []store.Outcome{{Delivery: d}})
			})
		}
		tell := func(want ...string) {
			t.Helper()
			rows, err := w.db.IssueEventsToTell(w.ctx, 10)
			var got []string
			for _, row := range rows {
				got = append(got, row.Action)
				w.write(func(tx *store.Tx) error { return tx.TellIssueEvent(w.ctx, row.ID) })
			}
			same(t, got, err, want)
		}
		resolve := func() {
			w.clock.Advance(time.Second)
			w.write(func(tx *store.Tx) error { _, err := tx.ResolveIssues(w.ctx, w.endpoint.ID, tx.Now); return err })
			w.clock.Advance(time.Second)
		}
		const about = "nl.schakel.issue.opened.v1"
		fails("dns", eventType)
		fails("dns", eventType)
		tell("opened")
		w.write(func(tx *store.Tx) error { return tx.AcknowledgeIssue(w.ctx, w.issue("dns").ID, "Ada") })
		w.write(func(tx *store.Tx) error { return tx.NoteIssueMail(w.ctx, w.issue("dns"), "Ada") })
		tell("acknowledged")
		resolve()
		tell("resolved")
		for range 3 { // an event about an issue fails and arrives, and so on
			fails("dns", about)
			resolve()
		}
		tell()
		fails("dns", about)
		tell()
		fails("dns", eventType) // now something else fails too
		tell("reopened")
		fails("dns", eventType)
		tell()
		resolve()
		tell("resolved")
		fails("tls", about)
		tell()
		w.write(func(tx *store.Tx) error { return tx.ResolveIssue(w.ctx, w.issue("tls").ID, "Ada") })
		tell()
		w.write(func(tx *store.Tx) error { return tx.ReopenIssue(w.ctx, w.issue("tls").ID, "Ada") })
		tell("reopened") // a person asks for attention
	})
}

// Subscribers are told of held deliveries and dead letters when people are, once, but not while deliveries of such events alone are stuck.
func TestNoticesToTell(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		dead := func(eventType string) {
			ids := w.newDeliveries(w.subscription, 1)
			w.claim("a", 1)
			d := store.Delivery{EndpointID: w.endpoint.ID, EventType: eventType, Status: store.DeliveryDead, Reason: "gone", LastStatus: 410}
			w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, []store.Outcome{w.outcome(ids[0], "a", d)}) })
		}
		told := func(want int) []store.DeliveryNotice {
			t.Helper()
			rows, err := w.db.NoticesToTell(w.ctx, 10)
			same(t, len(rows), err, want)
			for _, n := range rows {
				w.write(func(tx *store.Tx) error { return tx.TellNotice(w.ctx, n) })
			}
			return rows
		}
		hour := func() { w.clock.Advance(2 * time.Hour) }
		first := w.now()
		dead(eventType)
		w.clock.Advance(time.Second)
		dead(eventType)
		told(0) // nor are people
		w.clock.Advance(time.Second)
		same(t, len(w.raisedNow(true)), nil, 1)
		moment := w.now()
		n := told(1)[0]
		same(t, n.TellSince, nil, first)
		same(t, n.TellAt, nil, moment)
		told(0)
		for _, about := range []string{"nl.schakel.deliveries.stuck.v1", "nl.schakel.issue.opened.v1"} {
			hour()
			dead(about)
			same(t, len(w.raisedNow(true)), nil, 1) // people are told all the same
			told(0)
		}
		hour()
		dead("nl.schakel.deliveries.stuck.v1")
		dead(eventType)
		same(t, len(w.raisedNow(true)), nil, 1)
		rows, err := w.db.NoticesToTell(w.ctx, 10)
		same(t, len(rows), err, 1)
		hour()
		dead(eventType)
		w.raisedNow(true)
		w.write(func(tx *store.Tx) error { return tx.TellNotice(w.ctx, rows[0]) }) // by another node, which read the notice before
		told(1)
		hour()
		dead(eventType)
		same(t, len(w.raisedNow(false)), nil, 1) // nothing is stuck any more
		told(0)
		// A subscription to notices that was suspended holds them, which is no news either.
		hour()
		w.newDeliveries(w.subscription, 1)
		_, pool := w.db.Pools()
		_, err = pool.ExecContext(w.ctx, `UPDATE delivery SET event_type = 'nl.schakel.deliveries.stuck.v1' WHERE status = 'pending'`)
		noErr(t, err)
		w.write(func(tx *store.Tx) error {
			w.subscription.Status = store.SubscriptionSuspended
			return tx.UpdateSubscription(w.ctx, &w.subscription)
		})
		w.write(func(tx *store.Tx) error { _, err := tx.HoldStopped(w.ctx, 10); return err })
		same(t, w.raisedNow(true), nil, []string{store.DeliveryHeld})
		told(0)
	})
}
