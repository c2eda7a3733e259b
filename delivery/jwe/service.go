package jwe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
)

// Ages of a set that was fetched.
const (
	refetchAfter = 15 * time.Minute // a key that its owner took away is used for so long
	retryAfter   = time.Minute      // between two requests to an address that fails
	staleAfter   = 24 * time.Hour   // for so long known keys serve while their address fails
	fetchTime    = 10 * time.Second
	mostCached   = 2000 // entries, after which all are read anew
)

// Config configures a Service. Every field must be set.
type Config struct {
	HTTP      *http.Client // decides where requests may go, and follows no redirect
	AllowHTTP bool         // addresses without TLS, in demonstrations
	// Open unseals the seed of a subscription.
	Open func(sealed string) ([]byte, error)
	Now  func() time.Time
}

// Service encrypts events with the keys of their recipients, which it caches. It is safe for concurrent use.
type Service struct {
	cfg        Config
	mu         sync.Mutex
	recipients map[string]*recipient // by what the subscription says
	seeds      map[string][]byte     // by what is sealed
}

var errNothing = errors.New("there is nothing to encrypt with")

// New makes a Service.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// recipient holds the keys of a receiver as they were read last.
type recipient struct {
	mu     sync.Mutex
	keys   []Key
	goodAt time.Time
	askAt  time.Time // when the address is asked again
	err    error
}

// IsAddress reports whether a recipient is the address of a set of keys, and not a set.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// Encrypt returns an event with its data encrypted: text of type application/jose whose header names the type that it had (cty). An event
// without data stays as it is. The error is a *Problem where the recipient can mend it; then nothing may be sent.
func (s *Service) Encrypt(ctx context.Context, e *store.Encryption, id string, ev *event.Event) (event.Event, error) {
	if ev.DataKind == event.DataNone {
		return *ev, nil
	}
	data, err := s.EncryptData(ctx, e, id, ev.DataType(), ev.Data)
	if err != nil {
		return event.Event{}, err
	}
	return ev.WithText(MediaType, data)
}

// EncryptData is Encrypt for data of a media type.
func (s *Service) EncryptData(ctx context.Context, e *store.Encryption, id, mediaType string, data []byte) ([]byte, error) {
	key, err := s.Key(ctx, e.Recipient)
	if err != nil {
		return nil, err
	}
	seed, err := s.seed(e.Seed)
	if err != nil {
		return nil, fmt.Errorf("open the secret of the encryption: %w", err)
	}
	return key.Encrypt(seed, id, mediaType, data)
}

// Key finds the key that events to a recipient are encrypted with now: the first of the set that has not expired.
func (s *Service) Key(ctx context.Context, text string) (Key, error) {
	if s == nil {
		return Key{}, errNothing
	}
	r := s.recipient(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.cfg.Now()
	if !IsAddress(text) {
		if r.keys == nil && r.err == nil {
			r.keys, r.err = ReadKeys([]byte(text))
		}
		if r.err != nil {
			return Key{}, r.err
		}
		return Choose(r.keys, now)
	}
	if !now.Before(r.askAt) || now.Before(r.goodAt) { // the clock may have been set back
		s.refetch(ctx, r, text, now)
	}
	if r.keys == nil || r.err != nil && now.Sub(r.goodAt) >= staleAfter {
		return Key{}, transient(r.err)
	}
	key, err := Choose(r.keys, now)
	return key, transient(err)
}

func transient(err error) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return &Problem{Message: p.Message, Transient: true}
	}
	return err
}

// refetch reads the set behind an address. What was known stays when it fails.
func (s *Service) refetch(ctx context.Context, r *recipient, address string, now time.Time) {
	// The set serves all that waits for it, also when who asked first gives up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	keys, err := s.fetch(ctx, address)
	if err != nil {
		r.err, r.askAt = err, now.Add(retryAfter)
		return
	}
	r.keys, r.err, r.goodAt, r.askAt = keys, nil, now, now.Add(refetchAfter)
}

func (s *Service) fetch(ctx context.Context, address string) ([]Key, error) {
	if !s.cfg.AllowHTTP && !strings.HasPrefix(address, "https://") {
		return nil, problem("jwe.problem.no-https")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, problem(i18n.M("jwe.problem.unreachable", address, err.Error()))
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := s.cfg.HTTP.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // its text begins with the address once more
			err = wrapped.Err
		}
		return nil, problem(i18n.M("jwe.problem.unreachable", address, err.Error()))
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return nil, problem(i18n.M("jwe.problem.status", address, answer.StatusCode))
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxSetBytes+1))
	if err != nil {
		return nil, problem(i18n.M("jwe.problem.unreachable", address, err.Error()))
	}
	return ReadKeys(raw)
}

func (s *Service) recipient(text string) *recipient {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recipients == nil || len(s.recipients) >= mostCached {
		s.recipients = make(map[string]*recipient)
	}
	r := s.recipients[text]
	if r == nil {
		r = new(recipient)
		s.recipients[text] = r
	}
	return r
}

func (s *Service) seed(sealed string) ([]byte, error) {
	s.mu.Lock()
	seed, ok := s.seeds[sealed]
	s.mu.Unlock()
	if ok {
		return seed, nil
	}
	seed, err := s.cfg.Open(sealed)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seeds == nil || len(s.seeds) >= mostCached {
		s.seeds = make(map[string][]byte)
	}
	s.seeds[sealed] = seed
	return seed, nil
}

// Check tidies whom data is encrypted for, as it was typed: a JWK, a JWK set, or the address of one, from which the set is fetched. wrong explains
// why it cannot be used now.
func (s *Service) Check(ctx context.Context, text string) (tidy string, wrong i18n.Message) {
	text = strings.TrimSpace(text)
	if !IsAddress(text) {
		var compacted bytes.Buffer
		if json.Compact(&compacted, []byte(text)) != nil {
			return text, "jwe.problem.not-json"
		}
		text = compacted.String()
	}
	if len(text) > maxSetBytes {
		return text, i18n.M("jwe.problem.too-long", maxSetBytes>>10)
	}
	s.forget(text)
	if _, err := s.Key(ctx, text); err != nil {
		if p, ok := errors.AsType[*Problem](err); ok {
			return text, p.Message
		}
		return text, "jwe.problem.not-json"
	}
	return text, ""
}

// forget reads a recipient anew when it is used next.
func (s *Service) forget(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.recipients, text)
}

// Keys lists the keys of a recipient as they are known, without fetching any.
func (s *Service) Keys(text string) []Key {
	if !IsAddress(text) {
		keys, _ := ReadKeys([]byte(text)) // it was checked before it was stored
		return keys
	}
	if s == nil {
		return nil
	}
	r := s.recipient(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys
}
