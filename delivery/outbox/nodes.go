package outbox

import (
	"context"
	"strings"
	"time"

	"schakel/store"
)

// maxNotified bounds the endpoints named in one notification, which may have 7,999 bytes; with more, nodes look at all.
const maxNotified = 200

// notifyNodes wakes the other nodes for new deliveries to endpoints, once the transaction is committed.
func (e *Engine) notifyNodes(ctx context.Context, tx *store.Tx, endpoints map[string]struct{}) error {
	if len(endpoints) == 0 {
		return nil
	}
	words := []string{e.node}
	if len(endpoints) > maxNotified {
		words = append(words, "*")
	} else {
		for id := range endpoints {
			words = append(words, id)
		}
	}
	return tx.Notify(ctx, strings.Join(words, " "))
}

// listenLoop listens to the notifications of other nodes. While it cannot, the poll finds the work.
func (e *Engine) listenLoop(ctx context.Context) {
	for ctx.Err() == nil {
		// Notifications from before the connection are lost: changed makes up for them.
		err := e.cfg.DB.Listen(ctx, e.changed, e.onNotification)
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

func (e *Engine) onNotification(payload string) {
	if payload == store.NotifyChanged {
		e.changed()
		return
	}
	words := strings.Fields(payload)
	if len(words) < 2 || words[0] == e.node {
		return
	}
	if words[1] == waitWord && len(words) == 4 {
		e.onWaitNotification(words[2], words[3])
		return
	}
	if words[1] == "*" {
		e.wakeAll()
		return
	}
	ids := make(map[string]struct{}, len(words))
	for _, id := range words[1:] {
		ids[id] = struct{}{}
	}
	e.ready(ids)
}
