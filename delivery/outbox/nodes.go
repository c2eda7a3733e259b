package outbox

import (
	"context"
	"strings"
	"time"

	"schakel/store"
)

// maxTold bounds the endpoints named in one notification, which may have 7,999 bytes; with more, nodes look at all.
const maxTold = 200

// tellNodes wakes the other nodes for new deliveries to endpoints, once the transaction is committed.
func (e *Engine) tellNodes(ctx context.Context, tx *store.Tx, endpoints map[string]struct{}) error {
	if len(endpoints) == 0 {
		return nil
	}
	words := []string{e.node}
	if len(endpoints) > maxTold {
		words = append(words, "*")
	} else {
		for id := range endpoints {
			words = append(words, id)
		}
	}
	return tx.Notify(ctx, strings.Join(words, " "))
}

// listenLoop hears what other nodes tell. While it cannot listen, the poll finds the work.
func (e *Engine) listenLoop(ctx context.Context) {
	for ctx.Err() == nil {
		// What was told before the connection stood was not heard.
		err := e.cfg.DB.Listen(ctx, e.changed, e.hear)
		if err == nil || ctx.Err() != nil {
			continue
		}
		e.cfg.Log.Warn("cannot listen to other nodes; looking for work every poll instead", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(e.cfg.Poll):
		}
	}
}

func (e *Engine) hear(payload string) {
	if payload == store.NotifyChanged {
		e.changed()
		return
	}
	words := strings.Fields(payload)
	if len(words) < 2 || words[0] == e.node {
		return
	}
	if words[1] == waitWord && len(words) == 4 {
		e.hearWait(words[2], words[3])
		return
	}
	if words[1] == "*" {
		e.readyAll()
		signal(e.wake)
		return
	}
	told := make(map[string]struct{}, len(words))
	for _, id := range words[1:] {
		told[id] = struct{}{}
	}
	e.ready(told)
}
