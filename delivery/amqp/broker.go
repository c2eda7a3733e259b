package amqp

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/store"
)

// errNoBroker reports that a broker is not in use, or not connected for the first time yet.
var errNoBroker = errors.New("there is no connection to the broker of this party")

// connectionStale ends a node's state of a connection that was not renewed for so long.
const connectionStale = 10 * time.Minute

// broker is a broker in use, with the readers of its queues.
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

// connTo gives the connection to the broker of a party.
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

// saveStates keeps the states of all connections.
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
			row.Detail = "queue " + r.Queue + ": " + r.Error
		}
	}
	return row
}
