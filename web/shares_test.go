package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
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
	for range uploadsPerPartner {
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
