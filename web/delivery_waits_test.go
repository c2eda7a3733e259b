package web

import (
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
)

// Each row of a list of pending deliveries names what it waits for, or that it is its turn.
func TestPendingRowsTellWhyTheyWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cause func(w *queueWorld, d store.Delivery)
		want  string
	}{
		{"due", func(*queueWorld, store.Delivery) {}, "due now"},
		{"endpoint paused", func(w *queueWorld, _ store.Delivery) {
			w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointPaused })
		}, "endpoint paused"},
		{"endpoint suspended", func(w *queueWorld, _ store.Delivery) {
			w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointSuspended })
		}, "endpoint suspended"},
		{"subscription paused", func(w *queueWorld, _ store.Delivery) { w.subscriptionIs(w.first, store.SubscriptionPaused) }, "subscription paused"},
		{"subscription suspended", func(w *queueWorld, _ store.Delivery) { w.subscriptionIs(w.first, store.SubscriptionSuspended) }, "subscription or partner suspended"},
		{"window", func(w *queueWorld, _ store.Delivery) {
			day := strings.ToLower(w.clock.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3])
			w.stop(w.first, func(ep *store.Endpoint) {
				ep.Windows = `{"timeZone":"UTC","open":[{"days":["` + day + `"],"from":"10:00","to":"11:00"}]}`
			})
		}, "outside the delivery window, again in"},
		{"circuit", func(w *queueWorld, _ store.Delivery) {
			w.stop(w.first, func(ep *store.Endpoint) {
				ep.Circuit, ep.CircuitProbeAt = store.CircuitOpen, store.At(w.clock.Now().Add(time.Hour))
			})
		}, "endpoint temporarily stopped, again in"},
		{"asked", func(w *queueWorld, _ store.Delivery) {
			w.stop(w.first, func(ep *store.Endpoint) { ep.WaitUntil = store.At(w.clock.Now().Add(time.Hour)) })
		}, "receiver asked for no requests, again in"},
		{"retry", func(w *queueWorld, d store.Delivery) {
			w.attempt(d, store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{StatusCode: 503})
		}, "(503) · 1 attempt · next attempt in"},
		{"retry of a paused subscription", func(w *queueWorld, d store.Delivery) {
			w.attempt(d, store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{StatusCode: 503})
			w.subscriptionIs(w.first, store.SubscriptionPaused)
		}, "subscription paused · "},
		{"in hand", func(w *queueWorld, d store.Delivery) {
			w.write(func(tx *store.Tx) error {
				_, err := tx.Claim(t.Context(), d.EndpointID, "node", 10, store.At(tx.Now.Add(time.Minute)))
				return err
			})
		}, "being sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			d := w.deliver(w.event(event.DataNone, ""), w.first)
			tt.cause(w, d)
			status := w.delivery(d.ID).Status
			for path, reader := range map[string]*browser{"/admin/deliveries?status=" + status: w.admin, "/partner/deliveries?status=" + status: w.first.browser, "/admin/deliveries": w.admin} {
				row := match(t, `(?s)/deliveries/`+d.ID+`".*?<time`, text(reader.get(path)))
				if !strings.Contains(row, tt.want) {
					t.Errorf("%s: the row lacks %q: %s", path, tt.want, row)
				}
			}
		})
	}
}

// A delivery that must come after another of its key says so, and not that it is its turn.
func TestPendingRowBehindAnother(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.deliver(w.event(event.DataNone, ""), w.first)
	_, write := w.db.Pools()
	_, err := write.ExecContext(t.Context(), `UPDATE delivery SET behind = TRUE WHERE id = ?`, d.ID)
	noError(t, err)
	wantWords(t, text(w.admin.get("/admin/deliveries?status=pending")), "behind an earlier one with its key")
}
