package token

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/json"
)

const (
	// proofType is the typ of a DPoP proof (RFC 9449, 4.2).
	proofType = "dpop+jwt"
	// maxProofBytes leaves room for an RSA key of 4096 bits in the header.
	maxProofBytes = 8 << 10
	// maxProofAge bounds how old a proof may be by the clock of its maker, besides the skew.
	maxProofAge = 60 * time.Second
	// nonceSlot is the time for which one nonce is handed out; the one before it is still taken.
	nonceSlot = 2 * time.Minute
)

// The error codes of RFC 9449.
const (
	CodeInvalidProof = "invalid_dpop_proof"
	CodeUseNonce     = "use_dpop_nonce"
)

// Proof holds what a request brings as proof that its sender has the key of its token (RFC 9449, SEC-13).
type Proof struct {
	Headers     []string // the values of the header DPoP
	Method, URL string   // of the request, as its sender knows them, without query and fragment
	Token       string   // the access token that it goes with; empty at the token endpoint
}

// Nonces makes and knows the values that a proof must repeat, so that none can be made ahead. All nodes share the key.
type Nonces interface {
	// Prove returns a code of a text that nobody else can make, and Proves reports whether it is one.
	Prove(text string) string
	Proves(text, code string) bool
}

// ProofError is a proof that is refused. Its Reason is plain ASCII without quotes.
type ProofError struct {
	Code   string // CodeInvalidProof or CodeUseNonce
	Reason string
	Nonce  string // for the next proof; empty when none is asked
}

// Error names the reason.
func (e *ProofError) Error() string { return "DPoP proof: " + e.Reason }

// proofClaims are the claims of a proof.
type proofClaims struct {
	ID          string   `json:"jti"`
	Method      string   `json:"htm"`
	URL         string   `json:"htu"`
	IssuedAt    *float64 `json:"iat"`
	AccessToken string   `json:"ath"`
	Nonce       string   `json:"nonce"`
}

// ProofAlgorithms lists the algorithms that may sign a proof, as metadata and challenges name them.
func ProofAlgorithms() []string {
	list := make([]string, len(assertionAlgs))
	for i, alg := range assertionAlgs {
		list[i] = string(alg)
	}
	return list
}

// Prove checks a proof and returns the thumbprint of its key (RFC 7638). A proof works once, on all nodes that share a [Replay]. A refusal
// is a *ProofError; any other error is an outage.
func (i *Issuer) Prove(ctx context.Context, p Proof) (thumbprint string, err error) {
	fail := func(reason string) (string, error) {
		return "", &ProofError{Code: CodeInvalidProof, Reason: reason, Nonce: i.Nonce(ctx)}
	}
	if len(p.Headers) != 1 {
		return fail("send one header DPoP")
	}
	tok, err := parseCompact(p.Headers[0], maxProofBytes, assertionAlgs)
	if err != nil {
		return fail(strings.Replace(err.Error(), "token", "proof", 1))
	}
	if tok.typ != proofType {
		return fail("the typ of the proof must be " + proofType)
	}
	key := tok.jws.Signatures[0].Protected.JSONWebKey
	if key == nil || !key.Valid() || !key.IsPublic() {
		return fail("the header of the proof must hold the public key (jwk)")
	}
	if err := checkKey(*key); err != nil {
		return fail("the key of the proof is refused: " + ascii(err.Error()))
	}
	payload, err := tok.jws.Verify(key)
	if err != nil {
		return fail("the key in the proof did not sign it")
	}
	var claims proofClaims
	if err := json.Unmarshal(payload, &claims); err != nil {
		return fail("the claims of the proof are not readable")
	}
	if reason := i.checkProofClaims(claims, p); reason != "" {
		return fail(reason)
	}
	if !i.nonceGood(ctx, claims.Nonce) {
		return "", &ProofError{Code: CodeUseNonce, Reason: "repeat the request with a new proof that has the nonce of the header DPoP-Nonce", Nonce: i.Nonce(ctx)}
	}
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return fail("the key of the proof has no thumbprint")
	}
	thumbprint = base64.RawURLEncoding.EncodeToString(sum)
	used := sha256.Sum256([]byte("dpop\x00" + thumbprint + "\x00" + claims.ID))
	fresh, err := i.cfg.Replay.UseOnce(ctx, hex.EncodeToString(used[:]), time.Unix(int64(*claims.IssuedAt), 0).Add(maxProofAge+2*skew))
	if err != nil {
		return "", err
	}
	if !fresh {
		return fail("this proof has been used before; make a new one, with another jti, for each request")
	}
	return thumbprint, nil
}

// proveAtEndpoint checks the proof of a request for a token.
func (i *Issuer) proveAtEndpoint(ctx context.Context, headers []string) (thumbprint string, fail *OAuthError) {
	thumbprint, err := i.Prove(ctx, Proof{Headers: headers, Method: http.MethodPost, URL: i.cfg.TokenEndpoint})
	if refused, ok := errors.AsType[*ProofError](err); ok {
		return "", &OAuthError{Status: http.StatusBadRequest, Code: refused.Code, Description: refused.Reason, Nonce: refused.Nonce}
	}
	if err != nil {
		return "", unavailable(fmt.Errorf("record proof: %w", err))
	}
	return thumbprint, nil
}

func (i *Issuer) checkProofClaims(c proofClaims, p Proof) string {
	now := i.cfg.Now()
	switch {
	case c.ID == "" || len(c.ID) > maxIDBytes:
		return "jti is required, of at most 256 bytes"
	case c.Method != p.Method:
		return "htm is not the method of this request"
	case !sameAddress(c.URL, p.URL):
		return "htu is not the address of this request, which is " + ascii(p.URL)
	case c.IssuedAt == nil || *c.IssuedAt < 0 || *c.IssuedAt > 1<<40:
		return "iat is required, in seconds"
	}
	made := time.Unix(int64(*c.IssuedAt), 0)
	if made.Before(now.Add(-maxProofAge-skew)) || made.After(now.Add(skew)) {
		return "iat is too far from the clock here, which is at " + strconv.FormatInt(now.Unix(), 10)
	}
	if p.Token != "" {
		sum := sha256.Sum256([]byte(p.Token))
		if c.AccessToken != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return "ath is not the hash of the access token"
		}
	}
	return ""
}

// sameAddress compares addresses without their query and fragment, and without case where it does not count (RFC 9449, 4.3).
func sameAddress(a, b string) bool {
	x, errA := url.Parse(a)
	y, errB := url.Parse(b)
	if errA != nil || errB != nil || x.Host == "" {
		return false
	}
	host := func(u *url.URL) string {
		h := strings.ToLower(u.Host)
		if u.Scheme == "https" {
			return strings.TrimSuffix(h, ":443")
		}
		return strings.TrimSuffix(h, ":80")
	}
	return strings.EqualFold(x.Scheme, y.Scheme) && host(x) == host(y) && strings.TrimSuffix(x.EscapedPath(), "/") == strings.TrimSuffix(y.EscapedPath(), "/")
}

// Nonce returns the nonce that proofs must have now; empty when none is asked.
func (i *Issuer) Nonce(ctx context.Context) string {
	if i.cfg.Nonces == nil || i.cfg.AskNonce == nil || !i.cfg.AskNonce(ctx) {
		return ""
	}
	return i.nonceOf(i.cfg.Now())
}

func (i *Issuer) nonceOf(at time.Time) string {
	slot := strconv.FormatInt(at.Unix()/int64(nonceSlot/time.Second), 36)
	return slot + "." + i.cfg.Nonces.Prove("dpop nonce "+slot)
}

// nonceGood reports whether a proof has a nonce of this or the last slot, or needs none.
func (i *Issuer) nonceGood(ctx context.Context, nonce string) bool {
	if i.Nonce(ctx) == "" {
		return true
	}
	slot, code, _ := strings.Cut(nonce, ".")
	n, err := strconv.ParseInt(slot, 36, 64)
	now := i.cfg.Now().Unix() / int64(nonceSlot/time.Second)
	return err == nil && (n == now || n == now-1) && i.cfg.Nonces.Proves("dpop nonce "+slot, code)
}
