package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"
	"schakel/registry"
)

// oidcWindow is how long a login at the provider may take.
const oidcWindow = 10 * time.Minute

// oidcStart sends the browser to the provider. It is a link and not a form,
// because the content security policy lets forms go nowhere but here.
func (a *App) oidcStart(c echo.Context) error {
	ctx := c.Request().Context()
	state, nonce, proof := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	to, err := a.oidc.start(ctx, state, nonce, proof)
	if err != nil {
		return a.providerDown(c, err)
	}
	a.sessions.Put(ctx, keyOIDCState, state)
	a.sessions.Put(ctx, keyOIDCNonce, nonce)
	a.sessions.Put(ctx, keyOIDCProof, proof)
	a.sessions.Put(ctx, keyOIDCUntil, a.cfg.Now().Add(oidcWindow).Unix())
	a.sessions.Put(ctx, keyNext, localPath(c.QueryParam("next")))
	return c.Redirect(http.StatusSeeOther, to)
}

// oidcCallback takes what the provider sent back and logs in. State, nonce and
// PKCE verifier work once, whatever comes of it.
func (a *App) oidcCallback(c echo.Context) error {
	ctx := c.Request().Context()
	state, nonce, proof := a.sessions.PopString(ctx, keyOIDCState), a.sessions.PopString(ctx, keyOIDCNonce), a.sessions.PopString(ctx, keyOIDCProof)
	until, next := a.popInt64(ctx, keyOIDCUntil), a.sessions.PopString(ctx, keyNext)
	if !sameText(state, c.QueryParam("state")) || a.cfg.Now().Unix() >= until {
		return echo.NewHTTPError(http.StatusBadRequest, "This login was not started in this browser, or took too long. Start again from the login page.")
	}
	if c.QueryParam("code") == "" {
		return echo.NewHTTPError(http.StatusForbidden, "The provider did not let you in. Start again from the login page.")
	}
	id, err := a.oidc.finish(ctx, c.QueryParam("code"), nonce, proof, a.cfg.Now)
	if errors.Is(err, errIdentityRefused) {
		a.logFailure(c, err)
		return echo.NewHTTPError(http.StatusForbidden, "What the provider sent back was not accepted. Start again from the login page.")
	}
	if err != nil {
		return a.providerDown(c, err)
	}
	return a.loginIdentity(c, id, next)
}

func (a *App) loginIdentity(c echo.Context, id registry.Identity, next string) error {
	account, err := a.cfg.Accounts.LoginIdentity(c.Request().Context(), id)
	switch e, refused := errors.AsType[*registry.Error](err); {
	case errors.Is(err, registry.ErrNoAccount):
		return echo.NewHTTPError(http.StatusForbidden, "There is no account for you here. Ask the administrator for one.")
	case errors.Is(err, registry.ErrLogin):
		return echo.NewHTTPError(http.StatusForbidden, "This account cannot log in. Ask the administrator.")
	case refused && e.Fields["email"] != "":
		return echo.NewHTTPError(http.StatusForbidden, "The provider's e-mail address cannot be used for a new account: "+e.Fields["email"])
	case err != nil:
		return err
	}
	if err := a.startSession(c, account.ID, account.SessionEpoch); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, orElse(next, homeOf(&account)))
}

func (a *App) providerDown(c echo.Context, err error) error {
	a.logFailure(c, fmt.Errorf("log in at provider: %w", err))
	return retryLater(http.StatusServiceUnavailable, "provider-down",
		"The provider of this login cannot be reached. Try again in a moment, or log in with a password.", 30*time.Second)
}

func (a *App) popInt64(ctx context.Context, key string) int64 {
	n := a.sessions.GetInt64(ctx, key)
	a.sessions.Remove(ctx, key)
	return n
}

// sameText compares in constant time; nothing equals the empty text.
func sameText(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
