package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// While a backlog is large a claim begins where the last one ended; what was given back before that is found again after a
// while, and at once when there is nothing else.
func TestClaimsFindWhatIsBehindThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 40)
		for i, id := range ids {
			w.set(id, `due_at = ?`, w.in(time.Duration(i-100)*time.Second))
		}
		same(t, w.claim("a", 10), nil, ids[:10])
		same(t, w.claim("a", 10), nil, ids[10:20])
		w.set(ids[3], `due_at = ?, lease_owner = ''`, w.in(-97*time.Second))
		w.clock.Advance(2 * time.Second)
		same(t, w.claim("a", 5), nil, append([]string{ids[3]}, ids[20:24]...))
		w.set(ids[4], `due_at = ?, lease_owner = ''`, w.in(-96*time.Second))
		same(t, w.claim("a", 100), nil, append([]string{ids[4]}, ids[24:]...))
	})
}

// A claim that was rolled back is made again.
func TestClaimRolledBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 10)
		for i, id := range ids {
			w.set(id, `due_at = ?`, w.in(time.Duration(i-100)*time.Second))
		}
		w.fails(errStop, func(tx *store.Tx) error {
			_, err := tx.Claim(w.ctx, w.endpoint.ID, "a", 4, w.in(time.Minute))
			same(t, 0, err, 0)
			return errStop
		})
		same(t, w.claim("a", 10), nil, ids)
	})
}
