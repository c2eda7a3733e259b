package store

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// idSource makes ids that sort by time, also within a millisecond, so that inserts go to the end of an index.
type idSource struct {
	mu      sync.Mutex
	entropy io.Reader
}

func newIDSource() *idSource {
	return &idSource{entropy: ulid.Monotonic(rand.Reader, 0)}
}

func (s *idSource) next(prefix string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := ulid.New(ulid.Timestamp(now), s.entropy)
	if err != nil {
		// The monotonic counter of this millisecond overflowed (once in 2^79): start a fresh one.
		s.entropy = ulid.Monotonic(rand.Reader, 0)
		id = ulid.MustNew(ulid.Timestamp(now), s.entropy)
	}
	return prefix + "_" + id.String()
}

// IDAt sorts before every id of this prefix that was made at t or later, to the millisecond, and after all older ones.
func IDAt(prefix string, t time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(t)); err != nil {
		return prefix + "_"
	}
	return prefix + "_" + id.String()
}
