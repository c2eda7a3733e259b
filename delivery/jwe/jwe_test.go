package jwe_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/store"
)

// The keys of all algorithms that are taken.
var privateKeys = map[string]crypto.Signer{
	"P-256": must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), "P-384": must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
	"P-521": must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), "RSA": must(rsa.GenerateKey(rand.Reader, 2048)),
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func publicSet(keys ...jose.JSONWebKey) string {
	return string(must(json.Marshal(jose.JSONWebKeySet{Keys: keys})))
}

func publicKey(name, kid string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: privateKeys[name].Public(), KeyID: kid, Use: "enc"}
}

// open decrypts with another implementation.
func open(t *testing.T, name string, sealed []byte) ([]byte, jose.Header) {
	t.Helper()
	parsed, err := jose.ParseEncryptedCompact(string(sealed), []jose.KeyAlgorithm{jose.ECDH_ES_A256KW, jose.RSA_OAEP_256}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := parsed.Decrypt(privateKeys[name])
	if err != nil {
		t.Fatal(err)
	}
	return plain, parsed.Header
}

var seed = bytes.Repeat([]byte{7}, 32)

// Rules: IDEM-11.
func TestEncrypt(t *testing.T) {
	t.Parallel()
	for name := range privateKeys {
		keys, err := jwe.ReadKeys([]byte(publicSet(publicKey(name, "k1"))))
		if err != nil || len(keys) != 1 {
			t.Fatal(name, keys, err)
		}
		made := map[string]bool{}
		for _, data := range []string{"", `{"a":1}`, strings.Repeat("x", 70_000)} {
			sealed, err := keys[0].Encrypt(seed, "evt_1", "application/json", []byte(data))
			if err != nil {
				t.Fatal(name, err)
			}
			again, _ := keys[0].Encrypt(seed, "evt_1", "application/json", []byte(data))
			plain, head := open(t, name, sealed)
			if string(plain) != data || !bytes.Equal(sealed, again) || head.KeyID != "k1" || head.ExtraHeaders["cty"] != "application/json" || len(sealed) > jwe.Size(len(data)) {
				t.Errorf("%s: %d bytes of data, same bytes %v, header %+v, %d of at most %d bytes", name, len(data), bytes.Equal(sealed, again), head, len(sealed), jwe.Size(len(data)))
			}
			made[string(sealed)] = true
		}
		for _, other := range []struct {
			seed          []byte
			id, mediaType string
		}{{bytes.Repeat([]byte{8}, 32), "evt_1", "application/json"}, {seed, "evt_2", "application/json"}, {seed, "evt_1", "text/plain"}} {
			sealed, err := keys[0].Encrypt(other.seed, other.id, other.mediaType, []byte(`{"a":1}`))
			if made[string(sealed)] || err != nil {
				t.Errorf("%s: with %+v the same bytes come out: %v", name, other, err)
			}
			parts := strings.Split(string(sealed), ".")
			for before := range made {
				if strings.Split(before, ".")[2] == parts[2] {
					t.Errorf("%s: an initialization vector came twice", name)
				}
			}
			made[string(sealed)] = true
		}
	}
}

func TestReadKeys(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	good := must(publicKeyJSON(publicKey("P-256", "good")))
	with := func(member, value string) string {
		return `{"` + member + `":` + value + `,` + strings.TrimPrefix(good, "{")
	}
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	private := must(jose.JSONWebKey{Key: privateKeys["P-256"]}.MarshalJSON())
	for name, c := range map[string]struct {
		raw, kid, wrong string
	}{
		"one key":          {good, "good", ""},
		"a set":            {`{"keys":[` + good + `]}`, "good", ""},
		"others between":   {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"},{"kty":"strange"},` + must(publicKeyJSON(jose.JSONWebKey{Key: privateKeys["RSA"].Public(), Use: "sig"})) + `,` + good + `]}`, "good", ""},
		"expired, another": {`{"keys":[` + with("exp", "1000") + `,` + must(publicKeyJSON(publicKey("RSA", "later"))) + `]}`, "later", ""},
		"expired":          {with("exp", "1000"), "", "jwe.problem.expired"},
		"later":            {with("exp", "4000000000"), "good", ""},
		"other algorithm":  {with("alg", `"ECDH-ES"`), "", "jwe.problem.none"},
		"for signatures":   {must(publicKeyJSON(jose.JSONWebKey{Key: privateKeys["RSA"].Public(), Use: "sig"})), "", "jwe.problem.none"},
		"operations":       {with("key_ops", `["verify"]`), "", "jwe.problem.none"},
		"small":            {must(publicKeyJSON(jose.JSONWebKey{Key: small.Public()})), "", "jwe.problem.none"},
		"private":          {string(private), "", "jwe.problem.private"},
		"symmetric":        {`{"kty":"oct","k":"AAAA"}`, "", "jwe.problem.private"},
		"no JSON":          {`-----BEGIN PUBLIC KEY-----`, "", "jwe.problem.not-json"},
		"empty set":        {`{"keys":[]}`, "", "jwe.problem.count"},
		"off the curve":    {`{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}`, "", "jwe.problem.none"},
		"large":            {`{"keys":[` + strings.Repeat(" ", 65<<10) + good + `]}`, "", "jwe.problem.too-long"},
	} {
		keys, err := jwe.ReadKeys([]byte(c.raw))
		var key jwe.Key
		if err == nil {
			key, err = jwe.Choose(keys, now)
		}
		wrong, _ := errors.AsType[*jwe.Problem](err)
		if key.ID != c.kid || (err == nil) != (c.wrong == "") || wrong != nil && !strings.Contains(string(wrong.Message), c.wrong) {
			t.Errorf("%s: key %q, %v", name, key.ID, err)
		}
	}
}

func publicKeyJSON(k jose.JSONWebKey) (string, error) {
	raw, err := k.MarshalJSON()
	return string(raw), err
}

// The set behind an address is fetched once in a while; when it fails, what was known serves for a day, and then nothing is encrypted.
func TestService(t *testing.T) {
	t.Parallel()
	set, status, asked := publicSet(publicKey("P-256", "one")), http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = w.Write([]byte(set))
	}))
	defer server.Close()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	s := jwe.New(jwe.Config{HTTP: server.Client(), AllowHTTP: true, Now: func() time.Time { return now }, Open: func(string) ([]byte, error) { return seed, nil }})
	ctx := context.Background()
	for i, step := range []struct {
		after     time.Duration
		change    func()
		kid       string
		asked     int
		transient bool
	}{
		{0, func() { status = 500 }, "", 1, true},
		{time.Second, func() { status = 200 }, "", 1, true}, // not asked at every event
		{time.Minute, func() {}, "one", 2, false},
		{time.Minute, func() { set = publicSet(publicKey("RSA", "two")) }, "one", 2, false},
		{15 * time.Minute, func() {}, "two", 3, false},
		{15 * time.Minute, func() { status = 500 }, "two", 4, false},
		{23 * time.Hour, func() {}, "two", 5, false},
		{2 * time.Hour, func() {}, "", 6, true},
		{time.Minute, func() { status, set = 200, `{"keys":[]}` }, "", 7, true},
	} {
		now = now.Add(step.after)
		step.change()
		key, err := s.Key(ctx, server.URL)
		wrong, _ := errors.AsType[*jwe.Problem](err)
		if key.ID != step.kid || asked != step.asked || (wrong != nil && wrong.Transient) != step.transient {
			t.Errorf("step %d: key %q, asked %d times, %v", i, key.ID, asked, err)
		}
	}
	for typed, want := range map[string]string{
		" " + must(publicKeyJSON(publicKey("P-256", "x"))) + "\r\n": "", "ftp://x": "jwe.problem.not-json", server.URL + "/": "jwe.problem.count", "http://127.0.0.1:1/": "jwe.problem.unreachable",
	} {
		tidy, wrong := s.Check(ctx, typed)
		if (wrong == "") != (want == "") || !strings.Contains(string(wrong), want) || want == "" && strings.TrimSpace(tidy) != tidy {
			t.Errorf("%s: %q %s", typed, tidy, wrong)
		}
	}
	if _, wrong := jwe.New(jwe.Config{HTTP: server.Client(), Now: time.Now}).Check(ctx, server.URL); wrong != "jwe.problem.no-https" {
		t.Errorf("an address without TLS: %s", wrong)
	}
	if _, err := (*jwe.Service)(nil).EncryptData(ctx, &store.Encryption{}, "", "", nil); err == nil {
		t.Error("nothing encrypts")
	}
}

// An event with encrypted data has all its other attributes, and one without data stays as it is.
func TestEncryptEvent(t *testing.T) {
	t.Parallel()
	s := jwe.New(jwe.Config{Now: time.Now, Open: func(string) ([]byte, error) { return seed, nil }})
	to := &store.Encryption{Recipient: publicSet(publicKey("P-384", ""))}
	for name, c := range map[string]struct{ in, attributes, cty, data string }{
		"JSON":     {`{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"a" : 1}}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"application/jose"}`, "application/json", `{"a" : 1}`},
		"text":     {`{"specversion":"1.0","datacontenttype":"text/xml","id":"1","n":5,"source":"s","type":"t\u00e9","data":"<a/>"}`, `{"specversion":"1.0","id":"1","n":5,"source":"s","type":"té","datacontenttype":"application/jose"}`, "text/xml", `<a/>`},
		"binary":   {`{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"AAE="}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"application/jose"}`, "application/octet-stream", "\x00\x01"},
		"no data":  {`{"specversion":"1.0","id":"1","source":"s","type":"t"}`, `{"specversion":"1.0","id":"1","source":"s","type":"t"}`, "", ""},
		"only one": {`{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"application/vnd.x+json","data":[]}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"application/jose"}`, "application/vnd.x+json", "[]"},
	} {
		ev, err := event.ParseJSON([]byte(c.in), event.Limits{})
		if err != nil {
			t.Fatal(name, err)
		}
		before := string(ev.Attributes)
		out, err := s.Encrypt(t.Context(), to, "evt_1", &ev)
		if err != nil {
			t.Fatal(name, err)
		}
		if string(ev.Attributes) != before {
			t.Errorf("%s: the event was changed", name)
		}
		var got, want map[string]any
		if json.Unmarshal(out.Attributes, &got) != nil || json.Unmarshal([]byte(c.attributes), &want) != nil || string(must(json.Marshal(got))) != string(must(json.Marshal(want))) {
			t.Errorf("%s: %s", name, out.Attributes)
		}
		if c.cty == "" {
			continue
		}
		plain, head := open(t, "P-384", out.Data)
		if string(plain) != c.data || head.ExtraHeaders["cty"] != c.cty {
			t.Errorf("%s: %q of type %v", name, plain, head.ExtraHeaders["cty"])
		}
		if back, err := event.ParseJSON(out.AppendJSON(nil), event.Limits{}); err != nil || string(back.Data) != string(out.Data) || back.DataContentType != jwe.MediaType || !out.CanBinary() {
			t.Errorf("%s: %v %+v", name, err, back)
		}
	}
}
