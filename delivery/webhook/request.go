package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// requestCache holds, by endpoint, the request that goes to its URL, but for header and body: parsing a URL again for each
// delivery costs as much as encoding its event.
type requestCache struct {
	mu         sync.Mutex
	byEndpoint map[string]preparedRequest
}

// preparedRequest is an empty request to a URL, or the error of making it.
type preparedRequest struct {
	url     string
	request *http.Request
	err     error
}

// request makes a POST to a target. The caller sets its context and header.
func (t *requestCache) request(to Target, body []byte) (*http.Request, error) {
	m := t.of(to)
	if m.err != nil {
		return nil, m.err
	}
	req := *m.request
	req.ContentLength = int64(len(body))
	// The transport asks for the body again when a connection turns out to be closed before anything was answered.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	if len(body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	return &req, nil
}

func (t *requestCache) of(to Target) preparedRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.byEndpoint[to.EndpointID]
	if !ok || m.url != to.URL {
		m.url = to.URL
		m.request, m.err = http.NewRequestWithContext(context.Background(), http.MethodPost, to.URL, http.NoBody)
		t.byEndpoint[to.EndpointID] = m
	}
	return m
}

func (t *requestCache) forget(endpointID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byEndpoint, endpointID)
}
