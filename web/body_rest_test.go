package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/registry/identity"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// newServed is the harness behind a real server, whose deadlines are by the real clock: that of the harness is ahead of it.
func newServed(t *testing.T, change func(*api.Config)) (*apiHarness, *httptest.Server) {
	t.Helper()
	clock := storetest.NewClock()
	clock.Advance(time.Since(clock.Now()) + time.Hour)
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, change)
	server := httptest.NewServer(h.app.Handler())
	t.Cleanup(server.Close)
	return h, server
}

// sendAll sends a request as a plain client does: all of the body first, and then it reads. What is over the limit of the
// kernel's buffers breaks where the server does not read it.
func sendAll(t *testing.T, server *httptest.Server, head string, size int) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	noError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	noError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = fmt.Fprintf(conn, "%sHost: schakel.example.nl\r\nContent-Length: %d\r\n\r\n", head, size)
	noError(t, err)
	if n, err := io.CopyN(conn, strings.NewReader(strings.Repeat(" ", size)), int64(size)); err != nil {
		t.Fatalf("broke off after %d bytes of %d: %v", n, size, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	noError(t, err)
	_, err = io.ReadAll(answer.Body)
	noError(t, err)
	return answer
}

// A client whose large body is refused gets to read why, whatever the reason.
// Rules: CE-32.
func TestRefusalOfALargeBodyArrives(t *testing.T) {
	t.Parallel()
	h, server := newServed(t, func(cfg *api.Config) { cfg.DocumentBytes = 1 << 20 })
	reader, publisher, writer := h.consumer(t, h.newPartner(t, "Reader").ID), h.publisher(t, h.newPartner(t, "Publisher").ID), h.writer(t)
	const upload, intake = "POST /registry/v1/contracts/some/versions HTTP/1.1\r\nContent-Type: application/json\r\n", "POST /events/v1/events HTTP/1.1\r\nContent-Type: " + event.MediaType + "\r\n"
	with := func(c *apiClient) string {
		return "Authorization: Bearer " + c.token + "\r\nIdempotency-Key: " + freshKey() + "\r\n"
	}
	const size = 12 << 20
	for _, tt := range []struct {
		name, head string
		status     int
	}{
		{"upload without a token", upload, 401},
		{"upload without the scope", upload + with(reader), 403},
		{"upload that is too large", upload + with(writer), 413},
		{"validation that is too large", "POST /registry/v1/validations HTTP/1.1\r\nContent-Type: application/json\r\n" + with(reader), 413},
		{"events without a token", intake, 401},
		{"events without the scope", intake + with(reader), 403},
		{"events without a key", intake + "Authorization: Bearer " + publisher.token + "\r\n", 400},
		{"events that are too large", intake + with(publisher), 413},
		{"no such address", "POST /registry/v1/nothing HTTP/1.1\r\n", 404},
		{"a page", "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n", 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := sendAll(t, server, tt.head, size); got.StatusCode != tt.status {
				t.Errorf("status %d, want %d", got.StatusCode, tt.status)
			}
		})
	}
}

// The same while other uploads of the partner are under way.
func TestRefusalOfOneUploadTooManyArrives(t *testing.T) {
	t.Parallel()
	h, server := newServed(t, nil)
	partner := h.newPartner(t, "School").ID
	client := h.newClient(t, partner, identity.NewClient{Scopes: []string{site.ScopeRegistryRead}})
	release, done := make(chan struct{}), sync.WaitGroup{}
	for range site.UploadsPerPartner {
		body := &stalled{begun: make(chan struct{}), more: release, rest: strings.NewReader(sampleContract)}
		done.Go(func() {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+"/registry/v1/validations", body)
			r.Header.Set("Authorization", "Bearer "+client.token)
			r.Header.Set("Content-Type", "application/yaml")
			h.app.Handler().ServeHTTP(httptest.NewRecorder(), r)
		})
		<-body.begun
	}
	answer := sendAll(t, server, "POST /registry/v1/validations HTTP/1.1\r\nContent-Type: application/yaml\r\nAuthorization: Bearer "+client.token+"\r\n", 12<<20)
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", answer.StatusCode, answer.Header)
	}
	close(release)
	done.Wait()
}
