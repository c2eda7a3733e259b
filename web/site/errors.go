package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// Problem is an answer of an API that is not a success (RFC 9457, as the NL API
// Design Rules ask). Detail advises what to do about it.
type Problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Code     string         `json:"code,omitempty"`
	Instance string         `json:"instance,omitempty"`
	Errors   []ProblemError `json:"errors,omitempty"`
	// Publication counts the groups of a publication that are stored.
	Publication *problemPublication `json:"publication,omitempty"`

	header http.Header
	// logged is set when the cause is ours to look at.
	logged bool
}

// ProblemError is one thing wrong with what was sent. Index counts from 0 in a
// batch; Pointer is a JSON pointer (RFC 6901), Line and Column count from 1.
// Attribute is that of an event (CE-57), Severity that of a finding in a document;
// File, Group and Mutation are places in a mutation delivery, from 1.
type ProblemError struct {
	Index     *int   `json:"index,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Pointer   string `json:"pointer,omitempty"`
	File      string `json:"file,omitempty"`
	Group     int64  `json:"group,omitempty"`
	Mutation  int    `json:"mutation,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Severity  string `json:"severity,omitempty"`
	Code      string `json:"code,omitempty"`
	Detail    string `json:"detail"`
}

// problemPublication is a publication of mutations that ended before its end, and how
// many of its groups are in.
type problemPublication struct {
	ID     string `json:"id"`
	Groups int64  `json:"groups"`
}

// Error implements error, so that a handler can return a Problem it made itself.
func (p *Problem) Error() string { return strconv.Itoa(p.Status) + " " + p.Detail }

// with adds a header to the answer.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// noType is the type of a problem that no page explains.
const noType = "about:blank"

// newProblem makes a problem that a handler returns.
func newProblem(status int, code, detail string) *Problem {
	return &Problem{Type: noType, Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// retryLater is a problem that passes by itself.
func retryLater(status int, code, detail string, after time.Duration) *Problem {
	seconds := max(1, int((after+time.Second-1)/time.Second))
	return newProblem(status, code, detail).with("Retry-After", strconv.Itoa(seconds))
}

// problemType is the media type of a Problem (RFC 9457).
const problemType = "application/problem+json"

// statusClientGone marks in the log that the client went away; it never arrives.
const statusClientGone = 499

// problemOf is the one place that turns errors into answers.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return registryProblem(e)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, "too-large",
			"The body may hold at most "+strconv.FormatInt(e.Limit, 10)+" bytes.")
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return echoProblem(e)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return newProblem(http.StatusNotFound, "not-found", "There is nothing here, or it is not yours to see.")
	case errors.Is(err, store.ErrConflict):
		return newProblem(http.StatusConflict, "conflict", "It changed meanwhile, or something with the same identity exists. Look at it again and retry.")
	case errors.Is(err, context.Canceled):
		return newProblem(statusClientGone, "client-gone", "The request was broken off.")
	case errors.Is(err, context.DeadlineExceeded):
		p := retryLater(http.StatusServiceUnavailable, "timeout", "This took too long. Try again in a moment.", 5*time.Second)
		p.logged = true
		return p
	case store.Away(err):
		p := retryLater(http.StatusServiceUnavailable, "unavailable", "A part of Schakel that this needs does not answer now. Try again in a moment.", 5*time.Second)
		p.logged = true
		return p
	}
	p := newProblem(http.StatusInternalServerError, "internal", "Something went wrong on our side.")
	p.logged = true
	return p
}

// echoProblem keeps the message of errors made here; echo's own are only a title.
func echoProblem(e *echo.HTTPError) *Problem {
	p := newProblem(e.Code, "", http.StatusText(e.Code)+".")
	if text, ok := e.Message.(string); ok && text != http.StatusText(e.Code) {
		p.Detail = text
		return p
	}
	switch e.Code {
	case http.StatusNotFound:
		p.Code, p.Detail = "not-found", "There is nothing at this address."
	case http.StatusMethodNotAllowed:
		p.Code, p.Detail = "method-not-allowed", "This address does not take that method; the Allow header says which it does."
	}
	return p
}

func badForm(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	return echo.NewHTTPError(http.StatusBadRequest, "The form cannot be read.").SetInternal(err)
}

// handleError is echo's error handler: problem+json for the APIs, a page for people.
func (a *App) handleError(err error, c echo.Context) {
	p := problemOf(err)
	if p.logged {
		a.logFailure(c, err)
	}
	if c.Response().Committed {
		return
	}
	drainBody(c)
	for name, values := range p.header {
		c.Response().Header()[name] = values
	}
	if _, api := apiArea(c.Request().URL.Path); api {
		err = a.writeProblem(c, *p)
	} else {
		err = a.errorPage(c, p)
	}
	if err != nil {
		a.logFailure(c, err)
	}
}

// logFailure writes an error that is ours to look at, under the id of the request.
func (a *App) logFailure(c echo.Context, err error) {
	a.cfg.Log.LogAttrs(c.Request().Context(), slog.LevelError, "request failed",
		slog.String("id", requestIDOf(c)), slog.String("route", c.Path()), slog.Any("error", err))
}

func (a *App) writeProblem(c echo.Context, p Problem) error {
	if p.logged {
		p.Instance = "urn:schakel:" + requestIDOf(c)
	}
	body, err := json.Marshal(a.typed(p))
	if err != nil {
		return err
	}
	return c.Blob(p.Status, problemType, body)
}
