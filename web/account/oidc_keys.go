package account

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// providerKeysAge bounds the time for which the keys that a provider gave last check logout tokens. Anybody can send one that no key signed, and
// each would make us ask the provider.
const providerKeysAge = time.Minute

// maxProviderKeys bounds the keys of a provider, in bytes.
const maxProviderKeys = 1 << 20

// keptKeys is an http.RoundTripper that answers from what a provider answered less than providerKeysAge ago. It is safe for concurrent use.
type keptKeys struct {
	next http.RoundTripper
	now  func() time.Time

	mu     sync.Mutex
	at     time.Time
	answer http.Response
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (k *keptKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := k.now().Sub(k.at); k.body == nil || age < 0 || age >= providerKeysAge {
		answer, err := k.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(io.LimitReader(answer.Body, maxProviderKeys))
		if err != nil {
			return nil, fmt.Errorf("read keys of OpenID provider: %w", err)
		}
		if answer.StatusCode != http.StatusOK { // it may have keys the next time
			answer.Body = io.NopCloser(bytes.NewReader(body))
			return answer, nil
		}
		k.at, k.answer, k.body = k.now(), *answer, body
	}
	again := k.answer
	again.Header, again.Body, again.Request = k.answer.Header.Clone(), io.NopCloser(bytes.NewReader(k.body)), r
	return &again, nil
}

// keysClient is the client that asks for the keys of logout tokens.
func (l *oidcLogin) keysClient(now func() time.Time) *http.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		next := l.Cfg.HTTP.Transport
		if next == nil {
			next = http.DefaultTransport
		}
		l.keys = &keptKeys{next: next, now: now}
	}
	client := *l.Cfg.HTTP
	client.Transport = l.keys
	return &client
}
