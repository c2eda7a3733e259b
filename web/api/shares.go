package api

import (
	"github.com/labstack/echo/v4"
	"schakel/web/site"
)

// InTurn lets a request of a partner whose share is under way wait for its turn, before its body is read; then it is refused.
// It stands behind withCaller.
func (m *API) InTurn(s *site.Shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.Caller(c)
			if err != nil {
				return err
			}
			_ = m.App.ExtendDeadlines(c, site.Patience) // without it the times of the server hold
			if !s.Wait(c.Request().Context(), who.Partner.ID, site.MaxTurnWait) {
				return refusal()
			}
			defer s.Give(who.Partner.ID)
			return next(c)
		}
	}
}

// FewAtOnce refuses a request of a partner whose share is under way, before its body is read. It stands behind withCaller.
func (m *API) FewAtOnce(s *site.Shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.Caller(c)
			if err != nil {
				return err
			}
			if !s.Take(who.Partner.ID) {
				return refusal()
			}
			defer s.Give(who.Partner.ID)
			return next(c)
		}
	}
}
