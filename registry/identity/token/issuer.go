package token

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultLifetime is the lifetime of an access token unless configured.
	DefaultLifetime = time.Hour
	// MaxLifetime is the longest lifetime allowed (SEC-09).
	MaxLifetime = 6 * time.Hour

	// skew bounds the difference between the clocks of two parties.
	skew = 60 * time.Second
	// clientMaxAge bounds how long a withdrawn client's token still works.
	clientMaxAge = 5 * time.Second
	// defaultCacheSize holds the tokens of far more clients than one installation has, in about 10 MB.
	defaultCacheSize = 20_000
	clientCacheSize  = 4_096
	remoteCacheSize  = 1_024
)

// Config configures an [Issuer]. Fields without a default are
// required.
type Config struct {
	// Issuer is the base URL of the installation, without a trailing slash. It is the iss of every token.
	Issuer string
	// TokenEndpoint is the full URL of the token endpoint, which an assertion must name. Default Issuer + "/oauth/token".
	TokenEndpoint string
	// JWKSURI is the full URL of the published keys. Default Issuer + "/oauth/jwks".
	JWKSURI string
	// Audience is the aud of every token. Default Issuer.
	Audience string
	// Lifetime of access tokens. Default DefaultLifetime, at most MaxLifetime.
	Lifetime time.Duration
	// AuthMethods are the client authentication methods offered. Default
	// private_key_jwt alone (SEC-02); an administrator may add the others.
	AuthMethods []string
	// LiveAuthMethods, when set, is asked for AuthMethods at every request, so that an administrator can change them.
	LiveAuthMethods func(context.Context) []string
	// Scopes are published in the metadata (SEC-10).
	Scopes []string

	Clients Clients
	Replay  Replay
	Keys    Keys
	// Certified are published beside Keys. Optional.
	Certified Certified

	// CheckChain checks the certificates in an assertion, that of its key first, up to a trusted root; its error is shown. Without it
	// they are not looked at.
	CheckChain func(ctx context.Context, chain []*x509.Certificate) error
	// Certificates is set where the token endpoint asks its callers for TLS certificates.
	Certificates bool
	// Note records the certificate that a client showed. Optional.
	Note func(ctx context.Context, clientID string, cert *x509.Certificate)

	// Externals are other issuers whose tokens are accepted, and ExternalClients finds the clients that they name. Default none.
	Externals       []External
	ExternalClients ExternalClients

	// Nonces make the nonces of DPoP proofs, and AskNonce reports whether proofs must have one. Optional.
	Nonces   Nonces
	AskNonce func(context.Context) bool

	// HTTP fetches a client's jwks_uri, and asks other issuers. It must be the guarded client, since strangers choose these addresses. Without it,
	// clients with a JWKSURI are refused.
	HTTP *http.Client
	// AllowHTTP permits a jwks_uri without TLS, for demo and tests.
	AllowHTTP bool
	// CacheSize bounds how many verified tokens are cached. Default 20,000; a smaller one costs a signature check a request.
	CacheSize int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Issuer hands out access tokens and verifies them. It is safe for concurrent use.
type Issuer struct {
	cfg     Config
	tokens  *lru[[32]byte, verified]
	clients *loader[Client]
	keys    *loader[*keySet]
	remote  *loader[remoteKeys]

	externals []*external
	metadata  *loader[discovered]   // by the ID of an issuer
	asked     *loader[introspected] // by issuer and token
	known     *loader[Client]       // by issuer and the name it gives a client
	matches   func(secret, hash string) bool
}

// New checks cfg, fills in its defaults and builds an [Issuer].
func New(cfg Config) (*Issuer, error) {
	cfg = withDefaults(cfg)
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configure token issuer: %w", err)
	}
	i := &Issuer{cfg: cfg, matches: secretMatches}
	i.tokens = newLRU[[32]byte, verified](cfg.CacheSize)
	i.clients = newLoader(cfg.Now, clientCacheSize, i.loadClient)
	i.keys = newLoader(cfg.Now, 1, i.loadKeys)
	i.remote = newLoader(cfg.Now, remoteCacheSize, i.loadRemote)
	if err := i.setExternals(); err != nil {
		return nil, fmt.Errorf("configure token issuer: %w", err)
	}
	return i, nil
}

func withDefaults(cfg Config) Config {
	cfg.Issuer = strings.TrimSuffix(cfg.Issuer, "/")
	if cfg.TokenEndpoint == "" {
		cfg.TokenEndpoint = cfg.Issuer + "/oauth/token"
	}
	if cfg.JWKSURI == "" {
		cfg.JWKSURI = cfg.Issuer + "/oauth/jwks"
	}
	if cfg.Audience == "" {
		cfg.Audience = cfg.Issuer
	}
	if cfg.Lifetime == 0 {
		cfg.Lifetime = DefaultLifetime
	}
	if len(cfg.AuthMethods) == 0 {
		cfg.AuthMethods = []string{PrivateKeyJWT}
	}
	if cfg.CacheSize == 0 {
		cfg.CacheSize = defaultCacheSize
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

func (c Config) check() error {
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("issuer must be an absolute URL without query or fragment")
	}
	if c.Lifetime < time.Second || c.Lifetime > MaxLifetime {
		return fmt.Errorf("lifetime must be between 1s and %s", MaxLifetime)
	}
	if c.CacheSize < 1 {
		return errors.New("cache size must be positive")
	}
	if c.Clients == nil || c.Replay == nil || c.Keys == nil {
		return errors.New("clients, replay and keys are required")
	}
	for _, m := range c.AuthMethods {
		if !slices.Contains([]string{PrivateKeyJWT, TLSClientAuth, ClientSecretBasic, ClientSecretPost}, m) {
			return fmt.Errorf("unknown client authentication method %q", m)
		}
	}
	return nil
}

// Metadata is the authorisation server metadata of RFC 8414, ready to be encoded as JSON (SEC-12).
func (i *Issuer) Metadata(ctx context.Context) map[string]any {
	methods := i.authMethods(ctx)
	m := map[string]any{
		"issuer":                                i.cfg.Issuer,
		"token_endpoint":                        i.cfg.TokenEndpoint,
		"jwks_uri":                              i.cfg.JWKSURI,
		"grant_types_supported":                 []string{grantClientCredentials},
		"response_types_supported":              []string{},
		"token_endpoint_auth_methods_supported": methods,
	}
	if slices.Contains(methods, PrivateKeyJWT) {
		m["token_endpoint_auth_signing_alg_values_supported"] = slices.Clone(assertionAlgs)
	}
	if i.cfg.Certificates {
		m["tls_client_certificate_bound_access_tokens"] = true // RFC 8705, 3.3
	}
	m["dpop_signing_alg_values_supported"] = ProofAlgorithms() // RFC 9449, 5.1
	if len(i.cfg.Scopes) > 0 {
		m["scopes_supported"] = slices.Clone(i.cfg.Scopes)
	}
	return m
}

// note hands on the certificate that a client showed.
func (i *Issuer) note(ctx context.Context, client Client, cert *x509.Certificate) {
	if i.cfg.Note != nil {
		i.cfg.Note(ctx, client.ID, cert)
	}
}

// authMethods are the client authentication methods offered now.
func (i *Issuer) authMethods(ctx context.Context) []string {
	if i.cfg.LiveAuthMethods != nil {
		return i.cfg.LiveAuthMethods(ctx)
	}
	return slices.Clone(i.cfg.AuthMethods)
}
