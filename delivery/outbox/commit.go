package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
)

// commitTries bounds the attempts at a group commit; on PostgreSQL two nodes can deadlock or conflict.
const commitTries = 3

// commitLoop is the group committer: while one transaction goes to disk the next group gathers.
func (e *Engine) commitLoop(ctx context.Context) {
	var throttle throttle
	var linger linger
	for {
		select {
		case p := <-e.submissions:
			group := []*pending{p}
			linger.wait(ctx, func() int { return eventsOf(group) + len(e.submissions) })
			throttle.wait(ctx, e, group)
			group = e.gather(group)
			linger.wrote(e.cfg.Now(), eventsOf(group))
			e.commit(ctx, group)
		case <-ctx.Done():
			e.rejectPending(nil)
			return
		}
	}
}

// rejectPending rejects a group, and all submissions that still wait, when the engine stops. Accept itself answers those that
// come later.
func (e *Engine) rejectPending(group []*pending) {
	for group = e.gather(group); len(group) > 0; group = e.gather(nil) {
		for _, p := range group {
			p.err = ErrUnavailable
			e.finish(p)
		}
	}
	e.intakeOnce.Do(func() { close(e.intakeStopped) })
}

// gather adds waiting submissions to a group, up to MaxBatch events.
func (e *Engine) gather(group []*pending) []*pending {
	events := eventsOf(group)
	for events < e.cfg.MaxBatch {
		select {
		case p := <-e.submissions:
			group, events = append(group, p), events+len(p.Events)
		default:
			return group
		}
	}
	return group
}

func eventsOf(group []*pending) (events int) {
	for _, p := range group {
		events += len(p.Events)
	}
	return events
}

// commit writes a group and answers it. A write under way when the engine stops is finished.
func (e *Engine) commit(ctx context.Context, group []*pending) {
	e.refresh(ctx)
	var m commitResult
	var err error
	for try := 1; try <= commitTries; try++ {
		err = e.writeOn(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			m, err = e.write(ctx, tx, group)
			return err
		})
		if err == nil {
			break
		}
		e.releaseRoom(m)
		if m = (commitResult{}); ctx.Err() != nil || store.Refused(err) {
			break
		}
	}
	if len(group) > 1 && store.Refused(err) {
		// A submission that the database rejects must not fail the others of its group.
		for _, p := range group {
			e.commit(ctx, []*pending{p})
		}
		return
	}
	if err != nil {
		e.cfg.Log.Error("group commit failed", "submissions", len(group), "error", err)
	}
	e.answer(group, m, err)
}

// answer answers the submissions of a group, and sends what was handed to this node.
func (e *Engine) answer(group []*pending, m commitResult, err error) {
	for _, p := range group {
		if err != nil {
			p.receipt, p.err = Receipt{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		e.finish(p)
	}
	e.sendHanded(m)
	e.ready(m.waiting)
	if m.expires {
		signal(e.expiry)
	}
}

func (e *Engine) finish(p *pending) {
	if p.Key != "" {
		e.inFlight.leave(p.ClientID + " " + p.Key)
	}
	if p.isNew() {
		e.stats.accept(p.receipt)
	}
	close(p.done)
}

// isNew reports whether the events of the submission are to be written: it was neither rejected nor answered from its key.
func (p *pending) isNew() bool { return p.err == nil && !p.receipt.Replayed }

// write writes a group. When the transaction does not commit, the caller returns the room it took with releaseRoom.
func (e *Engine) write(ctx context.Context, tx *store.Tx, group []*pending) (commitResult, error) {
	index, err := e.fanout.in(ctx, tx)
	if err != nil {
		return commitResult{}, err
	}
	rows := make([][]store.Event, len(group))
	for i, p := range group {
		rows[i] = p.rows(tx)
		p.err = nil
		p.expect(rows[i])
	}
	if err := e.writeKeys(ctx, tx, group); err != nil {
		return commitResult{}, err
	}
	if err := rejectUnwanted(ctx, tx, index, group, rows); err != nil {
		return commitResult{}, err
	}
	events := make([]store.Event, 0, eventsOf(group))
	for i, p := range group {
		if p.isNew() {
			events = append(events, rows[i]...)
		}
	}
	fresh, err := tx.InsertEvents(ctx, events)
	if err != nil {
		return commitResult{}, fmt.Errorf("insert events: %w", err)
	}
	if len(fresh) < len(events) {
		if err := e.markDuplicates(ctx, tx, group, fresh); err != nil {
			return commitResult{}, err
		}
	}
	if len(fresh) == 0 && slices.ContainsFunc(group, func(p *pending) bool { return p.err == nil }) {
		if err := tx.AwaitStandby(ctx); err != nil { // the answers are those of events that others wrote
			return commitResult{}, fmt.Errorf("wait for the standby: %w", err)
		}
	}
	copies, err := e.fanOut(ctx, tx, index, group, rows, fresh)
	if err != nil {
		return commitResult{}, err
	}
	return e.writeDeliveries(ctx, tx, index, copies)
}

// fanoutDelivery is a delivery to be written, with its event and its target.
type fanoutDelivery struct {
	store.Claimed
	target store.FanoutTarget
}

// fanOut makes the deliveries of the new events of a group.
func (e *Engine) fanOut(ctx context.Context, tx *store.Tx, index *index, group []*pending, rows [][]store.Event, fresh map[string]bool) ([]fanoutDelivery, error) {
	copies := make([]fanoutDelivery, 0, len(fresh))
	var handed deduper
	dedupe := e.policy().Dedupe
	for i, p := range group {
		if !p.isNew() {
			continue
		}
		for n, row := range rows[i] {
			if !fresh[row.ID] {
				continue
			}
			if err := linkObjects(ctx, tx, p, n, &row); err != nil {
				return nil, err
			}
			for _, t := range index.match(&p.Events[n], &row, p.FromOwn) {
				d := e.newDelivery(tx, row, t)
				d.OrderKey = orderKey(&p.Events[n], t.OrderBy)
				if t.Dedupe || dedupe {
					handed.add(len(copies), &d, &row)
				}
				copies = append(copies, fanoutDelivery{store.Claimed{Delivery: d, Event: row}, t})
			}
		}
	}
	return handed.dropRepeated(ctx, tx, copies)
}

func (e *Engine) writeDeliveries(ctx context.Context, tx *store.Tx, index *index, copies []fanoutDelivery) (commitResult, error) {
	m := e.handOver(tx, index, copies)
	if err := e.freezeHanded(ctx, tx, &m); err != nil {
		return m, fmt.Errorf("make batches: %w", err)
	}
	deliveries := make([]store.Delivery, len(copies))
	for i := range copies {
		deliveries[i] = copies[i].Delivery
	}
	if err := tx.InsertDeliveries(ctx, deliveries); err != nil {
		return m, fmt.Errorf("insert deliveries: %w", err)
	}
	return m, e.notifyNodes(ctx, tx, m.waiting)
}

func (e *Engine) newDelivery(tx *store.Tx, row store.Event, t store.FanoutTarget) store.Delivery {
	return store.Delivery{
		ID: tx.NewID("dlv"), EventID: row.ID, SubscriptionID: t.SubscriptionID, EndpointID: t.EndpointID, PartnerID: t.PartnerID,
		EventType: row.CEType, Status: store.DeliveryPending, IdempotencyKey: uuid.NewString(), KeyExpiresAt: e.keyExpiry(tx.Now.Time), DueAt: tx.Now,
		CreatedAt: tx.Now, UpdatedAt: tx.Now, ExpiresAt: expiryOf(row),
	}
}

// orderKey returns the value that a subscription orders the event by. Events without the attribute come in any order.
func orderKey(ev *event.Event, attribute string) string {
	if attribute == "" {
		return ""
	}
	value, _ := ev.Extension(attribute)
	if len(value) > maxOrderKey {
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(value)))
	}
	return value
}

// maxOrderKey bounds the order keys that are stored as they are, in bytes; longer ones are hashed, for an index of the
// database cannot hold them.
const maxOrderKey = 512

func (e *Engine) keyExpiry(now time.Time) store.Time {
	return store.At(now.Add(e.policy().KeyLifetime))
}

// writeKeys inserts the keys of a group with the answers they stand for; the unique insert is the lock. A key that exists
// answers with its stored answer, or rejects when the content differs (IDEM-11, IDEM-14, E8, E11).
func (e *Engine) writeKeys(ctx context.Context, tx *store.Tx, group []*pending) error {
	keys := make([]store.IdempotencyKey, 0, len(group))
	for _, p := range group {
		if p.Key != "" {
			keys = append(keys, store.IdempotencyKey{
				ClientID: p.ClientID, Operation: operation, Key: p.Key, Fingerprint: p.Fingerprint, StatusCode: 202,
				ResponseBody: p.body(), CreatedAt: tx.Now, ExpiresAt: e.keyExpiry(tx.Now.Time),
			})
		}
	}
	fresh, err := tx.InsertKeys(ctx, keys)
	if err != nil {
		return fmt.Errorf("insert keys: %w", err)
	}
	if len(fresh) == len(keys) {
		return nil
	}
	for _, p := range group {
		k := store.IdempotencyKey{ClientID: p.ClientID, Operation: operation, Key: p.Key}
		if p.Key == "" || fresh[k.Name()] {
			continue
		}
		if err := p.answerFromKey(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (p *pending) answerFromKey(ctx context.Context, tx *store.Tx) error {
	stored, err := tx.Key(ctx, p.ClientID, operation, p.Key)
	if err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	p.receipt = Receipt{Replayed: true}
	if !bytes.Equal(stored.Fingerprint, p.Fingerprint) {
		p.err = ErrKeyReused
		return nil
	}
	if err := json.Unmarshal(stored.ResponseBody, &p.receipt); err != nil {
		return fmt.Errorf("read stored answer: %w", err)
	}
	return nil
}

// markDuplicates puts the id of the first event into the receipts of those that were sent before, and into the answers stored
// with their keys.
func (e *Engine) markDuplicates(ctx context.Context, tx *store.Tx, group []*pending, fresh map[string]bool) error {
	for _, p := range group {
		if !p.isNew() {
			continue
		}
		changed := false
		for i := range p.receipt.Events {
			a := &p.receipt.Events[i]
			if fresh[a.EventID] {
				continue
			}
			id, err := tx.EventIDByIdentity(ctx, p.ClientID, a.Source, a.ID)
			if err != nil {
				return fmt.Errorf("find event sent before: %w", err)
			}
			a.EventID, a.Duplicate, changed = id, true, true
		}
		if changed && p.Key != "" {
			if err := tx.SetKeyAnswer(ctx, p.ClientID, operation, p.Key, p.body()); err != nil {
				return err
			}
		}
	}
	return nil
}
