package web

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/web/site"
)

// stalled is a body that tells when its reading begins, and waits.
type stalled struct {
	begun, more chan struct{}
	once        sync.Once
	rest        io.Reader
}

// Read implements io.Reader.
func (s *stalled) Read(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.more
	return s.rest.Read(p)
}

// TestUploadsOfAPartnerAreFew keeps the clients of one partner from filling the memory with documents.
func TestUploadsOfAPartnerAreFew(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	const target = "/registry/v1/validations"
	partner := h.newPartner(t, "School").ID
	client, second := h.consumer(t, partner), h.consumer(t, partner)
	release, done := make(chan struct{}), sync.WaitGroup{}
	for range site.UploadsPerPartner {
		body := &stalled{begun: make(chan struct{}), more: release, rest: strings.NewReader(sampleContract)}
		done.Go(func() {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+target, body)
			r.Header.Set("Authorization", "Bearer "+client.token)
			r.Header.Set("Content-Type", "application/yaml")
			w := httptest.NewRecorder()
			h.app.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("answer %d: %s", w.Code, w.Body)
			}
		})
		<-body.begun
	}
	for _, c := range []*apiClient{client, second} {
		answer := c.do(t, http.MethodPost, target, sampleContract, "Content-Type", "application/yaml")
		if answer.problem(t, http.StatusTooManyRequests, "too-many-uploads"); answer.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	h.writer(t).do(t, http.MethodPost, target, sampleContract, "Content-Type", "application/yaml").want(t, http.StatusOK)
	close(release)
	done.Wait()
	second.do(t, http.MethodPost, target, sampleContract, "Content-Type", "application/yaml").want(t, http.StatusOK)
}

// TestTurns has publications of one partner wait for each other, the first that may go on after one has ended; who waits too
// long, or behind too many, is refused.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := site.NewShares(1)
		if !s.Wait(t.Context(), "a", site.MaxTurnWait) || !s.Wait(t.Context(), "b", site.MaxTurnWait) {
			t.Fatal("no room for the first")
		}
		var granted, refused atomic.Int64
		for range site.MaxWaitingTurns {
			go func() {
				if s.Wait(t.Context(), "a", site.MaxTurnWait) {
					granted.Add(1)
				} else {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if s.Wait(t.Context(), "a", site.MaxTurnWait) {
			t.Error("one too many was not refused")
		}
		for n := range 3 {
			s.Give("a")
			synctest.Wait()
			if granted.Load() != int64(n+1) {
				t.Errorf("%d granted, want %d", granted.Load(), n+1)
			}
		}
		time.Sleep(site.MaxTurnWait)
		synctest.Wait()
		if granted.Load() != 3 || refused.Load() != site.MaxWaitingTurns-3 || len(s.Turns) != 0 {
			t.Errorf("%d granted, %d refused, %v wait", granted.Load(), refused.Load(), s.Turns)
		}
	})
}

// TestPublishersTakeTurns publishes from more clients at once than may: each gets in.
func TestPublishersTakeTurns(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	release, done := make(chan struct{}), sync.WaitGroup{}
	publish := func(body io.Reader) {
		r := httptest.NewRequest(http.MethodPost, apiTestBase+groupsPath, body)
		r.Header.Set("Authorization", "Bearer "+w.publisher.token)
		r.Header.Set("Content-Type", "application/xml")
		r.Header.Set("Idempotency-Key", freshKey())
		answer := httptest.NewRecorder()
		w.app.Handler().ServeHTTP(answer, r)
		if answer.Code != http.StatusCreated {
			t.Errorf("answer %d: %s", answer.Code, answer.Body)
		}
	}
	for range site.UploadsPerPartner {
		body := &stalled{begun: make(chan struct{}), more: release, rest: bytes.NewReader(w.file(t, format.Delta, w.groups(0)))}
		done.Go(func() { publish(body) })
		<-body.begun
	}
	for range 5 {
		done.Go(func() { publish(bytes.NewReader(w.file(t, format.Delta, nil))) })
	}
	close(release)
	done.Wait()
}

// TestCountsOfAPartnerAreFew keeps the people and clients of one partner from having the database count all day; others
// go on.
func TestCountsOfAPartnerAreFew(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	partner := h.newPartner(t, "School").ID
	client, other := h.consumer(t, partner), h.consumer(t, h.newPartner(t, "Other").ID)
	for range site.CountsPerPartner {
		if !h.app.Counts.Take(partner) {
			t.Fatal("no room for the first counts")
		}
	}
	for _, target := range []string{"/events/v1/resends", "/events/v1/resend-previews"} {
		if answer := client.postJSON(t, target, "{}"); answer.problem(t, http.StatusTooManyRequests, "too-many-counts").Status == 0 || answer.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		if answer := other.postJSON(t, target, "{}"); answer.status >= 300 {
			t.Errorf("another partner: %s", answer.body)
		}
	}
	h.app.Counts.Give(partner)
	client.postJSON(t, "/events/v1/resend-previews", "{}").want(t, http.StatusOK)
}

func TestCountsInThePortalAreFew(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for range site.CountsPerPartner {
		w.app.Counts.Take(w.first.id)
	}
	for _, path := range []string{"/partner/deliveries/all", "/partner/replays?endpoint=" + w.first.endpoint} {
		answer := w.first.browser.get(path)
		wantStatus(t, answer, http.StatusTooManyRequests)
		if answer.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		wantWords(t, text(answer), "other counts")
		wantStatus(t, w.admin.get(strings.Replace(path, "/partner", "/admin", 1)), http.StatusOK)
	}
	wantStatus(t, w.first.browser.post("/partner/replays", url.Values{"endpoint": {w.first.endpoint}}), http.StatusTooManyRequests)
	wantStatus(t, w.first.browser.post("/partner/deliveries/all", url.Values{}), http.StatusTooManyRequests)
	w.app.Counts.Give(w.first.id)
	wantStatus(t, w.first.browser.get("/partner/deliveries/all"), http.StatusOK)
}
