package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func (w *world) newBroker(name string) store.AMQPBroker {
	var b store.AMQPBroker
	fill(&b, len(name))
	b.Name = name
	w.write(func(tx *store.Tx) error { return tx.InsertAMQPBroker(w.ctx, &b) })
	return b
}

func (w *world) newParty(b store.AMQPBroker, her int64) store.AMQPParty {
	var p store.AMQPParty
	fill(&p, int(her))
	p.PartnerID, p.BrokerID, p.HerID, p.EndpointID = w.partner.ID, b.ID, her, ""
	w.write(func(tx *store.Tx) error { return tx.InsertAMQPParty(w.ctx, &p) })
	return p
}

func (w *world) newMessage(direction, kind, status, id string) store.AMQPMessage {
	var m store.AMQPMessage
	fill(&m, len(id))
	m.Direction, m.Kind, m.Status, m.MessageID, m.MsgID, m.OwnPartyID, m.Her, m.Queue = direction, kind, status, id, id, "amp_own", 100, "q"
	m.OverdueAt, m.DueAt, m.ContentDigest, m.Asked = store.Time{}, w.now(), "", ""
	w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &m) })
	return m
}

func TestAMQPBroker(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.newBroker("exchange")
		again := b
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertAMQPBroker(w.ctx, &again) })
		other := w.newBroker("Another")
		gives(t, []store.AMQPBroker{other, b})(w.db.AMQPBrokers(w.ctx))
		w.clock.Advance(time.Minute)
		fill(&b, 3, "ID", "CreatedAt", "CreatedBy")
		w.write(func(tx *store.Tx) error { return tx.UpdateAMQPBroker(w.ctx, &b) })
		gives(t, b)(w.db.AMQPBroker(w.ctx, b.ID))

		c := store.AMQPConnection{BrokerID: b.ID, Node: "a", Phase: store.AMQPOpen, Detail: "d", Reconnects: 2, Since: w.now()}
		w.write(func(tx *store.Tx) error { return tx.SaveAMQPConnection(w.ctx, &c, w.in(-time.Hour)) })
		old := c
		w.clock.Advance(2 * time.Hour)
		c.Node = "b"
		w.write(func(tx *store.Tx) error { return tx.SaveAMQPConnection(w.ctx, &c, old.SeenAt) })
		gives(t, []store.AMQPConnection{old, c})(w.db.AMQPConnections(w.ctx, b.ID))
		w.write(func(tx *store.Tx) error { return tx.SaveAMQPConnection(w.ctx, &c, w.in(-time.Hour)) })
		gives(t, []store.AMQPConnection{c})(w.db.AMQPConnections(w.ctx, ""))

		w.newParty(other, 100)
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteAMQPBroker(w.ctx, other.ID) })
		w.write(func(tx *store.Tx) error { return tx.DeleteAMQPBroker(w.ctx, b.ID) })
		missing(t)(w.db.AMQPBroker(w.ctx, b.ID))
	})
}

func TestAMQPParty(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.newBroker("exchange")
		p := w.newParty(b, 100)
		again := p
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertAMQPParty(w.ctx, &again) })
		gives(t, p)(w.db.AMQPPartyByHerID(w.ctx, 100))
		fill(&p, 2, "ID", "PartnerID", "EndpointID", "BrokerID", "Own", "CreatedAt", "CreatedBy")
		w.write(func(tx *store.Tx) error { return tx.UpdateAMQPParty(w.ctx, &p) })
		gives(t, p)(w.db.AMQPParty(w.ctx, p.ID))
		missing(t)(w.db.AMQPPartyByEndpoint(w.ctx, ""))
		q := again
		q.HerID, q.EndpointID, q.Own, q.Name = 0, w.endpoint.ID, true, "z"
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPParty(w.ctx, &q) })
		gives(t, q)(w.db.AMQPPartyByEndpoint(w.ctx, w.endpoint.ID))
		gives(t, []store.AMQPParty{q, p})(w.db.AMQPParties(w.ctx, w.partner.ID))

		var c store.AMQPCertificate
		fill(&c, 1)
		c.PartyID = p.ID
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPCertificate(w.ctx, &c) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { other := c; return tx.InsertAMQPCertificate(w.ctx, &other) })
		newer := c
		newer.Thumbprint, newer.NotBefore = "N", store.At(c.NotBefore.Add(time.Hour))
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPCertificate(w.ctx, &newer) })
		gives(t, []store.AMQPCertificate{newer, c})(w.db.AMQPCertificates(w.ctx, p.ID))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DeleteAMQPCertificate(w.ctx, q.ID, c.ID) })
		w.write(func(tx *store.Tx) error { return tx.DeleteAMQPCertificate(w.ctx, p.ID, c.ID) })

		var x store.AMQPProcess
		fill(&x, 1)
		x.PartyID, x.OwnPartyID = p.ID, q.ID
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPProcess(w.ctx, &x) })
		fill(&x, 2, "ID", "PartyID", "OwnPartyID", "CreatedAt")
		w.write(func(tx *store.Tx) error { return tx.UpdateAMQPProcess(w.ctx, &x) })
		gives(t, []store.AMQPProcess{x})(w.db.AMQPProcesses(w.ctx, p.ID))
		w.write(func(tx *store.Tx) error { return tx.DeleteAMQPProcess(w.ctx, p.ID, x.ID) })
		gives[[]store.AMQPProcess](t, nil)(w.db.AMQPProcesses(w.ctx, ""))
	})
}

// Rules: AMQP-15, AMQP-105, AMQP-116.
func TestAMQPMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPProcessed, "m1")
		out := w.newMessage(store.AMQPOut, store.AMQPBusiness, store.AMQPOpenMessage, "m2")
		w.fails(store.ErrConflict, func(tx *store.Tx) error { again := in; return tx.InsertAMQPMessage(w.ctx, &again) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { again := out; return tx.InsertAMQPMessage(w.ctx, &again) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { // the same business message under another messageId
			again := in
			again.MessageID = "m3"
			return tx.InsertAMQPMessage(w.ctx, &again)
		})
		gives(t, in)(w.db.AMQPMessage(w.ctx, in.ID))
		gives(t, in)(w.db.AMQPRead(w.ctx, "amp_own", "q", 100, "m1"))
		missing(t)(w.db.AMQPRead(w.ctx, "amp_own", "other", 100, "m1"))
		missing(t)(w.db.AMQPRead(w.ctx, "amp_own", "q", 101, "m1"))
		other := in
		other.Her, other.MsgID, other.Status, other.DeliveryID, other.ReferenceID = 101, "m4", store.AMQPUnchecked, "", ""
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &other) })
		gives(t, in)(w.db.AMQPHandled(w.ctx, "amp_own", 100, "m1"))
		gives(t, out)(w.db.AMQPWritten(w.ctx, "m2"))
		gives(t, []store.AMQPMessage{out})(w.db.AMQPSentAs(w.ctx, 100, "m2"))
		gives(t, []store.AMQPMessage{out, in})(w.db.AMQPOfDelivery(w.ctx, out.DeliveryID))
		gives(t, []store.AMQPMessage{in, out})(w.db.AMQPAnswersTo(w.ctx, out.ReferenceID))

		id := func(m store.AMQPMessage) string { return m.ID }
		f := store.AMQPFilter{
			Direction: store.AMQPIn, Queue: "q", PartyID: in.PartyID, OwnPartyID: "amp_own", PartnerID: in.PartnerID, ID: "m1",
			Statuses: []string{store.AMQPProcessed}, Kinds: []string{store.AMQPBusiness}, Since: w.now(), Until: w.in(time.Hour),
		}
		listed(t, id, []string{in.ID}, 1)(w.db.AMQPMessages(w.ctx, f))
		gives(t, 0)(w.db.CountAMQPMessages(w.ctx, store.AMQPFilter{Overdue: true}))
		ours := w.newMessage(store.AMQPOut, store.AMQPBusiness, store.AMQPRejected, "m44")
		w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPRejected, "m555") // for its sender to mend
		listed(t, id, []string{ours.ID}, 1)(w.db.AMQPMessages(w.ctx, store.AMQPFilter{Attention: true}))
		gives(t, in.CreatedAt)(w.db.OldestAMQPMessage(w.ctx, f))
		gives(t, store.Time{})(w.db.OldestAMQPMessage(w.ctx, store.AMQPFilter{Queue: "none"}))

		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.TraceAMQP(w.ctx, store.AMQPTrace{MessageID: in.ID, Step: "read", Node: "n"}), tx.TraceAMQP(w.ctx, store.AMQPTrace{MessageID: in.ID, Step: "settled", Detail: "d"}))
		})
		steps, err := w.db.AMQPTraces(w.ctx, in.ID)
		if err != nil || len(steps) != 2 || steps[0].Step != "read" || steps[1].Detail != "d" || !steps[0].At.Equal(w.now().Time) {
			t.Errorf("%+v, %v", steps, err)
		}
	})
}

// Rules: AMQP-16, AMQP-49, AMQP-89.
func TestAMQPMessageChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		answer := w.newMessage(store.AMQPOut, store.AMQPAppRec, store.AMQPDue, "a1")
		var due []store.AMQPMessage
		take := func(tx *store.Tx) (err error) {
			due, err = tx.TakeAMQPAnswers(w.ctx, 10, w.in(time.Minute))
			return err
		}
		w.write(take)
		if len(due) != 1 || due[0].ID != answer.ID {
			t.Fatalf("%+v", due)
		}
		w.write(take)
		if len(due) != 0 {
			t.Fatalf("taken twice: %+v", due)
		}
		w.clock.Advance(2 * time.Minute)
		w.write(take)
		if len(due) != 1 {
			t.Fatal("a lease that ended holds the answer")
		}
		answer = due[0]
		answer.Status, answer.Encoded = store.AMQPSent, nil
		for i, want := range []bool{true, false} {
			w.write(func(tx *store.Tx) error {
				ok, err := tx.UpdateAMQPMessage(w.ctx, &answer, store.AMQPDue)
				if ok != want {
					t.Errorf("%d: changed %t", i, ok)
				}
				return err
			})
		}

		open := w.newMessage(store.AMQPOut, store.AMQPBusiness, store.AMQPOpenMessage, "b22")
		for i, want := range []int{1, 0} {
			w.write(func(tx *store.Tx) error {
				late, err := tx.TakeAMQPOverdue(w.ctx, 10)
				if len(late) != want {
					t.Errorf("%d: %+v", i, late)
				}
				return err
			})
		}

		ids := w.newDeliveries(w.subscription, 1)
		open.DeliveryID, open.Status, open.MessageID, open.Reason, open.Detail = ids[0], store.AMQPFailed, "c333", "transport:invalid-signature", "d"
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &open) })
		hold := func(want int64) {
			w.write(func(tx *store.Tx) error {
				n, err := tx.HoldAMQPRefused(w.ctx, 10)
				if n != want {
					t.Errorf("held %d, want %d", n, want)
				}
				return err
			})
		}
		hold(0) // it is not written yet
		_, err := w.db.Delivery(w.ctx, ids[0])
		noErr(t, err)
		w.write(func(tx *store.Tx) error {
			_, err := tx.Claim(w.ctx, w.endpoint.ID, "n", 1, w.in(time.Minute))
			return err
		})
		w.write(func(tx *store.Tx) error {
			return tx.Complete(w.ctx, []store.Outcome{w.outcome(ids[0], "n", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202})})
		})
		hold(1)
		hold(0)
		rows, err := w.db.Delivery(w.ctx, ids[0])
		if err != nil || rows.Status != store.DeliveryHeld || rows.Reason != open.Reason {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// Rules: AMQP-61.
func TestAMQPUnchecked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPUnchecked, "u1")
		var due []store.AMQPMessage
		take := func(want int) {
			t.Helper()
			w.write(func(tx *store.Tx) (err error) {
				due, err = tx.TakeAMQPUnchecked(w.ctx, 10, w.in(5*time.Minute))
				return err
			})
			if len(due) != want {
				t.Fatalf("%d are due, want %d", len(due), want)
			}
		}
		take(1)
		take(0)
		w.clock.Advance(time.Minute)
		woken := func(party string, since store.Time, want int64) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				n, err := tx.WakeAMQPUnchecked(w.ctx, party, since)
				if n != want {
					t.Errorf("%d woken, want %d", n, want)
				}
				return err
			})
		}
		woken("another", w.now(), 0)
		woken(m.PartyID, m.UpdatedAt, 0) // it was tried since
		woken(m.PartyID, w.now(), 1)
		take(1)
		m = due[0]
		m.Kind, m.Status, m.Digest, m.MsgID, m.EventID, m.CPAID = store.AMQPBusiness, store.AMQPProcessed, "d", "u1", "evt", "c"
		for _, want := range []bool{true, false} {
			w.write(func(tx *store.Tx) error {
				done, err := tx.ReprocessAMQPMessage(w.ctx, &m, store.AMQPUnchecked)
				if done != want {
					t.Errorf("settled %t", done)
				}
				return err
			})
		}
		got, err := w.db.AMQPMessage(w.ctx, m.ID)
		m.UpdatedAt = got.UpdatedAt
		same(t, got, err, m)
		again := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPUnchecked, "u2")
		again.Status, again.MsgID = store.AMQPProcessed, "u1"
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			_, err := tx.ReprocessAMQPMessage(w.ctx, &again, store.AMQPUnchecked)
			return err
		})
	})
}

func TestPruneAMQP(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		done := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPProcessed, "m1")
		open := w.newMessage(store.AMQPOut, store.AMQPBusiness, store.AMQPOpenMessage, "m2")
		w.write(func(tx *store.Tx) error {
			return tx.TraceAMQP(w.ctx, store.AMQPTrace{MessageID: done.ID, Step: "read"})
		})
		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			p, err := tx.PruneAMQP(w.ctx, tx.Now, "", 10)
			if p.Rows != 1 || !p.Done {
				t.Errorf("%+v", p)
			}
			return err
		})
		missing(t)(w.db.AMQPMessage(w.ctx, done.ID))
		gives(t, open)(w.db.AMQPMessage(w.ctx, open.ID))
	})
}

func TestAMQPDirectory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		versions := map[string]bool{}
		changed := func(step string) {
			t.Helper()
			v, err := w.db.AMQPVersion(w.ctx)
			if err != nil || versions[v] {
				t.Errorf("%s: version %q seen before, %v", step, v, err)
			}
			versions[v] = true
			w.clock.Advance(time.Second)
		}
		changed("empty")
		b := w.newBroker("exchange")
		changed("broker")
		p := w.newParty(b, 101)
		changed("party")
		c := store.AMQPCertificate{PartyID: p.ID, Purpose: store.AMQPSign, Thumbprint: "a", NotBefore: w.now(), NotAfter: w.in(time.Hour)}
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPCertificate(w.ctx, &c) })
		changed("certificate")
		x := store.AMQPProcess{PartyID: p.ID, OwnPartyID: p.ID}
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPProcess(w.ctx, &x) })
		changed("process")
		d, err := w.db.AMQPDirectory(w.ctx)
		same(t, d, err, store.AMQPDirectory{
			Brokers: []store.AMQPBroker{b}, Parties: []store.AMQPParty{p}, Processes: []store.AMQPProcess{x},
			Certificates: map[string][]store.AMQPCertificate{p.ID: {c}},
		})
		w.write(func(tx *store.Tx) error {
			w.partner.Status = store.PartnerSuspended
			return tx.UpdatePartner(w.ctx, &w.partner)
		})
		changed("suspended partner")
		d, err = w.db.AMQPDirectory(w.ctx)
		if err != nil || len(d.Parties) != 0 {
			t.Errorf("%+v, %v", d.Parties, err)
		}
	})
}
