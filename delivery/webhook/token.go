package webhook

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	"github.com/go-jose/go-jose/v4/jwt"
	"schakel/delivery/outbound"
)

// Authentication methods at a token endpoint.
const (
	AuthNone       = "none"                // no token is fetched or sent
	AuthBasic      = "client_secret_basic" // RFC 6749 2.3.1
	AuthPost       = "client_secret_post"  // RFC 6749 2.3.1
	AuthPrivateKey = "private_key_jwt"     // SEC-02
	AuthTLS        = "tls_client_auth"     // RFC 8705 2.1
)

// TokenConfig configures the access tokens of an endpoint.
type TokenConfig struct {
	ConfigVersion string // changes with any field below; another version means another token
	TokenURL      string
	ClientID      string
	Secret        Secret // for AuthBasic and AuthPost
	Scope         string // space-separated; left out of the request when empty
	AuthMethod    string // one of the Auth constants; "" is AuthBasic
	// Certificate is shown to a token endpoint that asks for a client certificate: of AuthTLS it is the proof, and it may bind the token. Nil for none.
	Certificate *outbound.Certificate
}

// TokenError reports a failed token request. Its text is safe to show.
type TokenError struct {
	Code       string        // OAuth error such as "invalid_client", "http-503", an outbound kind, or "answer" or "config"
	Status     int           // of the token endpoint; 0 when it gave no answer
	Detail     string        // in words
	RetryAfter time.Duration // asked for by the token endpoint
	Transient  bool          // time alone may mend it
}

// Error implements error.
func (e *TokenError) Error() string { return e.Code + ": " + e.Detail }

// tokenFetcher gets tokens by the client credentials grant (SEC-01).
type tokenFetcher struct {
	client *outbound.Client
	signer Signer
	now    func() time.Time
	logger *slog.Logger
}

// fetch asks once. Every error is a *TokenError.
func (f *tokenFetcher) fetch(ctx context.Context, cfg TokenConfig) (grant, error) {
	req, err := f.request(ctx, cfg)
	if err != nil {
		return grant{}, &TokenError{Code: "config", Detail: err.Error()}
	}
	// Nobody else's answer can be on a connection of its own. The gate is that of the webhook.
	req.Close = true
	resp, err := f.client.DoFor(outbound.WithCertificate(outbound.WithGate(ctx, nil), cfg.Certificate), "token", req)
	if err != nil {
		return grant{}, transportFailure(err)
	}
	if resp.Status != http.StatusOK {
		return grant{}, answerError(resp, cfg, f.now())
	}
	answer, err := parseTokenAnswer(resp.Body)
	if err != nil {
		return grant{}, &TokenError{Code: "answer", Status: resp.Status, Detail: err.Error()}
	}
	if answer.refresh {
		f.logger.WarnContext(ctx, "token endpoint sent a refresh token, ignored", slog.String("client_id", cfg.ClientID))
	}
	return answer.grant, nil
}

// request sends the grant's own parameters and nothing else (SEC-01).
func (f *tokenFetcher) request(ctx context.Context, cfg TokenConfig) (*http.Request, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if cfg.Scope != "" {
		form.Set("scope", cfg.Scope)
	}
	switch cfg.AuthMethod {
	case AuthBasic, "":
	case AuthPost:
		form.Set("client_id", cfg.ClientID)
		form.Set("client_secret", string(cfg.Secret))
	case AuthPrivateKey:
		assertion, err := f.assertion(ctx, cfg)
		if err != nil {
			return nil, err
		}
		form.Set("client_id", cfg.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case AuthTLS:
		if cfg.Certificate == nil {
			return nil, errors.New("the endpoint has no client certificate to authenticate with")
		}
		form.Set("client_id", cfg.ClientID)
	default:
		return nil, errors.New("the way to authenticate at the token endpoint is not known")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the URL of the token endpoint is not valid")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if cfg.AuthMethod == AuthBasic || cfg.AuthMethod == "" {
		// RFC 6749 2.3.1 wants both form-encoded before they are joined.
		req.SetBasicAuth(url.QueryEscape(cfg.ClientID), url.QueryEscape(string(cfg.Secret)))
	}
	return req, nil
}

func transportFailure(err error) *TokenError {
	kind := outbound.Kind(err)
	passing := kind == outbound.KindDNS || kind == outbound.KindConnect || kind == outbound.KindTimeout
	return &TokenError{Code: kind, Detail: "token endpoint " + err.Error(), Transient: passing}
}

// answerError reads the error answer of RFC 6749 5.2, and makes do without one.
func answerError(resp *outbound.Response, cfg TokenConfig, now time.Time) *TokenError {
	e := &TokenError{
		Code:      "http-" + strconv.Itoa(resp.Status),
		Status:    resp.Status,
		Detail:    "the token endpoint answered " + strconv.Itoa(resp.Status),
		Transient: resp.Status >= 500 || isBusy(resp.Status),
	}
	e.RetryAfter, _ = ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	var answer struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(resp.Body, &answer) != nil || !isErrorCode(answer.Error) {
		return e
	}
	e.Code = cfg.hideIn(answer.Error)
	if answer.Description != "" {
		// Hidden first: a cut could leave the beginning of a secret.
		e.Detail += ": " + cut(cfg.hideIn(printable(answer.Description)), 200)
	}
	return e
}

func isErrorCode(code string) bool {
	return code != "" && len(code) <= 64 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// hideIn redacts the secret in the answer of a token endpoint, in each form in which it was sent.
func (cfg TokenConfig) hideIn(text string) string {
	secret := string(cfg.Secret)
	if secret == "" {
		return text
	}
	escaped := url.QueryEscape(secret)
	basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(cfg.ClientID) + ":" + escaped))
	return strings.NewReplacer(basic, redacted, secret, redacted, escaped, redacted).Replace(text)
}

// grant is a token with its lifetime, as the token endpoint gave it.
type grant struct {
	token    string
	lifetime time.Duration
	stated   time.Duration // the lifetime of the answer, without our bounds; 0 for none
}

type tokenAnswer struct {
	grant
	refresh bool
}

const (
	assumedLifetime = 5 * time.Minute // when the answer does not say
	maxLifetime     = 6 * time.Hour   // SEC-09
	maxTokenLength  = 16 << 10
)

// parseTokenAnswer reads the answer of RFC 6749 5.1.
func parseTokenAnswer(body []byte) (tokenAnswer, error) {
	var raw struct {
		AccessToken  string          `json:"access_token"`
		TokenType    string          `json:"token_type"`
		ExpiresIn    json.RawMessage `json:"expires_in"`
		RefreshToken json.RawMessage `json:"refresh_token"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return tokenAnswer{}, errors.New("the answer is not the JSON object that is expected")
	}
	if raw.TokenType != "" && !strings.EqualFold(raw.TokenType, "Bearer") {
		return tokenAnswer{}, errors.New("the token is not of type Bearer")
	}
	if raw.AccessToken == "" || len(raw.AccessToken) > maxTokenLength || strings.ContainsFunc(raw.AccessToken, notTokenChar) {
		return tokenAnswer{}, errors.New("the answer holds no usable access_token")
	}
	return tokenAnswer{
		grant:   grant{raw.AccessToken, parseLifetime(raw.ExpiresIn), statedLifetime(raw.ExpiresIn)},
		refresh: len(raw.RefreshToken) > 0 && !bytes.Equal(raw.RefreshToken, []byte("null")),
	}, nil
}

// statedLifetime returns the lifetime that an answer states, up to a year; 0 when it states none.
func statedLifetime(raw json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || seconds != seconds {
		return 0
	}
	const most = 365 * 24 * 3600
	return time.Duration(min(max(seconds, 0), most)) * time.Second
}

// parseLifetime accepts a number, and the number in quotes that some send.
func parseLifetime(raw json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || seconds != seconds {
		return assumedLifetime
	}
	return time.Duration(min(max(seconds, 0), maxLifetime.Seconds()) * float64(time.Second))
}

func notTokenChar(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == ',' || r == ';' }

// assertionLifetime is short, as SEC-04 wants: an assertion is used at once.
const assertionLifetime = 60 * time.Second

// SigningKey is the key that signs our client assertions.
type SigningKey struct {
	KID     string        // key id in our published key set
	Alg     string        // RS256, PS256 or ES256
	Private crypto.Signer // may live in hardware
	// Chain is the certificate of the key and those that lead to its root, for x5c; none for a key without one.
	Chain []*x509.Certificate
}

// Signer returns the present signing key; it is called for every assertion, so that keys can be rolled (SEC-05).
type Signer interface {
	SigningKey(ctx context.Context) (SigningKey, error)
}

// assertion makes a signed client assertion (SEC-02, SEC-04, RFC 7523).
func (f *tokenFetcher) assertion(ctx context.Context, cfg TokenConfig) (string, error) {
	if f.signer == nil {
		return "", errors.New("this installation has no key to sign client assertions with")
	}
	signed, err := f.sign(ctx, cfg)
	if err != nil {
		// The partner must not read the error of our own key.
		f.logger.ErrorContext(ctx, "client assertion not signed", slog.Any("error", err))
		return "", errors.New("this installation could not sign its client assertion")
	}
	return signed, nil
}

// claims has the audience as one string: not every server takes a list.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expiry   int64  `json:"exp"`
	ID       string `json:"jti"`
}

func (f *tokenFetcher) sign(ctx context.Context, cfg TokenConfig) (string, error) {
	key, err := f.signer.SigningKey(ctx)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	signer, err := newJOSESigner(key)
	if err != nil {
		return "", err
	}
	now := f.now()
	signed, err := jwt.Signed(signer).Claims(claims{
		Issuer: cfg.ClientID, Subject: cfg.ClientID, Audience: cfg.TokenURL,
		IssuedAt: now.Unix(), Expiry: now.Add(assertionLifetime).Unix(), ID: newJTI(),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign client assertion: %w", err)
	}
	return signed, nil
}

func newJOSESigner(key SigningKey) (jose.Signer, error) {
	alg := jose.SignatureAlgorithm(key.Alg)
	if !slices.Contains([]jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256}, alg) {
		return nil, errors.New("client assertions are signed with RS256, PS256 or ES256 only")
	}
	jwk := jose.JSONWebKey{Key: cryptosigner.Opaque(key.Private), KeyID: key.KID}
	options := (&jose.SignerOptions{}).WithType("JWT")
	if len(key.Chain) > 0 {
		x5c := make([]string, len(key.Chain))
		for i, c := range key.Chain {
			x5c[i] = base64.StdEncoding.EncodeToString(c.Raw)
		}
		options = options.WithHeader("x5c", x5c) // RFC 7515, 4.1.6
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jwk}, options)
	if err != nil {
		return nil, fmt.Errorf("use signing key: %w", err)
	}
	return signer, nil
}

// newJTI returns 160 random bits.
func newJTI() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
