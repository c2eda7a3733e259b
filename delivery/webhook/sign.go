package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/store"
)

// SignKey is one key that signs the requests to an endpoint.
type SignKey struct {
	ID        string // keyid of RFC 9421
	Algorithm string // store.SignHMAC or store.SignEd25519
	Secret    []byte // the key of HMAC, or the seed of Ed25519
}

// NewSignSecret makes the secret of a key: 32 random bytes for either algorithm.
func NewSignSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: see crypto/rand
	return secret
}

// Shared writes a key as its receiver gets it: the secret of HMAC, or the public key of Ed25519, in the forms of Standard Webhooks.
func (k SignKey) Shared() string {
	if k.Algorithm == store.SignEd25519 {
		public := ed25519.NewKeyFromSeed(k.Secret).Public().(ed25519.PublicKey)
		return "whpk_" + base64.StdEncoding.EncodeToString(public)
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(k.Secret)
}

// Signatures signs requests with each of its keys, so that receivers may change to a new one at their own time. The zero value signs
// nothing. It is immutable.
type Signatures struct {
	scheme string
	keys   []preparedKey
}

type preparedKey struct {
	SignKey
	private ed25519.PrivateKey
}

// NewSignatures makes what signs by a scheme; the newest key comes first.
func NewSignatures(scheme string, keys ...SignKey) (Signatures, error) {
	s := Signatures{scheme: scheme}
	if scheme == store.SignNone {
		return s, nil
	}
	if scheme != store.SignStandard && scheme != store.SignMessage {
		return Signatures{}, fmt.Errorf("prepare signatures: scheme %q is not known", scheme)
	}
	if len(keys) == 0 {
		return Signatures{}, errors.New("prepare signatures: there is no key")
	}
	for _, k := range keys {
		p := preparedKey{SignKey: k}
		switch {
		case k.Algorithm == store.SignEd25519 && len(k.Secret) == ed25519.SeedSize:
			p.private = ed25519.NewKeyFromSeed(k.Secret)
		case k.Algorithm == store.SignHMAC && len(k.Secret) >= 24:
		default:
			return Signatures{}, fmt.Errorf("prepare signatures: key %s cannot be used with %s", k.ID, k.Algorithm)
		}
		s.keys = append(s.keys, p)
	}
	return s, nil
}

// Empty reports whether nothing is signed.
func (s Signatures) Empty() bool { return len(s.keys) == 0 }

// Stranger signs in the same way with keys that nobody knows, to see whether a receiver notices.
func (s Signatures) Stranger() Signatures {
	var keys []SignKey
	for _, k := range s.keys {
		keys = append(keys, SignKey{ID: k.ID, Algorithm: k.Algorithm, Secret: NewSignSecret()})
	}
	other, _ := NewSignatures(s.scheme, keys...) // the keys are of the form that was accepted before
	return other
}

// sign returns the signature of a text.
func (k preparedKey) sign(text []byte) string {
	if k.private != nil {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, text))
	}
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write(text)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Add signs a POST with a body to an address, and writes the signatures in its header, which holds all other headers that count. id is
// that of the message, the same for each attempt.
func (s Signatures) Add(header http.Header, to *url.URL, id string, body []byte, at time.Time) {
	switch {
	case s.Empty():
	case s.scheme == store.SignStandard:
		s.addStandard(header, id, body, at)
	default:
		s.addMessage(header, to, body, at)
	}
}

// addStandard writes the headers of Standard Webhooks 1.0.
func (s Signatures) addStandard(header http.Header, id string, body []byte, at time.Time) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	text := make([]byte, 0, len(id)+len(stamp)+2+len(body))
	text = append(append(append(append(text, id...), '.'), stamp...), '.')
	text = append(text, body...)
	signed := make([]string, len(s.keys))
	for i, k := range s.keys {
		version := "v1,"
		if k.private != nil {
			version = "v1a,"
		}
		signed[i] = version + k.sign(text)
	}
	header["Webhook-Id"], header["Webhook-Timestamp"], header["Webhook-Signature"] = []string{id}, []string{stamp}, []string{strings.Join(signed, " ")}
}

// addMessage writes Content-Digest, Signature-Input and Signature.
func (s Signatures) addMessage(header http.Header, to *url.URL, body []byte, at time.Time) {
	sum := sha256.Sum256(body)
	header["Content-Digest"] = []string{"sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"}
	names, lines := covered(header, to)
	inputs, signed := make([]string, len(s.keys)), make([]string, len(s.keys))
	for i, k := range s.keys {
		label := "sig" + strconv.Itoa(i+1)
		params := "(" + names + ");created=" + strconv.FormatInt(at.Unix(), 10) + `;keyid="` + k.ID + `";alg="` + k.Algorithm + `"`
		base := lines + `"@signature-params": ` + params
		inputs[i], signed[i] = label+"="+params, label+"=:"+k.sign([]byte(base))+":"
	}
	header["Signature-Input"], header["Signature"] = []string{strings.Join(inputs, ", ")}, []string{strings.Join(signed, ", ")}
}

// covered lists the components that are signed, and writes their lines of the signature base (RFC 9421 2.5). In binary mode the
// attributes of the event are headers, so each is signed.
func covered(header http.Header, to *url.URL) (names, lines string) {
	var list, base strings.Builder
	add := func(name, value string) {
		if list.Len() > 0 {
			list.WriteByte(' ')
		}
		list.WriteString(`"` + name + `"`)
		base.WriteString(`"` + name + `": ` + value + "\n")
	}
	path := to.EscapedPath()
	if path == "" {
		path = "/"
	}
	add("@method", http.MethodPost)
	add("@authority", authority(to))
	add("@path", path)
	if to.RawQuery != "" {
		add("@query", "?"+to.RawQuery)
	}
	for _, name := range []string{"Content-Type", "Content-Digest", "Idempotency-Key"} {
		if value := header.Get(name); value != "" {
			add(strings.ToLower(name), strings.TrimSpace(value))
		}
	}
	var attributes []string
	for name := range header {
		if strings.HasPrefix(name, "Ce-") {
			attributes = append(attributes, name)
		}
	}
	slices.Sort(attributes)
	for _, name := range attributes {
		add(strings.ToLower(name), strings.TrimSpace(header.Get(name)))
	}
	return list.String(), base.String()
}

// authority is the host of an address, in lower case and without the port of its scheme.
func authority(to *url.URL) string {
	host := strings.ToLower(to.Host)
	if to.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
