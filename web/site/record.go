package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

// recordedAnswer is an answer that was not sent yet, because what it tells may
// still fail to become durable.
type recordedAnswer struct {
	status int
	header http.Header // what the handler set, such as Location and ETag
	body   []byte
}

// record runs a handler and keeps its answer back. A refusal that is an answer of
// its own is recorded too; other errors are returned.
func (a *App) record(c echo.Context, next echo.HandlerFunc) (*recordedAnswer, error) {
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
		return a.recordProblem(err)
	}
	maps.DeleteFunc(held.header, func(name string, values []string) bool { return slices.Equal(before[name], values) })
	return &recordedAnswer{status: held.status, header: held.header, body: held.body.Bytes()}, nil
}

// recordProblem is the answer to an error that a repeated request would meet again.
func (a *App) recordProblem(err error) (*recordedAnswer, error) {
	p := problemOf(err)
	got := &recordedAnswer{status: p.Status, header: p.header.Clone()}
	if p.logged || !got.completed() {
		return nil, err
	}
	if got.header == nil {
		got.header = http.Header{}
	}
	got.header.Set("Content-Type", problemType)
	got.body, err = json.Marshal(a.typed(*p))
	return got, err
}

// completed reports whether an answer is the final outcome of the request, to be stored: a
// success, or a refusal that stays the same. What may pass by itself is not: a
// token, a grant, a time-out, a conflict, a rate or a failure of ours (E17, IDEM-I07).
func (a *recordedAnswer) completed() bool {
	switch a.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return a.status >= 200 && a.status <= 299
}

// send sends the answer.
func (a *recordedAnswer) send(c echo.Context) error {
	maps.Copy(c.Response().Header(), a.header)
	c.Response().WriteHeader(a.status)
	if len(a.body) == 0 {
		return nil
	}
	_, err := c.Response().Write(a.body)
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
