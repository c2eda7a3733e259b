package amqp

import (
	"context"
	"sync"

	"schakel/store"
)

// most limits the writes that share a transaction.
const most = 32

// writes puts the writes of messages that are handled at the same moment into one transaction, for a transaction costs more
// than what is in it. When one of them fails they are all made again, each by itself: a write must be able to be repeated.
type writes struct {
	db *store.DB

	mu   sync.Mutex
	wait []write
	busy bool
}

type write struct {
	ctx  context.Context
	fn   func(tx *store.Tx) error
	done chan error
}

// do makes a write and waits until it is on disk.
func (w *writes) do(ctx context.Context, fn func(tx *store.Tx) error) error {
	return <-w.later(ctx, fn)
}

// later makes a write soon. What came of it can be received.
func (w *writes) later(ctx context.Context, fn func(tx *store.Tx) error) <-chan error {
	one := write{context.WithoutCancel(ctx), fn, make(chan error, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait = append(w.wait, one)
	if !w.busy {
		w.busy = true
		go w.loop()
	}
	return one.done
}

// loop makes writes until there are none.
func (w *writes) loop() {
	for {
		w.mu.Lock()
		batch := w.wait[:min(len(w.wait), most)]
		w.wait = w.wait[len(batch):]
		w.busy = len(batch) > 0
		w.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		w.make(batch)
	}
}

func (w *writes) make(batch []write) {
	if len(batch) > 1 && w.together(batch) == nil {
		for _, one := range batch {
			one.done <- nil
		}
		return
	}
	for _, one := range batch {
		one.done <- w.db.Write(one.ctx, one.fn)
	}
}

func (w *writes) together(batch []write) error {
	return w.db.Write(batch[0].ctx, func(tx *store.Tx) error {
		for _, one := range batch {
			if err := one.fn(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Steps of a message that its trace names (AMQP-15).
const (
	stepRead         = "read"       // taken from a queue, not settled
	stepStored       = "kept"       // in the database
	stepAnswered     = "answered"   // its AppRec, error or answer is on the queue
	stepSettled      = "settled"    // gone from the queue
	stepAgain        = "read again" // it came again
	stepWritten      = "written"    // the broker accepted it
	stepUnwritten    = "unwritten"  // the broker did not accept it
	stepConfirmed    = "confirmed"  // its AppRec, error or answer came
	stepOverdue      = "overdue"
	stepResent       = "resent"
	stepPutBack      = "put back"
	stepDropped      = "dropped"
	stepChecked      = "checked"        // it could be checked in the end
	stepUnanswerable = "answer refused" // the answer of a handler breaks the rules of its receiver
	stepRetried      = "retried"        // a person had it tried at once
	stepReprocess    = "reprocessed"    // a stored message was handled as if it came from its queue
	stepAsked        = "not done"       // what was asked for many messages could not be done for this one
)

// trace adds a step in a transaction.
func (b *Bridge) trace(ctx context.Context, tx *store.Tx, id, step, detail string) error {
	return tx.TraceAMQP(ctx, store.AMQPTrace{MessageID: id, Step: step, Detail: detail, Node: b.cfg.Node})
}

// note adds a step by itself; that it cannot be added is logged and changes nothing.
func (b *Bridge) note(ctx context.Context, id, step, detail string) {
	if id == "" {
		return
	}
	err := b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return b.trace(ctx, tx, id, step, detail) })
	if err != nil {
		b.cfg.Log.WarnContext(ctx, "a step of a message is not in its trace", "message", id, "step", step, "error", err)
	}
}

// noteSoon adds a step that nothing waits for.
func (b *Bridge) noteSoon(ctx context.Context, id, step string) {
	if id != "" {
		ctx = context.WithoutCancel(ctx)
		b.writes.later(ctx, func(tx *store.Tx) error { return b.trace(ctx, tx, id, step, "") })
	}
}

// each handles messages, Concurrency of them at once, and waits for the last.
func (b *Bridge) each(messages []store.AMQPMessage, handle func(m store.AMQPMessage)) {
	var all sync.WaitGroup
	free := make(chan struct{}, b.cfg.Concurrency)
	for _, m := range messages {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			handle(m)
		})
	}
	all.Wait()
}
