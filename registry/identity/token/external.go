package token

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// External describes another authorisation server whose access tokens our APIs take beside our own (SEC-07, SEC-11, SEC-12). Fields without a
// default are required.
type External struct {
	// ID names it to people and at clients.
	ID string
	// Issuer is its issuer identifier, compared with iss to the letter.
	Issuer string
	// Audiences of which a token must have one in aud.
	Audiences []string
	// AudienceOptional takes a token without aud; one with another aud is refused still.
	AudienceOptional bool
	// Types of JWT that it takes (typ, in lower case, without application/). Default at+jwt, so that no ID token passes for an access token.
	Types []string
	// Algorithms it signs with, asymmetric ones. Default all that a client of ours may use.
	Algorithms []jose.SignatureAlgorithm
	// JWKSURI locates its keys. Default the address in its metadata.
	JWKSURI string
	// ClientClaims name the client, the first that a token has. Default client_id, azp, sub.
	ClientClaims []string
	// ScopeClaim holds the scopes, as a text with spaces or a list. Default scope.
	ScopeClaim string
	// Scopes gives scopes of ours for a scope of the issuer. Default each as it is called.
	Scopes map[string][]string
	// ClientScopes gives a token all scopes that its client is registered with, whatever scopes it has.
	ClientScopes bool
	// Introspection asks the issuer about each token (RFC 7662). Default no: tokens are JWTs, checked with the keys of the issuer.
	Introspection *Introspection
}

// Introspection configures the questions to an issuer about its tokens.
type Introspection struct {
	// Endpoint takes the questions. Default the address in the metadata.
	Endpoint string
	// Opaque takes tokens that are no JWT for tokens of this issuer.
	Opaque bool
	// ClientID is ours at the issuer, ClientSecret goes with it. Without a secret we prove ourselves with private_key_jwt and the keys that we publish.
	ClientID, ClientSecret string
	// Cache bounds how long an answer is believed, and with it how long a revoked token still works: also at most half the time that the
	// token has left. Default 30 seconds.
	Cache time.Duration
}

// ExternalClients finds the client that another issuer names.
type ExternalClients interface {
	// ExternalClient answers the client that an administrator registered under an id of an issuer (by [External.ID]), or ErrUnknownClient. Any
	// other error is taken as an outage.
	ExternalClient(ctx context.Context, issuerID, externalID string) (Client, error)
}

// The codes of refusals of tokens of other issuers, each with its own remedy.
const (
	CodeOtherIssuer   = "token-issuer"     // of an issuer that is not known here
	CodeOtherAudience = "token-audience"   // for somebody else
	CodeExpired       = "token-expired"    // or not valid yet
	CodeUnverified    = "token-unverified" // signature, algorithm, kind or claims are not as they must be
	CodeUnknownClient = "token-client"     // no client is registered under the name in the token
	CodeInactive      = "token-inactive"   // the issuer says that it is not active
)

// UnavailableError is an issuer that could not be asked about a token: answer 503 (fail closed).
type UnavailableError struct {
	Issuer string // its ID
	Err    error
}

// Error names the issuer and the cause.
func (e *UnavailableError) Error() string {
	return "ask token issuer " + e.Issuer + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

const (
	// defaultIntrospectionCache and maxIntrospectionCache bound how long an answer is believed.
	defaultIntrospectionCache = 30 * time.Second
	maxIntrospectionCache     = 10 * time.Minute
	// externalRetry bounds how often an issuer is asked of which nothing is known yet.
	externalRetry = 10 * time.Second
	// jwtRecheck bounds how long a JWT is believed after the keys of its issuer were looked at.
	jwtRecheck = 10 * time.Minute
	// introspectionsAtOnce bounds what a flood of made-up tokens asks of an issuer.
	introspectionsAtOnce = 16
)

// external is an [External] in use.
type external struct {
	External
	asking  chan struct{} // a place for each introspection that is under way
	trouble atomic.Pointer[error]
}

// Check fills in defaults and judges one issuer; its error is for the operator.
func (x *External) Check(ours string, plain bool) error {
	x.defaults(ours)
	issuer, err := url.Parse(x.Issuer)
	switch {
	case x.ID == "":
		return errors.New("id is missing")
	case err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "":
		return errors.New("issuer is missing, or no address without query and fragment")
	case x.Issuer == ours:
		return errors.New("issuer is this Schakel itself, whose tokens are taken anyway")
	case x.ClientScopes && len(x.Scopes) > 0:
		return errors.New("scopes: give map or from-client, not both")
	}
	for name, address := range x.addresses() {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && !plain {
			return fmt.Errorf("%s must be an https address", name)
		}
	}
	for _, alg := range x.Algorithms {
		if !slices.Contains(assertionAlgs, alg) {
			return fmt.Errorf("algorithms: %q is not taken; choose of %v", alg, assertionAlgs)
		}
	}
	if in := x.Introspection; in != nil {
		switch {
		case in.ClientID == "":
			return errors.New("introspection: client-id is missing, which is ours at the issuer")
		case in.Cache < 0 || in.Cache > maxIntrospectionCache:
			return fmt.Errorf("introspection: cache must be between 0s and %s", maxIntrospectionCache)
		case x.JWKSURI != "":
			return errors.New("jwks-uri is not used with introspection: give one of them")
		}
	}
	return nil
}

func (x *External) defaults(ours string) {
	if len(x.Audiences) == 0 {
		x.Audiences = []string{ours}
	}
	if len(x.Types) == 0 {
		x.Types = []string{accessType}
	}
	for i, typ := range x.Types {
		x.Types[i] = strings.TrimPrefix(strings.ToLower(typ), "application/")
	}
	if len(x.Algorithms) == 0 {
		x.Algorithms = assertionAlgs
	}
	if len(x.ClientClaims) == 0 {
		x.ClientClaims = []string{"client_id", "azp", "sub"}
	}
	if x.ScopeClaim == "" {
		x.ScopeClaim = "scope"
	}
	if in := x.Introspection; in != nil && in.Cache == 0 {
		in.Cache = defaultIntrospectionCache
	}
}

// addresses lists the configured addresses by their names in the file of an issuer.
func (x *External) addresses() map[string]string {
	found := map[string]string{"issuer": x.Issuer}
	if x.JWKSURI != "" {
		found["jwks-uri"] = x.JWKSURI
	}
	if x.Introspection != nil && x.Introspection.Endpoint != "" {
		found["introspection: endpoint"] = x.Introspection.Endpoint
	}
	return found
}

// setExternals prepares the other issuers of a configuration.
func (i *Issuer) setExternals() error {
	opaque := ""
	for _, given := range i.cfg.Externals {
		x := &external{External: given, asking: make(chan struct{}, introspectionsAtOnce)}
		if err := x.Check(i.cfg.Issuer, i.cfg.AllowHTTP); err != nil {
			return fmt.Errorf("token issuer %s: %w", given.ID, err)
		}
		for _, other := range i.externals {
			if other.ID == x.ID || other.Issuer == x.Issuer {
				return fmt.Errorf("token issuer %s: another one has the same id or issuer", x.ID)
			}
		}
		if x.Introspection != nil && x.Introspection.Opaque {
			if opaque != "" {
				return fmt.Errorf("token issuer %s: introspection: opaque is taken by %s; a token that is no JWT does not say whose it is", x.ID, opaque)
			}
			opaque = x.ID
		}
		i.externals = append(i.externals, x)
	}
	if len(i.externals) > 0 && (i.cfg.HTTP == nil || i.cfg.ExternalClients == nil) {
		return errors.New("token issuers need an HTTP client, and clients to find")
	}
	i.metadata = newLoader(i.cfg.Now, remoteCacheSize, i.loadMetadata)
	i.asked = newLoader[introspected](i.cfg.Now, clientCacheSize, nil) // by tokens, of which the key is a digest
	i.known = newLoader(i.cfg.Now, clientCacheSize, i.loadKnown)
	return nil
}

// refuse is a refusal with a code of its own.
func refuse(code, reason string) error { return &InvalidTokenError{Reason: reason, Code: code} }

// knownKey joins the parts of a key of known.
const knownKey = "\x00"

// loadKnown answers a client without an id for one that nobody registered, so that its tokens do not ask the storage at every request.
func (i *Issuer) loadKnown(ctx context.Context, key string, _ Client) (Client, error) {
	issuer, id, _ := strings.Cut(key, knownKey)
	client, err := i.cfg.ExternalClients.ExternalClient(ctx, issuer, id)
	if errors.Is(err, ErrUnknownClient) {
		return Client{}, nil
	}
	if err != nil {
		return Client{}, fmt.Errorf("find client of token issuer %s: %w", issuer, err)
	}
	return client, nil
}

// stillKnown checks what may have changed since a token of another issuer was first seen, and puts our client into its claims.
func (i *Issuer) stillKnown(ctx context.Context, v *verified, now time.Time) error {
	if !v.claims.ExpiresAt.IsZero() && !now.Before(v.claims.ExpiresAt) {
		return refuse(CodeExpired, "the token has expired")
	}
	client, err := i.known.get(ctx, v.known, clientMaxAge)
	switch {
	case err != nil:
		return fmt.Errorf("verify access token: %w", err)
	case client.ID == "":
		return refuse(CodeUnknownClient, "no client here is registered under the name that the issuer gives it; an administrator enters it at the client")
	case client.Status != StatusActive:
		return refuse(CodeInactive, "the client is not active here, ask the administrator")
	case client.CertificateBound && v.claims.Thumbprint == "":
		return refuse(CodeUnverified, "the client is to use tokens that are bound to its certificate, and the issuer gave one that is not")
	}
	if client.DPoPBound && v.claims.Key == "" {
		return refuse(CodeUnverified, "the client is to use tokens that are bound to a key (DPoP), and the issuer gave one that is not")
	}
	v.claims.ClientID, v.claims.PartnerID, v.claims.Client = client.ID, client.PartnerID, client
	if v.from.ClientScopes {
		v.claims.Scopes = client.Scopes
		return nil
	}
	beyond := func(s string) bool { return !slices.Contains(client.Scopes, s) }
	if slices.ContainsFunc(v.claims.Scopes, beyond) { // an issuer may give more than we do
		v.claims.Scopes = slices.DeleteFunc(slices.Clone(v.claims.Scopes), beyond)
	}
	return nil
}
