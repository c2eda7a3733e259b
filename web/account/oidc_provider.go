package account

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"schakel/registry/identity"
	"schakel/web/site"
)

// oidcTimeout bounds the talk with the provider during one login.
const oidcTimeout = 15 * time.Second

// oidcLogin knows the provider once it was reached: a provider that is down when
// the program starts keeps nobody else from logging in.
type oidcLogin struct {
	Cfg      site.OIDCConfig
	redirect string
	seal     cipher.AEAD // of attempts, which browsers keep

	mu       sync.Mutex
	provider *oidc.Provider
}

func newOIDCLogin(cfg site.OIDCConfig, base *url.URL) (*oidcLogin, error) {
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		cfg.Scopes = append([]string{oidc.ScopeOpenID}, cfg.Scopes...)
	}
	seal, err := attemptSeal(cfg.ClientSecret)
	if err != nil {
		return nil, fmt.Errorf("make seal of logins: %w", err)
	}
	return &oidcLogin{Cfg: cfg, redirect: base.Scheme + "://" + base.Host + "/login/oidc/callback", seal: seal}, nil
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
	if err != nil {
		return nil, fmt.Errorf("discover OpenID provider: %w", err)
	}
	l.provider = provider
	return provider, nil
}

func (l *oidcLogin) oauth(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.Cfg.ClientID, ClientSecret: l.Cfg.ClientSecret,
		Endpoint: p.Endpoint(), RedirectURL: l.redirect, Scopes: l.Cfg.Scopes,
	}
}

// start is the address at the provider where the login begins.
func (l *oidcLogin) start(ctx context.Context, state, nonce, proof string) (string, error) {
	p, err := l.discover(ctx)
	if err != nil {
		return "", err
	}
	return l.oauth(p).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(proof)), nil
}

// errIdentityRefused reports that the answer of the provider cannot be trusted.
var errIdentityRefused = errors.New("identity refused")

// finish trades the code for an ID token and checks it.
func (l *oidcLogin) finish(ctx context.Context, code, nonce, proof string, now func() time.Time) (identity.Identity, error) {
	p, err := l.discover(ctx)
	if err != nil {
		return identity.Identity{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.Cfg.HTTP), oidcTimeout)
	defer cancel()
	tokens, err := l.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(proof))
	if err != nil {
		return identity.Identity{}, fmt.Errorf("%w: trade code: %w", errIdentityRefused, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	verifier := p.VerifierContext(ctx, &oidc.Config{ClientID: l.Cfg.ClientID, Now: now})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return identity.Identity{}, fmt.Errorf("%w: %w", errIdentityRefused, err)
	}
	if nonce == "" || id.Nonce != nonce {
		return identity.Identity{}, fmt.Errorf("%w: nonce differs", errIdentityRefused)
	}
	return l.identity(id)
}

func (l *oidcLogin) identity(id *oidc.IDToken) (identity.Identity, error) {
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return identity.Identity{}, fmt.Errorf("%w: %w", errIdentityRefused, err)
	}
	name, _ := claims["name"].(string)
	email, _ := claims["email"].(string)
	return identity.Identity{
		Issuer: id.Issuer, Subject: id.Subject, Name: name, Email: email,
		Administrator: l.Cfg.Administrator(claims),
	}, nil
}
