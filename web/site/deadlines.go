package site

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// DeadlineExtender returns a function that keeps the connection open for another patience from each call on; callers call
// it whenever bytes went over the line.
func (a *App) DeadlineExtender(c echo.Context) func() {
	var last time.Time
	return func() {
		if now := a.Cfg.Now(); last.IsZero() || now.Sub(last) >= extendEvery || now.Before(last) {
			last = now
			_ = a.ExtendDeadlines(c, Patience) // without it the times of the server hold
		}
	}
}

// EndReadOnDone ends the reading of a body at once when the context of its request ends, until the function that it
// answers is called. That function waits for an end under way, which must not touch the connection after its request.
func (a *App) EndReadOnDone(c echo.Context) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(c.Request().Context(), func() {
		defer close(done)
		_ = http.NewResponseController(c.Response()).SetReadDeadline(a.Cfg.Now()) // without it the times of the server hold
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
