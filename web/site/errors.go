package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/trace"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Problem is an answer of an API that is not a success (RFC 9457, as the NL API
// Design Rules ask). Detail advises what to do about it.
type Problem struct {
	Type     string         `json:"type"`
	Title    i18n.Message   `json:"title"`
	Status   int            `json:"status"`
	Detail   i18n.Message   `json:"detail"`
	Code     string         `json:"code,omitempty"`
	Instance string         `json:"instance,omitempty"`
	Errors   []ProblemError `json:"errors,omitempty"`
	// Publication counts the groups of a publication that are stored.
	Publication *ProblemPublication `json:"publication,omitempty"`

	Header http.Header `json:"-"`
	// Logged is set when the cause is ours to look at.
	Logged bool `json:"-"`
}

// ProblemError is one thing wrong with what was sent. Index counts from 0 in a
// batch; Pointer is a JSON pointer (RFC 6901), Line and Column count from 1.
// Attribute is that of an event (CE-57), Severity that of a finding in a document;
// File, Group and Mutation are places in a mutation delivery, from 1.
type ProblemError struct {
	Index     *int         `json:"index,omitempty"`
	Attribute string       `json:"attribute,omitempty"`
	Pointer   string       `json:"pointer,omitempty"`
	File      string       `json:"file,omitempty"`
	Group     int64        `json:"group,omitempty"`
	Mutation  int          `json:"mutation,omitempty"`
	Line      int          `json:"line,omitempty"`
	Column    int          `json:"column,omitempty"`
	Severity  string       `json:"severity,omitempty"`
	Code      string       `json:"code,omitempty"`
	Detail    i18n.Message `json:"detail"`
}

// ProblemPublication is a publication of mutations that ended before its end, and how
// many of its groups are in.
type ProblemPublication struct {
	ID     string `json:"id"`
	Groups int64  `json:"groups"`
}

// Error implements error, so that a handler can return a Problem it made itself.
func (p *Problem) Error() string { return strconv.Itoa(p.Status) + " " + p.Detail.String() }

// With adds a header to the answer.
func (p *Problem) With(name, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(name, value)
	return p
}

// noType is the type of a problem that no page explains.
const noType = "about:blank"

// NewProblem makes a problem that a handler returns.
func NewProblem(status int, code string, detail i18n.Message) *Problem {
	return &Problem{Type: noType, Title: statusTitle(status), Status: status, Code: code, Detail: detail}
}

// RetryLater is a problem that passes by itself.
func RetryLater(status int, code string, detail i18n.Message, after time.Duration) *Problem {
	seconds := max(1, int((after+time.Second-1)/time.Second))
	return NewProblem(status, code, detail).With("Retry-After", strconv.Itoa(seconds))
}

// problemType is the media type of a Problem (RFC 9457).
const problemType = "application/problem+json"

// StatusClientGone marks in the log that the client went away; it never arrives.
const StatusClientGone = 499

// ProblemOf is the one place that turns errors into answers.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return RegistryProblem(e)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewProblem(http.StatusRequestEntityTooLarge, "too-large",
			i18n.M("site.body-too-large", e.Limit))
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return echoProblem(e)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return NewProblem(http.StatusNotFound, "not-found", "site.not-found")
	case errors.Is(err, store.ErrConflict):
		return NewProblem(http.StatusConflict, "conflict", "site.conflict")
	case errors.Is(err, context.Canceled):
		return NewProblem(StatusClientGone, "client-gone", "site.broken-off")
	case errors.Is(err, context.DeadlineExceeded):
		p := RetryLater(http.StatusServiceUnavailable, "timeout", "site.timeout", 5*time.Second)
		p.Logged = true
		return p
	case store.Away(err):
		p := RetryLater(http.StatusServiceUnavailable, "unavailable", "site.unavailable", 5*time.Second)
		p.Logged = true
		return p
	}
	p := NewProblem(http.StatusInternalServerError, "internal", "site.internal")
	p.Logged = true
	return p
}

// echoProblem keeps the message of errors made here; echo's own are only a title.
func echoProblem(e *echo.HTTPError) *Problem {
	p := NewProblem(e.Code, "", i18n.M("site.sentence", statusTitle(e.Code)))
	if text, ok := e.Message.(i18n.Message); ok {
		p.Detail = text
		return p
	}
	if text, ok := e.Message.(string); ok && text != http.StatusText(e.Code) {
		p.Detail = i18n.Message(text)
		return p
	}
	switch e.Code {
	case http.StatusNotFound:
		p.Code, p.Detail = "not-found", "site.no-address"
	case http.StatusMethodNotAllowed:
		p.Code, p.Detail = "method-not-allowed", "site.method-not-allowed"
	}
	return p
}

// BadForm answers a form that cannot be read with 400, and one over its limit as such.
func BadForm(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	return echo.NewHTTPError(http.StatusBadRequest, "site.form-unreadable").SetInternal(err)
}

// contextProblem is the key of the code of the refusal that a request got, for its line in the log.
const contextProblem = "problem"

// handleError is echo's error handler: problem+json for the APIs, a page for people.
func (a *App) handleError(err error, c echo.Context) {
	p := ProblemOf(err)
	c.Set(contextProblem, cmp.Or(p.Code, strconv.Itoa(p.Status)))
	if p.Logged {
		a.LogFailure(c, err)
	}
	if c.Response().Committed {
		return
	}
	drainBody(c)
	for name, values := range p.Header {
		c.Response().Header()[name] = values
	}
	if _, api := FindAPI(c.Request().URL.Path); api {
		err = a.writeProblem(c, *p)
	} else {
		err = a.errorPage(c, p)
	}
	if err != nil {
		a.LogFailure(c, err)
	}
}

// traced is the trace-id of the span of the request, or else of the header traceparent, which joins a line of the log to the traces of the
// caller; no attribute without one.
func traced(c echo.Context) slog.Attr {
	if id := cmp.Or(trace.From(c.Request().Context()).TraceID(), trace.ID(c.Request().Header.Get("Traceparent"))); id != "" {
		return slog.String("trace_id", id)
	}
	return slog.Attr{}
}

// LogFailure writes an error that is ours to look at, under the id of the request.
func (a *App) LogFailure(c echo.Context, err error) {
	a.Cfg.Log.LogAttrs(c.Request().Context(), slog.LevelError, "request failed",
		slog.String("id", RequestIDOf(c)), slog.String("route", c.Path()), slog.Any("error", err), traced(c))
}

func (a *App) writeProblem(c echo.Context, p Problem) error {
	if p.Logged {
		p.Instance = "urn:schakel:" + RequestIDOf(c)
	}
	locale := APILocale(c)
	body, err := json.Marshal(a.typed(p).in(locale))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Language", string(locale.Lang))
	c.Response().Header().Add("Vary", "Accept-Language")
	return c.Blob(p.Status, problemType, body)
}

// Coded is the error under another code.
func (e ProblemError) Coded(code string) ProblemError {
	e.Code = code
	return e
}

// FieldProblem is a 400 about one query key or member.
func FieldProblem(name string, text i18n.Message) error {
	p := NewProblem(http.StatusBadRequest, "invalid", "site.mend-errors")
	p.Errors = []ProblemError{{Pointer: "/" + name, Code: "invalid", Detail: i18n.M("site.sentence", text)}}
	return p
}

// statusTitle is the text of a status of HTTP.
func statusTitle(status int) i18n.Message {
	if name := strconv.Itoa(status); i18n.Has("site.status", name) {
		return i18n.Word("site.status", name)
	}
	return i18n.Raw(http.StatusText(status))
}

// in is the problem with its texts written for one reader.
func (p Problem) in(l *i18n.Locale) Problem {
	p.Title, p.Detail = i18n.Message(l.Text(p.Title)), i18n.Message(l.Text(p.Detail))
	p.Errors = slices.Clone(p.Errors)
	for i := range p.Errors {
		p.Errors[i].Detail = i18n.Message(l.Text(p.Errors[i].Detail))
	}
	return p
}
