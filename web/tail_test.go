package web

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

// stream reads server-sent events of a live tail over a real connection.
type stream struct {
	t     testing.TB
	lines *bufio.Reader
	close func()
}

// listen opens a live tail as a browser does; an answer that is no stream is nil, with its status.
func (w *queueWorld) listen(b *browser, server *httptest.Server, path string) (*stream, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody))(w.t)
	r.Host = w.app.Cfg.BaseURL.Host
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer := must(client.Do(r))(w.t)
	end := func() { cancel(); _ = answer.Body.Close() }
	w.t.Cleanup(end)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		end()
		return nil, answer.StatusCode
	}
	return &stream{w.t, bufio.NewReader(answer.Body), end}, http.StatusOK
}

// next reads the next event; "" with no name when the stream ended.
func (s *stream) next() (name, data string) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", ""
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && name != "":
			return name, data
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			data += line[6:] + "\n"
		}
	}
}

// A live tail sends what its filter selects when it changes, to a partner its own deliveries alone (guarantee G7), and ends when the reader
// logs out or the program stops. Nobody has more than a few.
func TestLiveTail(t *testing.T) {
	t.Parallel()
	draining := make(chan struct{})
	w := newQueueWorld(t)
	w.app.Cfg.Draining = draining
	server := httptest.NewServer(w.app.Handler())
	t.Cleanup(server.Close)
	mine, _ := w.listen(w.first.browser, server, "/partner/deliveries/live/stream?status=dead")
	all, _ := w.listen(w.admin, server, "/admin/deliveries/live/stream?")
	if mine == nil || all == nil {
		t.Fatal("no streams")
	}
	for _, s := range []*stream{mine, all} {
		if name, data := s.next(); name != "rows" || !strings.Contains(data, "No delivery matches this filter yet") {
			t.Errorf("%s %s", name, data)
		}
	}
	theirs := w.dead(w.other)
	if name, data := all.next(); name != "rows" || !strings.Contains(data, theirs.ID) {
		t.Errorf("%s %s", name, data)
	}
	dead := w.dead(w.first)
	if name, data := mine.next(); name != "rows" || !strings.Contains(data, dead.ID) || strings.Contains(data, theirs.ID) {
		t.Errorf("%s %s", name, data)
	}
	if name, data := all.next(); name != "rows" || !strings.Contains(data, dead.ID) || strings.Contains(data, "/resend") {
		t.Errorf("%s %s", name, data)
	}
	for range 2 {
		if s, status := w.listen(w.admin, server, "/admin/errors/live/stream"); s == nil {
			t.Errorf("status %d", status)
		}
	}
	if s, status := w.listen(w.admin, server, "/admin/errors/live/stream"); s != nil || status != http.StatusTooManyRequests {
		t.Errorf("one too many: %d", status)
	}
	for path, want := range map[string]int{
		"/admin/deliveries/live/stream": http.StatusForbidden, "/partner/deliveries/live/stream?from=never": http.StatusUnprocessableEntity,
	} {
		if _, status := w.listen(w.first.browser, server, path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	if _, status := w.listen(w.browser(), server, "/partner/deliveries/live/stream"); status != http.StatusSeeOther {
		t.Errorf("a visitor: %d", status)
	}

	leaving := *w.first.browser
	wantStatus(t, leaving.post("/logout", nil), http.StatusSeeOther)
	if name, _ := mine.next(); name != "ended" {
		t.Errorf("%q after the logout", name)
	}
	if name, _ := mine.next(); name != "" {
		t.Errorf("%q after the end", name)
	}
	w.write(func(tx *store.Tx) error { return nil })
	close(draining)
	if name, _ := all.next(); name != "" {
		t.Errorf("%q while the program stops", name)
	}
}

// The page of a live tail shows the newest deliveries of its filter without a script too, and says so; the list leads to it.
func TestLiveTailPage(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	dead := w.dead(w.first)
	w.deliver(w.event(event.DataNone, ""), w.first)
	wantWords(t, text(w.first.browser.get("/partner/deliveries?status=dead")), `href="/partner/deliveries/live?status=dead"`)
	page := text(w.first.browser.get("/partner/deliveries/live?status=dead"))
	wantWords(t, page, dead.ID, `data-tail="/partner/deliveries/live/stream?status=dead"`, `<noscript>`, "refresh the page to see the newest ones", `href="/partner/deliveries?status=dead"`)
	if rowsListed(t, w.first.browser, "/partner/deliveries/live?status=dead") != 1 {
		t.Error("the page lists others")
	}
	wantStatus(t, w.first.browser.get("/partner/deliveries/live?from=never"), http.StatusUnprocessableEntity)
}
