package site

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

// RecordedAnswer is an answer that was not sent yet, because what it tells may
// still fail to become durable.
type RecordedAnswer struct {
	Status int
	Header http.Header // what the handler set, such as Location and ETag
	Body   []byte
}

// Record runs a handler and keeps its answer back. A refusal that is an answer of
// its own is recorded too; other errors are returned.
func (a *App) Record(c echo.Context, next echo.HandlerFunc) (*RecordedAnswer, error) {
	response := c.Response()
	sent, before := response.Writer, response.Header().Clone()
	held := &bufferedAnswer{header: response.Header().Clone()}
	response.Writer = held
	// Also when the handler panics: what that is answered must arrive.
	defer func() {
		response.Writer, response.Committed, response.Size, response.Status = sent, false, 0, http.StatusOK
	}()
	err := next(c)
	if err != nil {
		return a.recordProblem(c, err)
	}
	maps.DeleteFunc(held.header, func(name string, values []string) bool { return slices.Equal(before[name], values) })
	return &RecordedAnswer{Status: held.status, Header: held.header, Body: held.body.Bytes()}, nil
}

// recordProblem is the answer to an error that a repeated request would meet again.
func (a *App) recordProblem(c echo.Context, err error) (*RecordedAnswer, error) {
	p := ProblemOf(err)
	got := &RecordedAnswer{Status: p.Status, Header: p.Header.Clone()}
	if p.Logged || !got.Completed() {
		return nil, err
	}
	if got.Header == nil {
		got.Header = http.Header{}
	}
	got.Header.Set("Content-Type", problemType)
	got.Body, err = json.Marshal(a.typed(*p).in(APILocale(c)))
	return got, err
}

// Completed reports whether an answer is the final outcome of the request, to be stored: a
// success, or a refusal that stays the same. What may pass by itself is not: a
// token, a grant, a time-out, a conflict, a rate or a failure of ours (E17, IDEM-I07).
func (a *RecordedAnswer) Completed() bool {
	switch a.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return a.Status >= 200 && a.Status <= 299
}

// Send sends the answer.
func (a *RecordedAnswer) Send(c echo.Context) error {
	maps.Copy(c.Response().Header(), a.Header)
	c.Response().WriteHeader(a.Status)
	if len(a.Body) == 0 {
		return nil
	}
	_, err := c.Response().Write(a.Body)
	return err
}

// bufferedAnswer is a ResponseWriter that buffers the whole answer.
type bufferedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *bufferedAnswer) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *bufferedAnswer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements io.Writer.
func (h *bufferedAnswer) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(p)
}
