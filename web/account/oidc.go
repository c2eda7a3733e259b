package account

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// OIDCWindow bounds the time of a login at the provider.
const OIDCWindow = 10 * time.Minute

// oidcStart sends the browser to the provider. It is a link and not a form,
// because the content security policy lets forms go nowhere but here.
func (a *logins) oidcStart(c echo.Context) error {
	attempt := newAttempt(site.LocalPath(c.QueryParam("next")), a.Cfg.Now().Add(OIDCWindow).Unix())
	to, err := a.oidc.start(c.Request().Context(), attempt.State, attempt.Nonce, attempt.Proof)
	if err != nil {
		return a.providerDown(c, err)
	}
	if err := a.keepAttempt(c, attempt); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// oidcCallback takes what the provider sent back and logs in. The browser forgets state, nonce and
// PKCE verifier, whatever comes of it; the code works once at the provider.
func (a *logins) oidcCallback(c echo.Context) error {
	attempt := a.takeAttempt(c)
	if !sameText(attempt.State, c.QueryParam("state")) || a.Cfg.Now().Unix() >= attempt.Until {
		return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("account.provider-other-browser"))
	}
	if c.QueryParam("code") == "" {
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-refused"))
	}
	id, err := a.oidc.finish(c.Request().Context(), c.QueryParam("code"), attempt.Nonce, attempt.Proof, a.Cfg.Now)
	if errors.Is(err, errIdentityRefused) {
		a.LogFailure(c, err)
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-answer"))
	}
	if err != nil {
		return a.providerDown(c, err)
	}
	return a.loginIdentity(c, id, attempt.Next)
}

func (a *logins) loginIdentity(c echo.Context, id identity.Identity, next string) error {
	account, err := a.Cfg.Accounts.LoginIdentity(c.Request().Context(), id)
	switch e, refused := errors.AsType[*registry.Error](err); {
	case errors.Is(err, identity.ErrNoAccount):
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-unknown"))
	case errors.Is(err, identity.ErrLogin):
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-blocked"))
	case refused && e.Fields["email"] != "":
		return echo.NewHTTPError(http.StatusForbidden, i18n.M("account.provider-email", e.Fields["email"]))
	case err != nil:
		return err
	}
	if err := a.StartSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, cmp.Or(next, site.HomeOf(&account)))
}

func (a *logins) providerDown(c echo.Context, err error) error {
	a.LogFailure(c, fmt.Errorf("log in at provider: %w", err))
	return site.RetryLater(http.StatusServiceUnavailable, "provider-down",
		"account.provider-down", 30*time.Second)
}

// sameText compares in constant time; nothing equals the empty text.
func sameText(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// maxNext bounds the address to go to after a login, so that the cookie stays smaller than browsers take.
const maxNext = 1000

// oidcAttempt is a login at the provider that began in a browser. The browser keeps it, sealed: a row of ours for everyone who
// follows a link would fill the database.
type oidcAttempt struct {
	State string `json:"s"` // what the provider must bring back
	Nonce string `json:"n"`
	Proof string `json:"p"` // PKCE verifier
	Next  string `json:"x"` // page to go to after the login
	Until int64  `json:"u"` // when it must be done, Unix seconds
}

func newAttempt(next string, until int64) oidcAttempt {
	if len(next) > maxNext {
		next = ""
	}
	return oidcAttempt{State: rand.Text(), Nonce: rand.Text(), Proof: oauth2.GenerateVerifier(), Next: next, Until: until}
}

// attemptSeal makes what seals attempts. Its key comes from our secret at the provider, which all nodes have.
func attemptSeal(clientSecret string) (cipher.AEAD, error) {
	secret := []byte(clientSecret)
	if len(secret) == 0 {
		secret = []byte(rand.Text())
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "schakel login attempt", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// keepAttempt gives the browser an attempt to keep.
func (a *logins) keepAttempt(c echo.Context, attempt oidcAttempt) error {
	text, err := json.Marshal(attempt)
	if err != nil {
		return err
	}
	sealed := a.oidc.seal.Seal(nil, nil, text, nil)
	c.SetCookie(a.attemptCookie(base64.RawURLEncoding.EncodeToString(sealed), int(OIDCWindow.Seconds())))
	return nil
}

// takeAttempt takes the attempt back from the browser; the zero one, which no answer fits, when there is none of ours.
func (a *logins) takeAttempt(c echo.Context) (attempt oidcAttempt) {
	cookie, err := c.Cookie(a.attemptCookie("", 0).Name)
	if err != nil {
		return oidcAttempt{}
	}
	c.SetCookie(a.attemptCookie("", -1))
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return oidcAttempt{}
	}
	text, err := a.oidc.seal.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(text, &attempt) != nil {
		return oidcAttempt{}
	}
	return attempt
}

// attemptCookie goes along when the provider sends the browser back, which is why it is not strict.
func (a *logins) attemptCookie(value string, maxAge int) *http.Cookie {
	cookie := &http.Cookie{Name: "schakel-login", Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if a.HTTPS() {
		cookie.Name, cookie.Secure = "__Host-schakel-login", true
	}
	return cookie
}

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
