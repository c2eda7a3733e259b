package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	testIssuer   = "https://schakel.example"
	testEndpoint = testIssuer + "/oauth/token"
)

// clock is a clock that moves only when told.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// memory keeps clients, keys and used assertions, as a store would.
type memory struct {
	mu      sync.Mutex
	clients map[string]Client
	keys    []Key
	used    map[string]time.Time
	fail    error
	lookups int
	loads   int
}

func (m *memory) TokenClient(_ context.Context, id string) (Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups++
	if m.fail != nil {
		return Client{}, m.fail
	}
	c, ok := m.clients[id]
	if !ok {
		return Client{}, ErrUnknownClient
	}
	return c, nil
}

func (m *memory) SigningKeys(context.Context) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads++
	return append([]Key(nil), m.keys...), m.fail
}

func (m *memory) UseOnce(_ context.Context, key string, expires time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.used[key]; ok {
		return false, m.fail
	}
	m.used[key] = expires
	return true, m.fail
}

func (m *memory) change(f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func (m *memory) changeClient(id string, f func(*Client)) {
	m.change(func(m *memory) {
		c := m.clients[id]
		f(&c)
		m.clients[id] = c
	})
}

// bench is an issuer with one client of each kind.
type bench struct {
	*Issuer
	clock  *clock
	mem    *memory
	secret string
	key    *ecdsa.PrivateKey // of client "keyed"
}

func newBench(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{clock: newClock()}
	key, err := NewKey(b.clock.Now())
	must(t, err)
	b.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	var hash string
	b.secret, hash = NewSecret()
	scopes := []string{"events.publish", "events.consume"}
	basic := Client{ID: "basic", PartnerID: "par_1", Status: StatusActive, AuthMethod: ClientSecretBasic, SecretHash: hash, Scopes: scopes}
	post, keyed := basic, basic
	post.ID, post.AuthMethod = "post", ClientSecretPost
	keyed.ID, keyed.AuthMethod, keyed.SecretHash = "keyed", PrivateKeyJWT, ""
	keyed.JWKS = publicSet(t, jose.JSONWebKey{Key: b.key.Public(), KeyID: "k1"})
	b.mem = &memory{
		clients: map[string]Client{"basic": basic, "post": post, "keyed": keyed},
		keys:    []Key{key}, used: map[string]time.Time{},
	}
	cfg := Config{
		Issuer: testIssuer, Clients: b.mem, Replay: b.mem, Keys: b.mem, Now: b.clock.Now,
		AuthMethods: []string{PrivateKeyJWT, ClientSecretBasic, ClientSecretPost},
	}
	for _, f := range change {
		f(&cfg)
	}
	b.Issuer, err = New(cfg)
	must(t, err)
	return b
}

// token gets an access token for client "basic".
func (b *bench) token(t testing.TB) string {
	t.Helper()
	res, fail := b.Exchange(context.Background(), b.basicRequest())
	if fail != nil {
		t.Fatal(fail)
	}
	return res.AccessToken
}

func (b *bench) basicRequest() Request {
	return Request{Form: form(), HasBasic: true, BasicUser: "basic", BasicPassword: b.secret}
}

// form makes a token request from pairs of name and value.
func form(pairs ...string) url.Values {
	f := url.Values{"grant_type": {grantClientCredentials}}
	for n := 0; n < len(pairs); n += 2 {
		f.Set(pairs[n], pairs[n+1])
	}
	return f
}

func publicSet(t testing.TB, keys ...jose.JSONWebKey) []byte {
	t.Helper()
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	must(t, err)
	return raw
}

type object map[string]any

func (o object) with(changes object) object {
	o = maps.Clone(o)
	for k, v := range changes {
		if v == nil {
			delete(o, k)
		} else {
			o[k] = v
		}
	}
	return o
}

// forge writes a compact JWS by hand, so that it can be wrong in every way.
func forge(t testing.TB, header, claims object, sign func([]byte) []byte) string {
	t.Helper()
	h, err := json.Marshal(header)
	must(t, err)
	c, err := json.Marshal(claims)
	must(t, err)
	input := b64(h) + "." + b64(c)
	return input + "." + b64(sign([]byte(input)))
}

func es256(t testing.TB, key crypto.Signer) func([]byte) []byte {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
		must(t, err)
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
}

func hs256(key []byte) func([]byte) []byte {
	return func(input []byte) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write(input)
		return mac.Sum(nil)
	}
}

func unsigned([]byte) []byte { return nil }

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
