package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"schakel/store"
)

const maxReceives = 3

// puller is a world with a pull subscription.
type puller struct {
	*world
	sub store.Subscription
}

func newPuller(w *world) *puller {
	e := store.Endpoint{PartnerID: w.partner.ID, Name: "ophalen", Kind: store.EndpointPull, Status: store.EndpointActive}
	w.write(func(tx *store.Tx) error { return tx.InsertEndpoint(w.ctx, &e) })
	return &puller{w, w.newSubscription(e, store.SubscriptionApproved, eventType)}
}

func eachPuller(t *testing.T, fn func(t *testing.T, p *puller)) {
	t.Helper()
	each(t, func(t *testing.T, w *world) { fn(t, newPuller(w)) })
}

// receive leases for a minute and returns the locks.
func (p *puller) receive(limit int) []store.PullLock {
	p.t.Helper()
	locks := []store.PullLock{}
	lock := store.NewLockID()
	p.write(func(tx *store.Tx) error {
		rows, err := tx.PullClaim(p.ctx, store.PullClaim{
			SubscriptionID: p.sub.ID, LockID: lock, ClientID: "cli_1", Limit: limit, Lease: p.in(time.Minute), MaxReceives: maxReceives,
		})
		for _, r := range rows {
			locks = append(locks, store.PullLock{DeliveryID: r.ID, LockID: lock})
			if r.Event.ID != r.EventID || r.LeaseOwner != lock || r.DueAt != p.in(time.Minute) {
				p.t.Errorf("received %+v", r)
			}
		}
		return err
	})
	return locks
}

// received returns the ids of what can be received now.
func (p *puller) received(limit int) []string {
	p.t.Helper()
	ids := []string{}
	for _, l := range p.receive(limit) {
		ids = append(ids, l.DeliveryID)
	}
	return ids
}

// settle runs a verb in a transaction and checks the verdicts.
func (p *puller) settle(want []store.PullVerdict, verb func(tx *store.Tx) ([]store.PullVerdict, error)) {
	p.t.Helper()
	p.write(func(tx *store.Tx) error {
		got, err := verb(tx)
		if !slices.Equal(got, want) {
			p.t.Errorf("verdicts %v, want %v", got, want)
		}
		return err
	})
}

func (p *puller) acknowledge(locks []store.PullLock, want ...store.PullVerdict) {
	p.t.Helper()
	p.settle(want, func(tx *store.Tx) ([]store.PullVerdict, error) { return tx.PullAcknowledge(p.ctx, p.sub.ID, locks) })
}

func (p *puller) release(locks []store.PullLock, delay time.Duration, want ...store.PullVerdict) {
	p.t.Helper()
	p.settle(want, func(tx *store.Tx) ([]store.PullVerdict, error) {
		return tx.PullRelease(p.ctx, p.sub.ID, locks, p.in(delay), maxReceives)
	})
}

func (p *puller) reject(locks []store.PullLock, want ...store.PullVerdict) {
	p.t.Helper()
	p.settle(want, func(tx *store.Tx) ([]store.PullVerdict, error) { return tx.PullReject(p.ctx, p.sub.ID, locks) })
}

func (p *puller) renew(locks []store.PullLock, lease time.Duration, want ...store.PullVerdict) {
	p.t.Helper()
	p.settle(want, func(tx *store.Tx) ([]store.PullVerdict, error) {
		return tx.PullRenew(p.ctx, p.sub.ID, locks, p.in(lease))
	})
}

func (p *puller) expire(want int) {
	p.t.Helper()
	p.write(func(tx *store.Tx) error {
		n, err := tx.PullExpire(p.ctx, maxReceives, 100)
		same(p.t, n, err, want)
		return err
	})
}

// ends returns the kinds of the attempts of a delivery, oldest first.
func (p *puller) ends(id string, want ...string) {
	p.t.Helper()
	attempts, err := p.db.Attempts(p.ctx, id)
	kinds := []string{}
	for i, a := range attempts {
		kinds = append(kinds, a.ErrorKind)
		if a.Number != int64(i+1) {
			p.t.Errorf("attempt %d has number %d", i+1, a.Number)
		}
	}
	same(p.t, kinds, err, want)
}

func TestPullClaim(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 4)
		p.newDeliveries(p.newSubscription(store.Endpoint{ID: p.sub.EndpointID, PartnerID: p.partner.ID}, store.SubscriptionApproved), 2)
		p.set(ids[3], `due_at = ?`, p.in(time.Hour))
		same(t, p.received(2), nil, ids[:2])
		same(t, p.received(10), nil, ids[2:3])
		same(t, p.received(10), nil, []string{})
		gives(t, p.in(time.Minute))(p.db.PullDue(p.ctx, p.sub.ID))
		gives(t, store.Time{})(p.db.PullDue(p.ctx, "sub_none"))
		gives(t, store.PullBacklog{Waiting: 3, Leased: 3, Oldest: p.now()})(p.db.PullBacklog(p.ctx, p.sub.EndpointID, p.now()))
		gives(t, store.PullBacklog{})(p.db.PullBacklog(p.ctx, "ept_none", p.now()))

		p.clock.Advance(time.Minute) // a crashed consumer's deliveries come back
		same(t, p.received(10), nil, ids[:3])
		p.ends(ids[0], store.PullExpired, store.PullReceived)
	})
}

// A revocation, a pause of the endpoint and a suspension of the partner stop handing out (guarantee G2).
func TestPullClaimOnlyWhatMayBeSent(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		p.newDeliveries(p.sub, 1)
		subscription := func(status string) {
			p.sub.Status = status
			p.write(func(tx *store.Tx) error { return tx.UpdateSubscription(p.ctx, &p.sub) })
		}
		endpoint := func(change func(*store.Endpoint)) {
			p.write(func(tx *store.Tx) error {
				e, err := tx.Endpoint(p.ctx, p.sub.EndpointID)
				change(&e)
				return errors.Join(err, tx.UpdateEndpoint(p.ctx, &e))
			})
		}
		for _, status := range []string{"paused", "suspended", "ended", "rejected", "requested"} {
			subscription(status)
			same(t, p.received(10), nil, []string{})
		}
		subscription(store.SubscriptionApproved)
		for _, status := range []string{store.EndpointPaused, store.EndpointSuspended} {
			endpoint(func(e *store.Endpoint) { e.Status = status })
			same(t, p.received(10), nil, []string{})
		}
		endpoint(func(e *store.Endpoint) { e.Status = store.EndpointActive })
		p.partner.Status = store.PartnerSuspended
		p.write(func(tx *store.Tx) error { return tx.UpdatePartner(p.ctx, &p.partner) })
		same(t, p.received(10), nil, []string{})
		p.partner.Status = store.PartnerApproved
		p.write(func(tx *store.Tx) error { return tx.UpdatePartner(p.ctx, &p.partner) })
		same(t, len(p.received(10)), nil, 1)

		p.newDeliveries(p.subscription, 1) // a webhook's
		p.sub = p.subscription
		same(t, p.received(10), nil, []string{})
	})
}

func TestPullAcknowledge(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 3)
		locks := p.receive(3)
		p.clock.Advance(time.Second)
		wrong := store.PullLock{DeliveryID: ids[1], LockID: "lck_other"}
		unknown := store.PullLock{DeliveryID: "dlv_none", LockID: "lck_other"}
		p.acknowledge([]store.PullLock{locks[0], wrong, unknown, locks[0]}, store.PullDone, store.PullLost, store.PullUnknown, store.PullDone)
		d, err := p.db.Delivery(p.ctx, ids[0])
		same(t, [2]any{d.Status, d.DeliveredAt}, err, [2]any{store.DeliveryDelivered, p.now()})
		p.ends(ids[0], store.PullAcknowledged)
		p.acknowledge(locks[:1], store.PullDone) // the answer to the first was lost
		p.release(locks[:1], 0, store.PullLost)
		p.acknowledge(nil)

		other := p.newSubscription(store.Endpoint{ID: p.sub.EndpointID, PartnerID: p.partner.ID}, store.SubscriptionApproved)
		p.settle([]store.PullVerdict{store.PullUnknown}, func(tx *store.Tx) ([]store.PullVerdict, error) {
			return tx.PullAcknowledge(p.ctx, other.ID, locks[1:2])
		})
		p.clock.Advance(time.Minute)
		p.acknowledge(locks[1:2], store.PullLost) // the lease ended
		p.receive(3)
		p.acknowledge(locks[2:], store.PullLost) // another has it
	})
}

// What a consumer has in its hands it may settle after a revocation; it gets no more time for it.
func TestPullAfterARevocation(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 3)
		locks := p.receive(2)
		p.sub.Status = store.SubscriptionSuspended
		p.write(func(tx *store.Tx) error { return tx.UpdateSubscription(p.ctx, &p.sub) })
		hold := func() {
			p.write(func(tx *store.Tx) error { _, err := tx.HoldStopped(p.ctx, 10); return err })
		}
		hold()
		same(t, p.status(ids[2]), nil, store.DeliveryHeld)
		p.renew(locks[1:], time.Hour, store.PullStopped)
		p.acknowledge(locks[:1], store.PullDone)
		p.clock.Advance(time.Minute)
		p.expire(1)
		hold()
		same(t, p.status(ids[1]), nil, store.DeliveryHeld)
		p.acknowledge(locks[1:], store.PullLost)
	})
}

func TestPullRelease(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 2)
		p.release(p.receive(1), time.Hour, store.PullDone)
		same(t, p.received(10), nil, ids[1:])
		p.ends(ids[0], store.PullReleased)
		p.clock.Advance(time.Hour)
		locks := p.receive(10)
		p.release(locks, 0, store.PullDone, store.PullDone)
		p.release(locks, 0, store.PullLost, store.PullLost)
		same(t, p.received(10), nil, ids)
	})
}

func TestPullReceivedTooOften(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 3)
		for range maxReceives {
			locks := p.receive(10)
			p.release(locks[:1], time.Minute, store.PullDone)
			p.clock.Advance(time.Minute)
		}
		fresh := p.newDeliveries(p.sub, 1)
		same(t, p.status(ids[0]), nil, store.DeliveryDead) // released too often
		p.set(ids[1], `due_at = ?`, p.in(time.Hour))       // looked at later
		same(t, p.received(1), nil, fresh)                 // the worn one makes room for it
		p.clock.Advance(time.Hour)
		p.expire(2)
		for _, id := range ids {
			d, err := p.db.Delivery(p.ctx, id)
			same(t, [3]any{d.Status, d.Reason, d.Attempts}, err, [3]any{store.DeliveryDead, store.ReasonCountExceeded, int64(maxReceives)})
			end := store.PullExpired
			if id == ids[0] {
				end = store.PullReleased
			}
			p.ends(id, end, end, end)
		}
		p.write(func(tx *store.Tx) error { _, err := tx.Resend(p.ctx, ids[1], "new", p.in(time.Hour)); return err })
		same(t, p.received(10), nil, []string{ids[1], fresh[0]})
	})
}

func TestPullReject(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 1)
		p.reject(p.receive(1), store.PullDone)
		d, err := p.db.Delivery(p.ctx, ids[0])
		same(t, [2]string{d.Status, d.Reason}, err, [2]string{store.DeliveryHeld, store.ReasonRejected})
		p.ends(ids[0], store.PullRejected)
		p.write(func(tx *store.Tx) error { _, err := tx.ReleaseHeld(p.ctx, 10); return err })
		same(t, p.received(10), nil, []string{})
	})
}

func TestPullRenew(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		ids := p.newDeliveries(p.sub, 1)
		locks := p.receive(1)
		p.clock.Advance(59 * time.Second)
		p.renew(locks, time.Minute, store.PullDone)
		p.clock.Advance(59 * time.Second)
		same(t, p.received(10), nil, []string{})
		p.expire(0)
		p.clock.Advance(time.Second)
		p.renew(locks, time.Minute, store.PullLost)
		p.expire(1)
		p.ends(ids[0], store.PullExpired)
		same(t, p.received(10), nil, ids)
	})
}

// A start of the engine frees what a dead process held, and leaves to consumers what is theirs.
//
// Rules: EDU-17, EDU-N01.
func TestPullLeasesOutliveARestart(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		p.newDeliveries(p.sub, 1)
		locks := p.receive(1)
		p.write(func(tx *store.Tx) error { return tx.FreeAllLeases(p.ctx) })
		p.set(locks[0].DeliveryID, `key_expires_at = ?`, p.in(-time.Hour))
		p.write(func(tx *store.Tx) error { _, err := tx.ExpireKeys(p.ctx, 10); return err })
		p.acknowledge(locks, store.PullDone)
	})
}
