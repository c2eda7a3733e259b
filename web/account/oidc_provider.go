package account

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/web/site"
)

// oidcTimeout bounds the talk with the provider during one login.
const oidcTimeout = 15 * time.Second

// oidcLogin knows the provider once it was reached: a provider that is down when
// the program starts keeps nobody else from logging in.
type oidcLogin struct {
	Cfg      site.OIDCConfig
	redirect string
	seal     cipher.AEAD // of what browsers keep

	mu       sync.Mutex
	provider *oidc.Provider
	more     metadata
	keys     *keptKeys // of logout tokens
}

// metadata holds what a provider publishes of itself besides the endpoints of a login.
type metadata struct {
	EndSession string `json:"end_session_endpoint"`
	// NamesItself is set when its answers have the parameter iss (RFC 9207).
	NamesItself bool `json:"authorization_response_iss_parameter_supported"`
}

func newOIDCLogin(cfg site.OIDCConfig, base *url.URL) (*oidcLogin, error) {
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		cfg.Scopes = append([]string{oidc.ScopeOpenID}, cfg.Scopes...)
	}
	seal, err := attemptSeal(cfg.ClientSecret)
	if err != nil {
		return nil, fmt.Errorf("make seal of logins: %w", err)
	}
	return &oidcLogin{Cfg: cfg, redirect: base.Scheme + "://" + base.Host + callbackPath(cfg), seal: seal}, nil
}

// callbackPath gives the path at which a provider answers.
func callbackPath(cfg site.OIDCConfig) string {
	if cfg.OwnRedirect {
		return "/login/oidc/callback/" + cfg.ID
	}
	return "/login/oidc/callback"
}

// discover reads the provider's metadata, once.
func (l *oidcLogin) discover(ctx context.Context) (*oidc.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider != nil {
		return l.provider, nil
	}
	// The provider keeps this context for later key fetches: it must not end with the request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), oidcTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, l.Cfg.HTTP), l.Cfg.Issuer)
	if err == nil {
		err = provider.Claims(&l.more)
	}
	if err != nil {
		return nil, fmt.Errorf("discover OpenID provider: %w", err)
	}
	l.provider = provider
	return provider, nil
}

// namesItself reports whether the provider says that its answers name it.
func (l *oidcLogin) namesItself(ctx context.Context) bool {
	_, err := l.discover(ctx)
	return err == nil && l.more.NamesItself
}

func (l *oidcLogin) oauth(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.Cfg.ClientID, ClientSecret: l.Cfg.ClientSecret,
		Endpoint: p.Endpoint(), RedirectURL: l.redirect, Scopes: l.Cfg.Scopes,
	}
}

// start is the address at the provider where the login begins. To renew, the provider asks nothing; to prove, it asks who it is also of who
// is logged in there.
func (l *oidcLogin) start(ctx context.Context, attempt oidcAttempt) (string, error) {
	p, err := l.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(attempt.Nonce), oauth2.S256ChallengeOption(attempt.Proof)}
	switch attempt.Purpose {
	case toRenew:
		options = append(options, oauth2.SetAuthURLParam("prompt", "none"))
	case toProve:
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return l.oauth(p).AuthCodeURL(attempt.State, options...), nil
}

// errIdentityRefused reports that the answer of the provider cannot be trusted.
var errIdentityRefused = errors.New("identity refused")

// finish trades the code for an ID token and checks it.
func (l *oidcLogin) finish(ctx context.Context, code string, attempt oidcAttempt, now func() time.Time) (identity.Identity, error) {
	p, err := l.discover(ctx)
	if err != nil {
		return identity.Identity{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.Cfg.HTTP), oidcTimeout)
	defer cancel()
	tokens, err := l.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(attempt.Proof))
	if err != nil {
		return identity.Identity{}, fmt.Errorf("%w: trade code: %w", errIdentityRefused, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: l.Cfg.ClientID, Now: now}).Verify(ctx, raw)
	if err != nil {
		return identity.Identity{}, fmt.Errorf("%w: %w", errIdentityRefused, err)
	}
	if attempt.Nonce == "" || id.Nonce != attempt.Nonce {
		return identity.Identity{}, fmt.Errorf("%w: nonce differs", errIdentityRefused)
	}
	claims, err := l.claims(ctx, p, id, tokens)
	if err != nil {
		return identity.Identity{}, err
	}
	return l.identity(id, raw, claims), nil
}

// claims merges the claims of an ID token with those of the userinfo endpoint, where the token lacks one that is read.
func (l *oidcLogin) claims(ctx context.Context, p *oidc.Provider, id *oidc.IDToken, tokens *oauth2.Token) (map[string]any, error) {
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", errIdentityRefused, err)
	}
	lacks := func(name string) bool { return len(token.ClaimTexts(claims, name)) == 0 }
	if p.UserInfoEndpoint() == "" || !slices.ContainsFunc(l.Cfg.Claims(), lacks) {
		return claims, nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("ask userinfo: %w", err)
	}
	if info.Subject != id.Subject {
		return nil, fmt.Errorf("%w: userinfo is about somebody else", errIdentityRefused)
	}
	all := map[string]any{}
	if err := info.Claims(&all); err != nil {
		return nil, fmt.Errorf("%w: %w", errIdentityRefused, err)
	}
	maps.Copy(all, claims) // what is signed goes before
	return all, nil
}

func (l *oidcLogin) identity(id *oidc.IDToken, raw string, claims map[string]any) identity.Identity {
	text := func(name string) string { return cmp.Or(token.ClaimTexts(claims, name)...) }
	found := identity.Identity{
		Issuer: id.Issuer, Subject: id.Subject, Name: text("name"), Email: text("email"), EmailVerified: site.EmailVerified(claims),
		Administrator: l.Cfg.Administrator(claims), Partner: l.Cfg.PartnerOf(claims), Session: text("sid"), Token: raw,
	}
	if at, ok := claims["auth_time"].(float64); ok {
		found.ProvedAt = time.Unix(int64(at), 0)
	}
	return found
}
