package site

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// UploadsPerPartner limits the documents that the clients of a partner upload at once; each takes its size in memory, and waits for its turn.
const UploadsPerPartner = 4

const (
	// MaxTurnWait bounds how long a request waits for others of its partner.
	MaxTurnWait = 30 * time.Second
	// MaxWaitingTurns limits the waiting requests of a partner.
	MaxWaitingTurns = 50
)

// Shares counts what each partner has under way.
type Shares struct {
	most  int
	mu    sync.Mutex
	held  map[string]int
	Turns map[string]int // that wait for one
	given chan struct{}  // closed when one was given back
}

// NewShares makes shares of n at once for each partner.
func NewShares(most int) *Shares {
	return &Shares{most: most, held: make(map[string]int), Turns: make(map[string]int), given: make(chan struct{})}
}

// Take takes a place of a share, if one is free.
func (s *Shares) Take(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] >= s.most {
		return false
	}
	s.held[name]++
	return true
}

// Give gives a place back.
func (s *Shares) Give(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lessOne(s.held, name)
	close(s.given)
	s.given = make(chan struct{})
}

func lessOne(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// Wait is take that waits for its turn: for so long, and while not too many others do.
func (s *Shares) Wait(ctx context.Context, name string, patience time.Duration) bool {
	if s.Take(name) {
		return true
	}
	if !s.queue(name) {
		return false
	}
	defer s.leave(name)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		s.mu.Lock()
		given := s.given
		s.mu.Unlock()
		if s.Take(name) { // looked at behind the channel, so that no turn is missed
			return true
		}
		select {
		case <-given:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *Shares) queue(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Turns[name] >= MaxWaitingTurns {
		return false
	}
	s.Turns[name]++
	return true
}

func (s *Shares) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lessOne(s.Turns, name)
}

// TooManyUploads answers who has too many uploads under way.
func TooManyUploads() error {
	return RetryLater(http.StatusTooManyRequests, "too-many-uploads", "site.too-many-uploads", 5*time.Second)
}

// CountsPerPartner limits the counts of deliveries to resend that a partner may have under way at once, its people and
// its clients together; each may keep the database busy for seconds.
const CountsPerPartner = 2

// TooManyCounts answers who has too many counts under way.
func TooManyCounts() error {
	return RetryLater(http.StatusTooManyRequests, "too-many-counts", "site.too-many-counts", 3*time.Second)
}

// FewCounts is fewAtOnce for people, behind requireAccount: those of one partner have a share together, an administrator
// has one alone.
func (a *App) FewCounts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		account := AccountOf(c)
		name := cmp.Or(account.PartnerID, account.ID)
		if !a.Counts.Take(name) {
			return TooManyCounts()
		}
		defer a.Counts.Give(name)
		return next(c)
	}
}

const (
	// Patience bounds how long a client of a large body may be still.
	Patience = 2 * time.Minute
	// extendEvery sets how often the deadline of the connection moves on.
	extendEvery = 10 * time.Second
)
