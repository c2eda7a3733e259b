package amqp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/store"
	"schakel/templates/i18n"
)

// errNoBroker reports that a broker is not in use, or not connected for the first time yet.
var errNoBroker = errors.New("there is no connection to the broker of this party")

// connectionStale ends a node's state of a connection that was not renewed for so long.
const connectionStale = 10 * time.Minute

type broker struct {
	row     store.AMQPBroker
	conn    Conn
	readers map[queue]context.CancelFunc
}

// align connects to the brokers there are, reads the queues there are and releases all others. A broker whose settings
// changed is connected again.
func (b *Bridge) align(ctx context.Context) {
	dir := b.dir.Load()
	b.mu.Lock()
	defer b.mu.Unlock()
	queues := dir.queues()
	for id, at := range b.brokers {
		if row, ok := dir.brokers[id]; !ok || !row.Enabled || !reflect.DeepEqual(row, at.row) {
			b.close(ctx, id)
		}
	}
	for id, row := range dir.brokers {
		if row.Enabled && b.brokers[id] == nil {
			b.open(ctx, row)
		}
		if at := b.brokers[id]; at != nil {
			b.alignReaders(ctx, at, queues[id])
		}
	}
}

func (b *Bridge) open(ctx context.Context, row store.AMQPBroker) {
	conn, err := b.cfg.Connect(ctx, row, func(s link.State) { b.noteState(row.ID, s) })
	if err != nil {
		b.cfg.Log.ErrorContext(ctx, "a broker cannot be used as it is set up", "broker", row.ID, "error", err)
		b.noteState(row.ID, link.State{Phase: link.Stopped, Error: err.Error(), Since: b.cfg.Now()})
		return
	}
	b.brokers[row.ID] = &broker{row: row, conn: conn, readers: map[queue]context.CancelFunc{}}
}

// close stops the readers of a broker and its connection; b.mu is held.
func (b *Bridge) close(ctx context.Context, id string) {
	at := b.brokers[id]
	for _, stop := range at.readers {
		stop()
	}
	delete(b.brokers, id)
	b.stating.Lock()
	delete(b.states, id)
	b.stating.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = at.conn.Stop(ctx) // what it had in hand comes again
}

func (b *Bridge) closeAll(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.brokers {
		b.close(ctx, id)
	}
}

func (b *Bridge) alignReaders(ctx context.Context, at *broker, wanted []queue) {
	want := map[queue]bool{}
	for _, q := range wanted {
		want[q] = true
		if at.readers[q] == nil {
			at.readers[q] = b.read(ctx, at.conn, q)
		}
	}
	for q, stop := range at.readers {
		if !want[q] {
			stop()
			delete(at.readers, q)
		}
	}
}

// read reads a queue until the function it gives is called.
func (b *Bridge) read(ctx context.Context, conn Conn, q queue) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	b.done.Go(func() {
		err := conn.Receive(ctx, q.name, b.cfg.Concurrency, func(ctx context.Context, d *link.Delivery) error { return b.receive(ctx, conn, q, d) })
		if err != nil && ctx.Err() == nil {
			b.cfg.Log.ErrorContext(ctx, "a queue is read no more", "queue", q.name, "broker", q.broker, "error", err)
		}
	})
	return cancel
}

func (b *Bridge) connTo(p *party) (Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.brokers[p.BrokerID]
	if at == nil {
		return nil, errNoBroker
	}
	return at.conn, nil
}

// noteState remembers the state of a connection; the sweep keeps it where the portal of any node sees it.
func (b *Bridge) noteState(brokerID string, s link.State) {
	b.stating.Lock()
	defer b.stating.Unlock()
	b.states[brokerID], b.changed = s, true
}

func (b *Bridge) statesChanged() bool {
	b.stating.Lock()
	defer b.stating.Unlock()
	return b.changed
}

func (b *Bridge) saveStates(ctx context.Context) error {
	b.stating.Lock()
	states := maps.Clone(b.states)
	b.changed = false
	b.stating.Unlock()
	if len(states) == 0 {
		return nil
	}
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		for id, s := range states {
			row := connectionRow(id, b.cfg.Node, s)
			if err := tx.SaveAMQPConnection(ctx, &row, store.At(tx.Now.Add(-connectionStale))); err != nil {
				return err
			}
		}
		return nil
	})
}

// connectionRow makes the row of a state: that of sending, unless a queue cannot be read.
func connectionRow(id, node string, s link.State) store.AMQPConnection {
	row := store.AMQPConnection{BrokerID: id, Node: node, Phase: string(s.Phase), Reconnects: int64(s.Reconnects), Since: store.At(s.Since)}
	if s.Phase != link.Opened {
		row.Detail = s.Error
	}
	for _, r := range s.Receivers {
		row.Reconnects += int64(r.Reconnects)
		if r.Phase != link.Opened && r.Error != "" {
			row.Phase, row.Since = string(r.Phase), store.At(r.Since)
			row.Detail = string(i18n.M("amqp.connection.queue-error", r.Queue, r.Error))
		}
	}
	return row
}

// How often brokers are asked how long the messages of our queues live, and for how long an answer serves.
const (
	askQueues    = time.Minute
	askAgain     = 10 * time.Second // after a broker did not answer
	queuesForget = 24 * time.Hour
)

// mustLast reports whether messages in a queue of this role must never expire (AMQP-42, AMQP-124). Those of synchronous exchange must
// (AMQP-43).
func mustLast(role string) bool {
	return role == roleAsync || role == roleError || role == roleDead || role == roleEvent
}

// queueLoop asks brokers about our queues: at the start, when there are others than before, and now and then. It is apart from the
// sweep, which a broker that does not answer must not delay.
func (b *Bridge) queueLoop(ctx context.Context) {
	var next time.Time
	var asked map[queue]bool
	for {
		set := b.dir.Load().queueSet()
		if now := b.cfg.Now(); !now.Before(next) || next.Sub(now) > askQueues || !maps.Equal(set, asked) {
			err := b.lookAtQueues(ctx)
			b.warn(ctx, "how long messages live in queues is not known", err)
			asked, next = set, now.Add(askQueues)
			if err != nil {
				next = now.Add(askAgain)
			}
		}
		if !pause(ctx, b.cfg.Poll) {
			return
		}
	}
}

// lookAtQueues asks every broker in use how long the messages of our queues live, and keeps what it says (INC-22).
func (b *Bridge) lookAtQueues(ctx context.Context) error {
	var failed error
	for id, queues := range b.dir.Load().queues() {
		b.mu.Lock()
		at := b.brokers[id]
		b.mu.Unlock()
		if at == nil {
			continue
		}
		failed = errors.Join(failed, b.lookAtBroker(ctx, at, queues))
	}
	return failed
}

func (b *Bridge) lookAtBroker(ctx context.Context, at *broker, queues []queue) error {
	parties, names := map[string]string{}, []string{}
	for _, q := range queues {
		if mustLast(q.role) {
			parties[q.name], names = q.party, append(names, q.name)
		}
	}
	lives, err := at.conn.Lifetimes(ctx, names)
	if err != nil {
		return fmt.Errorf("broker %s: %w", at.row.Name, err)
	}
	rows := make([]store.AMQPQueue, 0, len(lives))
	for name, life := range lives {
		rows = append(rows, store.AMQPQueue{Name: name, PartyID: parties[name], Known: life.Known, TTLMS: life.TTL.Milliseconds(), ExpiresMS: life.Expires.Milliseconds()})
	}
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return tx.SaveAMQPQueues(ctx, at.row.ID, rows, store.At(tx.Now.Add(-queuesForget)))
	})
}

// noteExpired notes that a dead letter expired in a queue whose messages must never expire: it has a time to live, whoever set it.
func (b *Bridge) noteExpired(ctx context.Context, tx *store.Tx, dead queue, d *link.Delivery) error {
	name := expiredIn(d)
	for _, q := range b.dir.Load().queues()[dead.broker] {
		if q.name == name && q.party == dead.party && mustLast(q.role) {
			return tx.AMQPExpired(ctx, q.broker, q.party, q.name)
		}
	}
	return nil
}

// expiredIn gives the queue in which a dead letter expired; "" when it did not.
func expiredIn(d *link.Delivery) string {
	if reason, _ := d.Message.ApplicationProperties[deadLetterReason].(string); reason == "TTLExpiredException" {
		return store.AMQPParentQueue(d.Queue)
	}
	if reason, _ := d.Message.Annotations[rabbitDeathReason].(string); reason == "expired" {
		name, _ := d.Message.Annotations[rabbitDeathQueue].(string)
		return name
	}
	return ""
}

// notifyLosing notifies the administrators of queues whose messages expire.
func (b *Bridge) notifyLosing(ctx context.Context) error {
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		queues, err := tx.TakeAMQPLosing(ctx)
		if err != nil || len(queues) == 0 {
			return err
		}
		n := Notice{Kind: NoticeExpiry}
		for _, q := range queues {
			group := NoticeGroup{Queue: q.Name, Detail: string(LossText(q, tx.Now.Time))}
			if p := b.dir.Load().parties[q.PartyID]; p != nil {
				group.Own = p.Name
			}
			b.cfg.Log.WarnContext(ctx, "messages in a queue expire", "queue", q.Name, "broker", q.BrokerID, "ttl", time.Duration(q.TTLMS)*time.Millisecond, "expires", time.Duration(q.ExpiresMS)*time.Millisecond)
			n.Groups = append(n.Groups, group)
		}
		return b.cfg.Notify(ctx, tx, n)
	})
}

// LossText describes how the messages of a queue expire, for people; "" when they do not, as far as is known.
func LossText(q store.AMQPQueue, now time.Time) i18n.Message {
	switch {
	case q.TTLMS > 0:
		return i18n.M("amqp.queue.expire-ttl", span(time.Duration(q.TTLMS)*time.Millisecond))
	case q.ExpiresMS > 0:
		return i18n.M("amqp.queue.expire-unread", span(time.Duration(q.ExpiresMS)*time.Millisecond))
	case q.Loses(now):
		return "amqp.queue.expire-seen"
	}
	return ""
}

// span writes a length of time in the largest unit of which it is a whole number.
func span(d time.Duration) i18n.Message {
	for _, u := range []struct {
		key string
		of  time.Duration
	}{{"unit.d", 24 * time.Hour}, {"unit.h", time.Hour}, {"unit.min", time.Minute}, {"unit.s", time.Second}} {
		if d >= u.of && d%u.of == 0 {
			return i18n.M(u.key, int64(d/u.of))
		}
	}
	return i18n.M("unit.ms", d.Milliseconds())
}
