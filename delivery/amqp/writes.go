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
