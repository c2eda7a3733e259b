package web

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// uploadsPerPartner limits the documents that the clients of a partner upload at once; each takes its size in memory, and waits for its turn.
const uploadsPerPartner = 4

const (
	// maxTurnWait bounds how long a request waits for others of its partner.
	maxTurnWait = 30 * time.Second
	// maxWaitingTurns limits the waiting requests of a partner.
	maxWaitingTurns = 50
)

// shares counts what each partner has under way.
type shares struct {
	most  int
	mu    sync.Mutex
	held  map[string]int
	turns map[string]int // that wait for one
	given chan struct{}  // closed when one was given back
}

func newShares(most int) *shares {
	return &shares{most: most, held: make(map[string]int), turns: make(map[string]int), given: make(chan struct{})}
}

func (s *shares) take(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] >= s.most {
		return false
	}
	s.held[name]++
	return true
}

func (s *shares) give(name string) {
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

// wait is take that waits for its turn: for so long, and while not too many others do.
func (s *shares) wait(ctx context.Context, name string, patience time.Duration) bool {
	if s.take(name) {
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
		if s.take(name) { // looked at behind the channel, so that no turn is missed
			return true
		}
		select {
		case <-given:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *shares) queue(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[name] >= maxWaitingTurns {
		return false
	}
	s.turns[name]++
	return true
}

func (s *shares) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lessOne(s.turns, name)
}

func tooManyUploads() error {
	return retryLater(http.StatusTooManyRequests, "too-many-uploads", "Your clients have other documents under way. Send one after the other.", 5*time.Second)
}

// countsPerPartner limits the counts of deliveries to resend that a partner may have under way at once, its people and
// its clients together; each may keep the database busy for seconds.
const countsPerPartner = 2

func tooManyCounts() error {
	return retryLater(http.StatusTooManyRequests, "too-many-counts", "Your organisation has other counts of deliveries or events under way. Wait for those.", 3*time.Second)
}

// fewCounts is fewAtOnce for people, behind requireAccount: those of one partner have a share together, an administrator
// has one alone.
func (a *App) fewCounts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		account := accountOf(c)
		name := cmp.Or(account.PartnerID, account.ID)
		if !a.counts.take(name) {
			return tooManyCounts()
		}
		defer a.counts.give(name)
		return next(c)
	}
}

// inTurn lets a request of a partner whose share is under way wait for its turn, before its body is read; then it is refused.
// It stands behind withCaller.
func (m *machineAPI) inTurn(s *shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.caller(c)
			if err != nil {
				return err
			}
			_ = m.app.extendDeadlines(c, patience) // without it the times of the server hold
			if !s.wait(c.Request().Context(), who.partner.ID, maxTurnWait) {
				return refusal()
			}
			defer s.give(who.partner.ID)
			return next(c)
		}
	}
}

// fewAtOnce refuses a request of a partner whose share is under way, before its body is read. It stands behind withCaller.
func (m *machineAPI) fewAtOnce(s *shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.caller(c)
			if err != nil {
				return err
			}
			if !s.take(who.partner.ID) {
				return refusal()
			}
			defer s.give(who.partner.ID)
			return next(c)
		}
	}
}
