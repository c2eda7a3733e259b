package web

import (
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

// fewAtOnce refuses a request of a partner whose share is under way, before its body is read. It stands behind withCaller.
func (m *machineAPI) fewAtOnce(s *shares) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.caller(c)
			if err != nil {
				return err
			}
			if !s.take(who.partner.ID) {
				return retryLater(http.StatusTooManyRequests, "too-many-uploads", "Your clients have other documents under way. Send one after the other.", 5*time.Second)
			}
			defer s.give(who.partner.ID)
			return next(c)
		}
	}
}
