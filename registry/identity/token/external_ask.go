package token

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
)

// serverMetadata holds what we need of the metadata of an issuer (RFC 8414, OpenID Connect Discovery).
type serverMetadata struct {
	Issuer        string `json:"issuer"`
	JWKSURI       string `json:"jwks_uri"`
	Introspection string `json:"introspection_endpoint"`
}

// discovered is the outcome of reading metadata. A failure is kept too, so that an issuer that is down is not asked at every request.
type discovered struct {
	meta   serverMetadata
	goodAt time.Time
	err    error
}

// metadataOf finds the metadata of an issuer. It is read again each hour; what was read serves for a day while the issuer cannot be reached.
func (i *Issuer) metadataOf(ctx context.Context, x *external, maxAge time.Duration) (serverMetadata, error) {
	found, err := i.metadata.get(ctx, x.ID, maxAge)
	if err == nil && found.goodAt.IsZero() {
		found, err = i.metadata.get(ctx, x.ID, externalRetry)
	}
	if err == nil && found.goodAt.IsZero() {
		err = found.err
	}
	return found.meta, err
}

func (i *Issuer) loadMetadata(ctx context.Context, id string, old discovered) (discovered, error) {
	x := i.externals[slices.IndexFunc(i.externals, func(x *external) bool { return x.ID == id })]
	meta, err := i.discover(ctx, x)
	now := i.cfg.Now()
	if err == nil {
		return discovered{meta: meta, goodAt: now}, nil
	}
	if now.Sub(old.goodAt) < remoteStale {
		return discovered{old.meta, old.goodAt, err}, nil
	}
	return discovered{err: err}, nil
}

// discover asks for the metadata at the addresses where the standards have them, the one of OAuth first.
func (i *Issuer) discover(ctx context.Context, x *external) (meta serverMetadata, err error) {
	base, err := url.Parse(x.Issuer)
	if err != nil {
		return meta, err
	}
	root, path := base.Scheme+"://"+base.Host, strings.TrimSuffix(base.EscapedPath(), "/")
	addresses := []string{root + "/.well-known/oauth-authorization-server" + path, root + path + "/.well-known/openid-configuration"}
	for _, address := range addresses {
		var raw []byte
		if raw, err = i.fetch(ctx, address, "metadata", "application/json"); err != nil {
			continue
		}
		meta = serverMetadata{}
		switch err = json.Unmarshal(raw, &meta); {
		case err != nil:
			err = fmt.Errorf("read metadata at %s: it is no JSON object", address)
		case meta.Issuer != x.Issuer:
			err = fmt.Errorf("read metadata at %s: it is of another issuer", address)
		case i.insecure(meta.JWKSURI) || i.insecure(meta.Introspection):
			err = fmt.Errorf("read metadata at %s: it names an address without https", address)
		default:
			return meta, nil
		}
	}
	return serverMetadata{}, err
}

func (i *Issuer) insecure(address string) bool {
	return address != "" && !strings.HasPrefix(address, "https://") && !i.cfg.AllowHTTP
}

// introspected is an answer about a token: the token, or why it is refused.
type introspected struct {
	v       verified
	refused error
}

// readIntrospected asks the issuer about a token, or believes what it said a moment ago.
func (i *Issuer) readIntrospected(ctx context.Context, x *external, bearer string, now time.Time) (verified, error) {
	if strings.ContainsFunc(bearer, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return verified{}, refuse(CodeUnverified, "the token has characters that no token has")
	}
	// A token is a secret, so memory keeps its digest alone.
	sum := tokenKey(bearer)
	key := x.ID + knownKey + string(sum[:])
	load := func(ctx context.Context, _ string, _ introspected) (introspected, error) {
		return i.introspect(ctx, x, bearer)
	}
	got, err := i.asked.getBy(ctx, key, x.Introspection.Cache, load)
	if err == nil && got.refused == nil && !now.Before(got.v.until) {
		got, err = i.asked.getBy(ctx, key, 0, load)
	}
	if err != nil {
		if _, ok := errors.AsType[*UnavailableError](err); !ok {
			err = &UnavailableError{x.ID, err}
		}
		return verified{}, err
	}
	return got.v, got.refused
}

// introspect asks an issuer about a token (RFC 7662).
func (i *Issuer) introspect(ctx context.Context, x *external, bearer string) (introspected, error) {
	select {
	case x.asking <- struct{}{}:
		defer func() { <-x.asking }()
	default:
		return introspected{}, &UnavailableError{x.ID, errors.New("too many tokens are being asked about at once")}
	}
	now := i.cfg.Now()
	claims, err := i.ask(ctx, x, bearer)
	x.trouble.Store(&err)
	if err != nil {
		return introspected{}, &UnavailableError{x.ID, err}
	}
	if active, _ := claims["active"].(bool); !active {
		return introspected{refused: refuse(CodeInactive, "the issuer of the token says that it is not active")}, nil
	}
	v, err := x.read(claims, now)
	if err != nil {
		return introspected{refused: err}, nil
	}
	v.until = now.Add(x.Introspection.Cache)
	if end := v.claims.ExpiresAt; !end.IsZero() {
		if half := now.Add(end.Sub(now) / 2); half.Before(v.until) { // SEC-11
			v.until = half
		}
	}
	return introspected{v: v}, nil
}

// ask sends a token to the introspection endpoint of its issuer, with the proof who we are.
func (i *Issuer) ask(ctx context.Context, x *external, bearer string) (map[string]any, error) {
	endpoint := x.Introspection.Endpoint
	if endpoint == "" {
		meta, err := i.metadataOf(ctx, x, remoteMaxAge)
		if err != nil {
			return nil, err
		}
		if endpoint = meta.Introspection; endpoint == "" {
			return nil, errors.New("its metadata names no introspection_endpoint: give introspection: endpoint in its file")
		}
	}
	form := url.Values{"token": {bearer}, "token_type_hint": {"access_token"}}
	if x.Introspection.ClientSecret == "" {
		assertion, err := i.assertion(ctx, x.Introspection.ClientID, x.Issuer)
		if err != nil {
			return nil, err
		}
		form.Set("client_id", x.Introspection.ClientID)
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("address introspection: %w", err)
	}
	if secret := x.Introspection.ClientSecret; secret != "" {
		req.SetBasicAuth(url.QueryEscape(x.Introspection.ClientID), url.QueryEscape(secret))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	raw, err := i.do(req, "introspection", "application/json")
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := json.Unmarshal(raw, &claims); err != nil {
		return nil, errors.New("the answer of introspection is no JSON object")
	}
	if _, ok := claims["active"].(bool); !ok {
		return nil, errors.New("the answer of introspection has no member active")
	}
	return claims, nil
}

// assertion proves who we are at another issuer, with the key of our tokens, which our JWKS publishes.
func (i *Issuer) assertion(ctx context.Context, clientID, audience string) (string, error) {
	keys, err := i.keys.get(ctx, "", keysMaxAge)
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	now := i.cfg.Now()
	key, err := keys.signer(now)
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	opts := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", key.KID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: cryptosigner.Opaque(key.Private)}, opts)
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: clientID, Subject: clientID, Audience: jwt.Audience{audience}, ID: uuid.NewString(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLife)),
	}).Serialize()
}

// fetch reads a document from an address, without following redirects.
func (i *Issuer) fetch(ctx context.Context, address, what, accept string) ([]byte, error) {
	if i.cfg.HTTP == nil {
		return nil, fmt.Errorf("%s is not enabled", what)
	}
	if i.insecure(address) {
		return nil, fmt.Errorf("%s must be https", what)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", what, err)
	}
	return i.do(req, what, accept)
}

func (i *Issuer) do(req *http.Request, what, accept string) ([]byte, error) {
	req.Header.Set("Accept", accept)
	res, err := i.plainClient().Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", what, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: status %d", what, res.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxJWKSBytes+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", what, err)
	}
	if len(raw) > maxJWKSBytes {
		return nil, fmt.Errorf("fetch %s: the answer is larger than 64 KiB", what)
	}
	return raw, nil
}

// Troubles asks each other issuer for its keys, unless they were asked for within the hour, and lists those that cannot be asked. What was
// fetched before still serves for a day.
func (i *Issuer) Troubles(ctx context.Context) (list []error) {
	for _, x := range i.externals {
		var err error
		if x.Introspection != nil {
			if last := x.trouble.Load(); last != nil {
				err = *last
			}
			if err == nil && x.Introspection.Endpoint == "" {
				_, err = i.metadataOf(ctx, x, remoteMaxAge)
			}
		} else {
			err = i.keysTrouble(ctx, x)
		}
		if err != nil {
			list = append(list, &UnavailableError{x.ID, err})
		}
	}
	return list
}

func (i *Issuer) keysTrouble(ctx context.Context, x *external) error {
	known, err := i.externalKeys(ctx, x, remoteMaxAge)
	if err == nil && known.err != nil { // it may have come back
		known, err = i.externalKeys(ctx, x, remoteRefetch)
	}
	if err == nil {
		err = known.err
	}
	return err
}

// tokenKey is the key under which a token is kept.
func tokenKey(bearer string) [32]byte { return sha256.Sum256([]byte(bearer)) }
