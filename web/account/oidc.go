package account

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// providerOf returns the provider with an id, or the only one; nil for none.
func (a *logins) providerOf(id string) *oidcLogin {
	for _, l := range a.providers {
		if l.Cfg.ID == id || id == "" && len(a.providers) == 1 {
			return l
		}
	}
	return nil
}

// oidcStart sends the browser to a provider. It is a link and not a form,
// because the content security policy lets forms go nowhere but here.
func (a *logins) oidcStart(c echo.Context) error {
	l, purpose := a.providerOf(c.QueryParam("provider")), toLogIn
	if s := a.CurrentSession(c); s != nil && s.Provider != "" {
		if purpose = c.QueryParam("for"); purpose != toRenew && purpose != toProve {
			purpose = toLogIn
		}
	}
	// A page of another site must not log somebody in who did nothing here: the login page has the link.
	unasked := purpose == toLogIn && c.Request().Header.Get("Sec-Fetch-Site") == "cross-site"
	if l == nil || unasked {
		return c.Redirect(http.StatusSeeOther, "/login?"+url.Values{"next": {site.LocalPath(c.QueryParam("next"))}}.Encode())
	}
	attempt := newAttempt(l.Cfg.ID, purpose, site.LocalPath(c.QueryParam("next")), a.Cfg.Now())
	to, err := l.start(c.Request().Context(), attempt)
	if err != nil {
		if purpose == toRenew { // the session goes on for a while without
			a.LogFailure(c, fmt.Errorf("renew at provider: %w", err))
			return a.goOn(c, attempt.Next)
		}
		return a.providerDown(c, err)
	}
	if err := a.keep(c, l, attemptName, attempt, OIDCWindow); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// oidcCallback takes what the provider sent back and logs in. The browser forgets state, nonce and
// PKCE verifier, whatever comes of it; the code works once at the provider.
func (a *logins) oidcCallback(c echo.Context) error {
	var attempt oidcAttempt
	known := a.take(c, attemptName, &attempt)
	l := a.providerOf(attempt.Provider)
	if !known || l == nil || !sameText(attempt.State, c.QueryParam("state")) || a.Cfg.Now().Unix() >= attempt.Until {
		return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("account.provider-other-browser"))
	}
	if c.Request().URL.Path != callbackPath(l.Cfg) { // what another provider was asked, or to another address
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-answer"))
	}
	// RFC 9207: another provider answers, or one that names itself does not.
	if from := c.QueryParam("iss"); from != l.Cfg.Issuer && (from != "" || l.namesItself(c.Request().Context())) {
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-answer"))
	}
	if c.QueryParam("code") == "" {
		if attempt.Purpose == toRenew { // it would have to be asked: the session goes on for a while without
			return a.goOn(c, attempt.Next)
		}
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-refused"))
	}
	id, err := l.finish(c.Request().Context(), c.QueryParam("code"), attempt, a.Cfg.Now)
	if errors.Is(err, errIdentityRefused) {
		a.LogFailure(c, err)
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-answer"))
	}
	if err != nil {
		return a.providerDown(c, err)
	}
	if s := a.CurrentSession(c); s != nil && attempt.Purpose != toLogIn {
		return a.renewIdentity(c, *s, id, attempt)
	}
	return a.loginIdentity(c, id, attempt.Next)
}

func (a *logins) loginIdentity(c echo.Context, id identity.Identity, next string) error {
	account, err := a.Cfg.Accounts.LoginIdentity(c.Request().Context(), id)
	switch e, refused := errors.AsType[*registry.Error](err); {
	case errors.Is(err, identity.ErrNoAccount):
		return site.NoAccount(err)
	case errors.Is(err, identity.ErrLogin):
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-blocked"))
	case refused && e.Fields["email"] != "":
		return echo.NewHTTPError(http.StatusForbidden, i18n.M("account.provider-email", e.Fields["email"]))
	case err != nil:
		return err
	}
	if err := a.StartProviderSession(c, account, id); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, cmp.Or(next, site.HomeOf(&account)))
}

// provedWithin bounds how long before a proof was asked for a provider may say that it was given: clocks differ a little.
const provedWithin = time.Minute

// renewIdentity has a session go on for whom the provider says the same of, and ends it for all others. Who had to prove who it is goes
// to the form that waits. A provider that was asked with max_age=0 must say when it asked (OpenID Connect Core, 2 and 3.1.2.1); of one
// that never does, a round trip that began here with prompt=login is all the proof there can be.
func (a *logins) renewIdentity(c echo.Context, s identity.Session, id identity.Identity, attempt oidcAttempt) error {
	ctx := c.Request().Context()
	if attempt.Purpose == toProve && id.ProvedAt.IsZero() {
		id.ProvedAt = a.Cfg.Now()
	}
	err := a.Cfg.Accounts.Renew(ctx, s, id)
	if errors.Is(err, identity.ErrNoAccount) {
		if err := a.EndSession(c); err != nil {
			return err
		}
		return site.NoAccount(err)
	}
	if err != nil {
		return err
	}
	if attempt.Purpose == toRenew {
		return c.Redirect(http.StatusSeeOther, cmp.Or(attempt.Next, site.HomeOf(&s.Account)))
	}
	if id.ProvedAt.Before(time.Unix(attempt.From, 0).Add(-provedWithin)) {
		a.LogFailure(c, fmt.Errorf("%w: the provider did not ask who it is again", errIdentityRefused))
		return echo.NewHTTPError(http.StatusForbidden, i18n.Message("account.provider-not-proved"))
	}
	if err := a.RenewToken(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login/proved")
}

// proved shows the form that waited until its sender proved at a provider who it is, to be sent as it was typed.
func (a *logins) proved(c echo.Context) error {
	action, sealed, ok := a.WaitingForm(c)
	if !ok {
		return c.Redirect(http.StatusSeeOther, site.HomeOf(a.CurrentAccount(c)))
	}
	p := a.Page(c, i18n.T(c.Request().Context(), "site.proof"))
	p.Lead = i18n.T(c.Request().Context(), "site.proof-given")
	return a.Render(c, http.StatusOK, ui.ProofPage(p, ui.ProofView{Action: action, Sealed: sealed, Done: true}))
}

// goOn has a session go on for a while that the provider could not renew unseen.
func (a *logins) goOn(c echo.Context, next string) error {
	a.RenewLater(c)
	return c.Redirect(http.StatusSeeOther, cmp.Or(next, site.HomeOf(a.CurrentAccount(c))))
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
