package web

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// uploadsPerPartner is how many documents the clients of a partner may have under way at once; each takes its size in memory, and waits for its turn.
const uploadsPerPartner = 4

// shares counts what each partner has under way.
type shares struct {
	most int
	mu   sync.Mutex
	held map[string]int
}

func newShares(most int) *shares { return &shares{most: most, held: make(map[string]int)} }

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
	if s.held[name]--; s.held[name] == 0 {
		delete(s.held, name)
	}
}

func tooManyUploads() error {
	return retryLater(http.StatusTooManyRequests, "too-many-uploads", "Your clients have other documents under way. Send one after the other.", 5*time.Second)
}

// countsPerPartner is how many counts of what would be sent again a partner may have under way at once, its people and
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
