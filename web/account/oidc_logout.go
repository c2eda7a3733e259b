package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// leaving is the rest of a logout: where the provider ends its session too. The browser keeps it for a moment, since the content security
// policy lets no form lead elsewhere.
type leaving struct {
	To    string `json:"t"`
	Label string `json:"l"`
}

// maxHint bounds the ID token that goes along, so that the cookie stays smaller than browsers take. Without it the provider asks.
const maxHint = 2500

// leave returns where the session ends at its provider; nil where there is nothing to end.
func (a *logins) leave(c echo.Context, s identity.Session) (*oidcLogin, leaving) {
	for _, l := range a.providers {
		if s.Provider == "" || l.Cfg.Issuer != s.Provider {
			continue
		}
		if _, err := l.discover(c.Request().Context()); err != nil || l.more.EndSession == "" {
			return nil, leaving{}
		}
		to, err := url.Parse(l.more.EndSession)
		if err != nil {
			return nil, leaving{}
		}
		q := to.Query()
		q.Set("client_id", l.Cfg.ClientID)
		q.Set("post_logout_redirect_uri", a.Absolute("/login"))
		if hint := a.Cfg.Accounts.IDToken(s); hint != "" && len(hint) <= maxHint {
			q.Set("id_token_hint", hint)
		}
		to.RawQuery = q.Encode()
		return l, leaving{to.String(), l.Cfg.Label}
	}
	return nil, leaving{}
}

// leavePage sends who logged out here on to the provider, to log out there.
func (a *logins) leavePage(c echo.Context) error {
	var on leaving
	if !a.take(c, leavingName, &on) {
		return c.Redirect(http.StatusSeeOther, "/login")
	}
	c.Response().Header().Set("Refresh", "0; url="+on.To)
	c.Response().Header().Set("Referrer-Policy", "no-referrer")
	p := a.Page(c, i18n.T(c.Request().Context(), "account.leaving"))
	return a.Render(c, http.StatusOK, view.LeavingPage(p, on.Label, on.To))
}

// logoutWindow bounds the age of a logout token.
const logoutWindow = 10 * time.Minute

// logoutEvent is the event that a logout token must name (OpenID Connect Back-Channel Logout 1.0).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutClaims holds the claims of a logout token, besides issuer and audience.
type logoutClaims struct {
	Subject string                     `json:"sub"`
	Session string                     `json:"sid"`
	ID      string                     `json:"jti"`
	Issued  int64                      `json:"iat"`
	Expires int64                      `json:"exp"`
	Nonce   *json.RawMessage           `json:"nonce"`
	Events  map[string]json.RawMessage `json:"events"`
}

// backChannelLogout ends the sessions that a provider names in a logout token.
func (a *logins) backChannelLogout(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	out, err := a.checkLogout(c.Request().Context(), form.Raw("logout_token"))
	if err == nil {
		err = a.Cfg.Accounts.EndProviderSessions(c.Request().Context(), out)
		if err == nil {
			return c.NoContent(http.StatusOK)
		}
		if !errors.Is(err, identity.ErrLogoutRepeated) {
			return err
		}
	}
	a.LogFailure(c, fmt.Errorf("refuse logout token: %w", err))
	return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
}

// checkLogout checks a logout token against the providers that may have issued it.
func (a *logins) checkLogout(ctx context.Context, raw string) (identity.ProviderLogout, error) {
	err := errors.New("no provider issued it")
	for _, l := range a.providers {
		var out identity.ProviderLogout
		if out, err = l.checkLogout(ctx, raw, a.Cfg.Now); err == nil {
			return out, nil
		}
	}
	return identity.ProviderLogout{}, err
}

// logoutType is the type that a logout token has in its header.
const logoutType = "logout+jwt"

// checkType refuses what is no logout token by its header, so that another token of the provider cannot stand for one.
func (l *oidcLogin) checkType(raw string) error {
	if l.Cfg.UntypedLogout {
		return nil
	}
	var header struct {
		Type string `json:"typ"`
	}
	first, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err == nil {
		err = json.Unmarshal(text, &header)
	}
	if err != nil || !strings.EqualFold(header.Type, logoutType) {
		return fmt.Errorf("its type is %q and not %s; untyped-logout in the file of the provider takes it", header.Type, logoutType)
	}
	return nil
}

func (l *oidcLogin) checkLogout(ctx context.Context, raw string, now func() time.Time) (identity.ProviderLogout, error) {
	p, err := l.discover(ctx)
	if err != nil {
		return identity.ProviderLogout{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.keysClient(now)), oidcTimeout)
	defer cancel()
	// Older providers send no time of expiry; the time of issue bounds all.
	if err := l.checkType(raw); err != nil {
		return identity.ProviderLogout{}, err
	}
	token, err := p.VerifierContext(ctx, &oidc.Config{ClientID: l.Cfg.ClientID, Now: now, SkipExpiryCheck: true}).Verify(ctx, raw)
	if err != nil {
		return identity.ProviderLogout{}, err
	}
	var claims logoutClaims
	if err := token.Claims(&claims); err != nil {
		return identity.ProviderLogout{}, err
	}
	_, isLogout := claims.Events[logoutEvent]
	issued := time.Unix(claims.Issued, 0)
	switch age := now().Sub(issued); {
	case !isLogout || claims.Nonce != nil:
		return identity.ProviderLogout{}, errors.New("it is no logout token")
	case claims.ID == "" || claims.Subject == "" && claims.Session == "":
		return identity.ProviderLogout{}, errors.New("it names neither session nor subject, or has no jti")
	case claims.Issued == 0 || age > logoutWindow || age < -time.Minute || claims.Expires != 0 && now().After(time.Unix(claims.Expires, 0)):
		return identity.ProviderLogout{}, errors.New("it is not of now")
	}
	return identity.ProviderLogout{
		Issuer: token.Issuer, Subject: claims.Subject, Session: claims.Session, ID: claims.ID, Expires: issued.Add(2 * logoutWindow),
	}, nil
}
