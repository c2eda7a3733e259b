package store

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// idSource makes ids that sort by time, also within a millisecond, so that inserts go to the end of an index. They never
// go back, also when the clock does: what came later sorts later (guarantee G5).
type idSource struct {
	mu      sync.Mutex
	entropy io.Reader
	last    uint64 // milliseconds of the newest id
}

func newIDSource() *idSource {
	return &idSource{entropy: ulid.Monotonic(rand.Reader, 0)}
}

func (s *idSource) next(prefix string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, ulid.Timestamp(now))
	id, err := ulid.New(s.last, s.entropy)
	if err != nil {
		// The monotonic counter of this millisecond overflowed (once in 2^79): start a fresh one.
		s.entropy = ulid.Monotonic(rand.Reader, 0)
		s.last++
		id = ulid.MustNew(s.last, s.entropy)
	}
	return prefix + "_" + id.String()
}

// after makes all ids sort after those that were made until t.
func (s *idSource) after(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, ulid.Timestamp(t)+1)
}

// IDAt sorts before every id of this prefix that was made at t or later, to the millisecond, and after all older ones.
func IDAt(prefix string, t time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(t)); err != nil {
		return prefix + "_"
	}
	return prefix + "_" + id.String()
}
