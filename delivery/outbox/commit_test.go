package outbox

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// TestWhatTheDatabaseRefusesFailsAlone commits a submission that PostgreSQL cannot index in one group with others.
func TestWhatTheDatabaseRefusesFailsAlone(t *testing.T) { // guarantee G1
	t.Parallel()
	c := newChain(t, storetest.Postgres(t))
	c.partner("North", "nl.a")
	c.eng.stop[0]() // the test commits by hand
	c.eng.stop[0] = func() {}
	group := make([]*pending, 3)
	for i := range group {
		s := c.submission(c.own.ID, true, "nl.a", "event"+string(rune('1'+i)))
		group[i] = &pending{Submission: s, done: make(chan struct{})}
	}
	group[1].Events[0].ID = noise(8000)
	c.eng.commit(t.Context(), group)
	if err := group[1].err; !errors.Is(err, ErrUnavailable) {
		t.Errorf("the one that is refused got %v", err)
	}
	for _, i := range []int{0, 2} {
		if err := group[i].err; err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
		c.until(group[i].receipt.Events[0].EventID, store.DeliveryDelivered)
	}
}

// noise is text that cannot be compressed.
func noise(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('!' + rand.IntN(90)))
	}
	return b.String()
}

// TestLongOrderKeysAreHashed gives a subject that an index of PostgreSQL cannot hold.
func TestLongOrderKeysAreHashed(t *testing.T) { // guarantee G5
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		c.ordered(c.partner("North", "nl.a"), "subject")
		subject := noise(9000)
		first, second := c.acceptSubject("1", subject), c.acceptSubject("2", subject)
		c.until(second.EventID, store.DeliveryDelivered)
		c.until(first.EventID, store.DeliveryDelivered)
	})
}
