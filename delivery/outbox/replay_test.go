package outbox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

func anna() Actor { return Actor{Kind: "person", ID: "acc_1", Name: "Anna"} }

// replay starts a replay and waits until it is done.
func (c *chain) replay(actor Actor, r Replay) store.ResendJob {
	c.Helper()
	j, err := c.eng.StartReplay(c.Context(), actor, r)
	must(c, err)
	return c.ended(j.ID)
}

func (c *chain) ended(id string) store.ResendJob {
	c.Helper()
	var j store.ResendJob
	c.waitFor(func() bool {
		var err error
		if j, err = c.db.ResendJob(c.Context(), id); err != nil {
			c.Fatal(err)
		}
		return j.Status != store.JobRunning
	})
	return j
}

// got lists the deliveries of a subscription by the ids of their events, oldest first.
func (c *chain) got(s store.Subscription) map[string][]store.Delivery {
	c.Helper()
	rows, _, err := c.db.Deliveries(c.Context(), store.DeliveryFilter{SubscriptionID: s.ID})
	must(c, err)
	by := map[string][]store.Delivery{}
	for i := len(rows) - 1; i >= 0; i-- {
		e, err := c.db.Event(c.Context(), rows[i].EventID)
		must(c, err)
		by[e.CEID] = append(by[e.CEID], rows[i])
	}
	return by
}

// Rules: EDU-18, EDU-N11, IDEM-13
func TestReplayOffersWhatASubscriptionNeverGot(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.accept("nl.a", "1", "2")
		c.accept("nl.b", "3")
		s := c.partner("North", "nl.a", "nl.c")
		c.accept("nl.a", "4") // it gets this one by itself
		c.rcv.wait(t)
		r := Replay{Mode: ReplayMissing, EndpointID: s.EndpointID}
		p, err := c.eng.PreviewReplay(t.Context(), anna(), r)
		if err != nil || p.Total != 2 || p.More || len(p.Groups) != 1 || p.Groups[0].EventType != "nl.a" || p.Groups[0].EndpointID != s.EndpointID {
			t.Errorf("preview %+v, %v", p, err)
		}
		j := c.replay(anna(), r)
		if j.Status != store.JobDone || j.Total != 2 || j.Done != 2 || j.Refused != 0 {
			t.Errorf("job %+v", j)
		}
		first, second := c.rcv.wait(t), c.rcv.wait(t)
		if first.Event.CEID+second.Event.CEID != "12" && first.Event.CEID+second.Event.CEID != "21" {
			t.Errorf("%s and %s came", first.Event.CEID, second.Event.CEID)
		}
		for _, d := range c.got(s)["1"] {
			if d.ReplayOf != j.ID {
				t.Errorf("delivery %+v does not tell the replay", d)
			}
		}
		if again := c.replay(anna(), r); again.Done != 0 || again.Total != 0 {
			t.Errorf("a second replay of what was missing: %+v", again)
		}
		for id, rows := range c.got(s) {
			if len(rows) != 1 {
				t.Errorf("event %s has %d deliveries", id, len(rows))
			}
		}
	})
}

// Rules: EDU-18, IDEM-13
func TestReplayOfAllRepeatsOnPurposeUnderANewKey(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		receipt := c.accept("nl.a", "1", "2")
		c.rcv.wait(t)
		c.rcv.wait(t)
		c.until(receipt.Events[0].EventID, store.DeliveryDelivered)
		c.until(receipt.Events[1].EventID, store.DeliveryDelivered)
		j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}, EventIDs: []string{"1", "unknown"}})
		if j.Done != 1 {
			t.Errorf("job %+v", j)
		}
		came := c.rcv.wait(t)
		rows := c.got(s)["1"]
		if len(rows) != 2 || rows[0].IdempotencyKey == rows[1].IdempotencyKey || rows[0].EventID != rows[1].EventID {
			t.Errorf("deliveries %+v, want two of one event under two keys", rows)
		}
		if came.Event.CEID != "1" || came.IdempotencyKey != rows[1].IdempotencyKey || string(came.Event.Data) != `{"n":1.50}` {
			t.Errorf("came %+v", came)
		}
		if none := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}, EventIDs: []string{"unknown"}}); none.Total != 0 || none.Done != 0 {
			t.Errorf("a replay of unknown events: %+v", none)
		}
	})
}

// A dead letter leaves its queue by a replay: it is sent again, and gets no second delivery beside it.
//
// Rules: EDU-18, EDU-N11
func TestReplaySendsDeadLettersAgain(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 410, time.Time{}) })
		receipt := c.accept("nl.a", "1", "2")
		dead := c.until(receipt.Events[0].EventID, store.DeliveryDead)
		discarded := c.until(receipt.Events[1].EventID, store.DeliveryDead)
		must(t, c.eng.Discard(t.Context(), anna(), discarded.ID, "test data"))
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		j := c.replay(anna(), Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID}})
		now := c.until(receipt.Events[0].EventID, store.DeliveryDelivered)
		if now.ID != dead.ID || now.IdempotencyKey == dead.IdempotencyKey || j.Done != 1 {
			t.Errorf("delivery %+v, job %+v", now, j)
		}
		if rows := c.got(s); len(rows["1"]) != 1 || len(rows["2"]) != 1 || rows["2"][0].Status != store.DeliveryDiscarded {
			t.Errorf("deliveries %+v: what a person discarded stays so", rows)
		}
	})
}

// A partner is offered what it was allowed to get and nothing of others (guarantees G2, G3, G7).
func TestPartnersReplayOnlyWhatTheyWereAllowed(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.accept("nl.a", "before")
		north, south := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		c.write(func(tx *store.Tx) error {
			s, err := tx.Subscription(t.Context(), north.ID)
			if err != nil {
				return err
			}
			s.DecidedAt = tx.Now
			return tx.UpdateSubscription(t.Context(), &s)
		})
		mine := Actor{Kind: "client", Name: "LAS of North", PartnerID: north.PartnerID}
		for name, r := range map[string]Replay{
			"another's subscription":  {Mode: ReplayMissing, SubscriptionIDs: []string{south.ID}},
			"one that does not exist": {Mode: ReplayMissing, SubscriptionIDs: []string{"sub_none"}},
		} {
			if _, err := c.eng.StartReplay(t.Context(), mine, r); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := c.eng.StartReplay(t.Context(), mine, Replay{Mode: ReplayMissing, EndpointID: south.EndpointID}); !errors.Is(err, ErrNothingSelected) {
			t.Errorf("another's endpoint: error %v", err)
		}
		p, err := c.eng.PreviewReplay(t.Context(), mine, Replay{Mode: ReplayMissing, PartnerID: south.PartnerID})
		if err != nil || p.Total != 0 || !p.Limited {
			t.Errorf("preview %+v, %v: an event from before its approval is not the partner's to ask for", p, err)
		}
		if j := c.replay(mine, Replay{Mode: ReplayMissing}); j.Done != 0 || j.PartnerID != north.PartnerID {
			t.Errorf("job %+v", j)
		}
		if j := c.replay(anna(), Replay{Mode: ReplayMissing, PartnerID: north.PartnerID}); j.Done != 1 {
			t.Errorf("an administrator's job %+v", j)
		}
		if n := len(c.got(south)); n != 0 {
			t.Errorf("South got %d events", n)
		}
		j := c.replay(mine, Replay{Mode: ReplayMissing})
		if err := c.eng.CancelJob(t.Context(), Actor{PartnerID: south.PartnerID}, j.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("South cancels the job of North: %v", err)
		}
	})
}

func TestReplayNeedsAnApprovedSubscription(t *testing.T) { // guarantee G2
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		for _, status := range []string{store.SubscriptionRequested, store.SubscriptionPaused, store.SubscriptionSuspended, store.SubscriptionEnded} {
			c.status(s, status)
			_, err := c.eng.StartReplay(t.Context(), anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}})
			_, other := c.eng.StartReplay(t.Context(), anna(), Replay{Mode: ReplayAll, EndpointID: s.EndpointID})
			if !errors.Is(err, ErrNotApproved) || !errors.Is(other, ErrNothingSelected) {
				t.Errorf("%s: errors %v, %v", status, err, other)
			}
		}
		if _, err := c.eng.StartReplay(t.Context(), anna(), Replay{Mode: "some", SubscriptionIDs: []string{s.ID}}); err == nil {
			t.Error("an unknown mode is taken")
		}
	})
}

// slow makes an endpoint take nothing, and replays keep at most ten deliveries waiting there.
func (c *chain) slow(s store.Subscription) {
	c.Helper()
	c.changeEndpoint(s.EndpointID, func(ep *store.Endpoint) { ep.RatePerSecond, ep.Status = 1, store.EndpointPaused })
}

func (c *chain) acceptMany(eventType string, n int) {
	c.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%03d", eventType, i)
	}
	c.accept(eventType, ids...)
}

// A replay keeps little waiting at an endpoint, so that new events are not behind all of it; it can be stopped, and goes
// on after a crash where it was.
func TestReplayGoesInSmallStepsCanStopAndGoesOn(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.acceptMany("nl.a", 60)
		s, other := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		c.slow(s)
		r := Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID, other.ID}}
		j, err := c.eng.StartReplay(t.Context(), anna(), r)
		must(t, err)
		part := func() store.ReplayPart {
			p, err := c.db.ReplayPart(t.Context(), j.ID, s.ID)
			must(t, err)
			return p
		}
		c.waitFor(func() bool { return part().Reason == ReasonBusy && len(c.got(other)) == 60 })
		if n := len(c.got(s)); n != 10 || part().Done != 10 {
			t.Errorf("%d deliveries wait, part %+v; want no more than ten", n, part())
		}
		c.stop() // a crash leaves no less than this: each step is one transaction
		c.eng = c.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: c.rcv})
		c.status(s, store.SubscriptionPaused)
		c.waitFor(func() bool { return part().Reason == store.ReasonSubscriptionPaused })
		c.status(s, store.SubscriptionApproved)
		c.waitFor(func() bool { return part().Reason == ReasonBusy })
		must(t, c.eng.CancelJob(t.Context(), anna(), j.ID))
		if j = c.ended(j.ID); j.Status != store.JobCancelled || j.Done < 70 || j.Done > 80 {
			t.Errorf("job %+v; what was held in the pause is released beside the next ten", j)
		}
		entries, _, err := c.db.Audits(t.Context(), store.AuditFilter{ObjectKind: "job", ObjectID: j.ID})
		if err != nil || len(entries) != 2 || entries[0].Action != "deliveries.cancel" || entries[1].Action != "deliveries.replay" {
			t.Errorf("audited %+v, %v", entries, err)
		}
		// The rest is still missing, and a subscription that ends in the middle ends its part.
		if j, err = c.eng.StartReplay(t.Context(), anna(), Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID}}); err != nil || j.Total < 40 || j.Total > 50 {
			t.Fatalf("job %+v, %v", j, err)
		}
		c.waitFor(func() bool { return part().Reason == ReasonBusy })
		c.status(s, store.SubscriptionEnded)
		if j = c.ended(j.ID); j.Status != store.JobDone || part().Reason != store.ReasonSubscriptionEnded || j.Done > 10 {
			t.Errorf("job %+v, part %+v", j, part())
		}
	})
}

// What was left out because it came before, from another client, was not missed.
//
// Rules: EDU-18b
func TestReplayLeavesOutRepeatedEvents(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		c.changeSubscription(s.ID, func(now *store.Subscription) { now.Dedupe = true })
		twice := func(id string) {
			for _, client := range []string{"cli_a", "cli_b"} {
				sub := c.submission(c.own.ID, true, "nl.a", id)
				sub.ClientID = client
				c.take(sub)
			}
		}
		twice("1") // the second is left out
		c.status(s, store.SubscriptionSuspended)
		twice("2") // both are missed
		c.status(s, store.SubscriptionApproved)
		if j := c.replay(anna(), Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID}}); j.Done != 1 {
			t.Errorf("job %+v", j)
		}
		if got := c.got(s); len(got["1"]) != 1 || len(got["2"]) != 1 {
			t.Errorf("got %+v, want each once", got)
		}
		if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}, EventIDs: []string{"2"}}); j.Done == 0 {
			t.Errorf("on purpose nothing is repeated: %+v", j)
		}
	})
}

// Old events come to a subscription in the order of their acceptance (guarantee G5).
func TestReplayKeepsTheOrder(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		for i := range 20 {
			c.acceptSubject(fmt.Sprintf("%02d", i), "student-1")
		}
		s := c.partner("North", "nl.a")
		c.ordered(s, "subject")
		c.replay(anna(), Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID}, Subject: "student-1"})
		for i := range 20 {
			if got := c.rcv.wait(t); got.Event.CEID != fmt.Sprintf("%02d", i) {
				t.Errorf("%s came as number %d", got.Event.CEID, i)
			}
		}
	})
}

// BenchmarkReplay offers 20,000 stored events to a subscription that has none of them, and delivers them.
func BenchmarkReplay(b *testing.B) {
	const events = 20_000
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			own, client := store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}, "cli_a"
			write := func(fn func(tx *store.Tx) error) {
				b.Helper()
				must(b, db.Write(b.Context(), fn))
			}
			write(func(tx *store.Tx) error { return tx.InsertPartner(b.Context(), &own) })
			for from := 0; from < events; from += 500 {
				write(func(tx *store.Tx) error {
					rows := make([]store.Event, 500)
					for i := range rows {
						id := fmt.Sprint(from + i)
						rows[i] = store.Event{
							ID: tx.NewID("evt"), PartnerID: own.ID, ClientID: client, CEID: id, CESource: "urn:x", CEType: "nl.a", AcceptedAt: tx.Now,
							Attributes: []byte(`{"specversion":"1.0","id":"` + id + `","source":"urn:x","type":"nl.a"}`), DataKind: 1, Data: make([]byte, 700),
						}
					}
					_, err := tx.InsertEvents(b.Context(), rows)
					return err
				})
			}
			rcv := newReceiver()
			rcv.came = make(chan store.Claimed, events)
			eng := New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: rcv}})
			for b.Loop() {
				b.StopTimer()
				sub := benchSubscription(b, db, own.ID)
				b.StartTimer()
				if err := eng.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				if _, err := eng.StartReplay(b.Context(), Actor{Name: "Anna"}, Replay{Mode: ReplayMissing, SubscriptionIDs: []string{sub}}); err != nil {
					b.Fatal(err)
				}
				for range events {
					<-rcv.came
				}
				b.StopTimer()
				if err := eng.Stop(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func benchSubscription(b *testing.B, db *store.DB, partnerID string) string {
	b.Helper()
	ep := store.Endpoint{PartnerID: partnerID, Name: "hook", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 64, TimeoutMS: 1000}
	s := store.Subscription{PartnerID: partnerID, Status: store.SubscriptionApproved, Types: []string{"nl.a"}}
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		if err := tx.InsertEndpoint(b.Context(), &ep); err != nil {
			return err
		}
		s.EndpointID = ep.ID
		return tx.InsertSubscription(b.Context(), &s)
	})
	must(b, err)
	return s.ID
}

// A partner cannot pile up jobs; others and administrators are not held up by it.
func TestJobsOfAPartnerAreBounded(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	north, south := c.partner("North", "nl.a"), c.partner("South", "nl.a")
	c.stop() // so that the jobs stay
	start := func(partnerID string) error {
		_, err := c.eng.StartJob(c.Context(), Actor{Kind: "client", ID: "cli_1", Name: "Machine", PartnerID: partnerID}, ActionResend, store.DeliveryFilter{}, "")
		return err
	}
	for n := range maxJobs {
		if err := start(north.PartnerID); err != nil {
			t.Fatalf("job %d: %v", n+1, err)
		}
	}
	if err := start(north.PartnerID); !errors.Is(err, ErrTooManyJobs) {
		t.Errorf("one more: %v", err)
	}
	for _, other := range []string{south.PartnerID, ""} {
		if err := start(other); err != nil {
			t.Errorf("another's: %v", err)
		}
	}
}

// A preview looks at a bounded number of events, and says so; what it did look at is counted.
func TestReplayPreviewIsBounded(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.acceptMany("nl.a", scanPage+20)
		s, other := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		for look, want := range map[int]Preview{1: {Total: scanPage, More: true}, scanPage + 1: {Total: scanPage + 20, More: true}, scanPage + 21: {Total: 2*scanPage + 20, More: true}, 2000: {Total: 2*scanPage + 40}} {
			r, parts, err := c.eng.planReplay(t.Context(), anna(), Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID, other.ID}})
			must(t, err)
			if p, err := c.eng.countReplay(t.Context(), r, parts, look, time.Hour); err != nil || p.Total != want.Total || p.More != want.More {
				t.Errorf("look at %d: %d, more %v, %v; want %+v", look, p.Total, p.More, err, want)
			}
		}
	})
}
