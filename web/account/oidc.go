package account

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
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
		return echo.NewHTTPError(http.StatusBadRequest, "This login was not started in this browser, or took too long. Start again from the login page.")
	}
	if c.QueryParam("code") == "" {
		return echo.NewHTTPError(http.StatusForbidden, "The provider did not let you in. Start again from the login page.")
	}
	id, err := a.oidc.finish(c.Request().Context(), c.QueryParam("code"), attempt.Nonce, attempt.Proof, a.Cfg.Now)
	if errors.Is(err, errIdentityRefused) {
		a.LogFailure(c, err)
		return echo.NewHTTPError(http.StatusForbidden, "What the provider sent back was not accepted. Start again from the login page.")
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
		return echo.NewHTTPError(http.StatusForbidden, "There is no account for you here. Ask the administrator for one.")
	case errors.Is(err, identity.ErrLogin):
		return echo.NewHTTPError(http.StatusForbidden, "This account cannot log in. Ask the administrator.")
	case refused && e.Fields["email"] != "":
		return echo.NewHTTPError(http.StatusForbidden, "The provider's e-mail address cannot be used for a new account: "+e.Fields["email"])
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
		"The provider of this login cannot be reached. Try again in a moment, or log in with a password.", 30*time.Second)
}

// sameText compares in constant time; nothing equals the empty text.
func sameText(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
