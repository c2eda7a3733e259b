package site

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Fields of the page that asks who somebody is. They are none of the forms that wait behind it.
const (
	proofForm     = "proof-form" // the form that waits, sealed
	proofPassword = "proof-password"
	proofCode     = "proof-code"
	proofPasskey  = "passkey"
)

// RequireProof asks people to prove again who they are, when their last proof is too old, before it handles a form that changes the receiver of
// data, the people or the keys: a session that was stolen does not get past it. The form waits, sealed, on the page that asks, and
// is handled as it was sent. It stands behind RequireLogin.
func (a *App) RequireProof(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := SessionOf(c)
		form, err := ReadForm(c)
		if err != nil {
			return err
		}
		path, sealed := c.Request().URL.Path, form.Raw(proofForm)
		if sealed == "" {
			if s.ProvedRecently {
				return next(c)
			}
			sealed = a.Cfg.Accounts.SealForm(s.AccountID, path, form.values.Encode())
			a.keepForm(c, s, sealed)
			return a.askProof(c, s, sealed, http.StatusForbidden, "", "")
		}
		text, err := a.Cfg.Accounts.OpenForm(s.AccountID, path, sealed)
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("site.proof-form")).SetInternal(err)
		}
		waiting, err := url.ParseQuery(text)
		if err != nil {
			return err
		}
		// Who proved it at a provider sends the form from the page after that; the proof may be too old by then.
		switch atProvider := a.provesAt(s) != nil; {
		case atProvider && !s.ProvedRecently:
			return a.askProof(c, s, sealed, http.StatusForbidden, "", "")
		case !atProvider:
			field, wrong, err := a.checkProof(c, s, form)
			if err != nil {
				return err
			}
			if wrong != "" {
				return a.askProof(c, s, sealed, http.StatusForbidden, field, wrong)
			}
			if err := cmp.Or(a.Cfg.Accounts.Proved(c.Request().Context(), a.CurrentSession(c)), a.RenewToken(c)); err != nil {
				return err
			}
		}
		a.KeepSealed(c, waitingForm, "")
		r := c.Request()
		r.PostForm, r.Form = waiting, waiting // ReadForm gives them to the handler
		return next(c)
	}
}

// RequireProofOfFactor is RequireProof for a form that itself asks for the password: whoever has a second factor gives that too.
func (a *App) RequireProofOfFactor(next echo.HandlerFunc) echo.HandlerFunc {
	proved := a.RequireProof(next)
	return func(c echo.Context) error {
		if SessionOf(c).Account.Factors > 0 {
			return proved(c)
		}
		return next(c)
	}
}

// checkProof checks a second factor, or the password of who has none. It gives what is wrong, with the field.
func (a *App) checkProof(c echo.Context, s identity.Session, form Form) (field string, wrong i18n.Message, err error) {
	ctx := c.Request().Context()
	device := a.DeviceOf(c)
	if s.Account.Factors > 0 {
		field = proofCode
		wrong, err = a.FactorProblem(ctx, a.Cfg.Accounts.CheckFactor(ctx, s.Account, identity.FactorTry{
			Code: form.Raw(proofCode), Passkey: form.Raw(proofPasskey), Challenge: a.TakeChallenge(c), Addr: c.RealIP(), Device: device,
		}))
		return field, wrong, err
	}
	field = proofPassword
	err = a.Cfg.Accounts.CheckPassword(ctx, s.Account, form.Raw(proofPassword), c.RealIP(), device)
	if errors.Is(err, identity.ErrLogin) {
		return field, "site.proof-password-wrong", nil
	}
	wrong, err = a.FactorProblem(ctx, err)
	return field, wrong, err
}

// FactorProblem describes the problem of a second factor to people; empty for none.
func (a *App) FactorProblem(ctx context.Context, err error) (i18n.Message, error) {
	if errors.Is(err, identity.ErrFactor) {
		return "site.factor-wrong", nil
	}
	if e, ok := errors.AsType[*registry.ThrottledError](err); ok {
		return i18n.M("site.throttled", i18n.Duration(ctx, e.After.Round(time.Second)+time.Second)), nil
	}
	return "", err
}

func (a *App) askProof(c echo.Context, s identity.Session, sealed string, status int, field string, wrong i18n.Message) error {
	ctx := c.Request().Context()
	v := ui.ProofView{Action: c.Request().URL.RequestURI(), Sealed: sealed, Email: s.Account.Email, Field: field, Wrong: wrong}
	if s.Account.Factors > 0 {
		options, err := a.AskPasskey(c, s.AccountID)
		if err != nil {
			return err
		}
		v.Factor = &options
	}
	v.Password = s.Account.PasswordHash != ""
	if at := a.provesAt(s); at != nil {
		v.ProviderLabel, v.ProviderHref = at.Label, ProviderHref(*at, "prove", "")
	}
	p := a.Page(c, i18n.T(ctx, "site.proof"))
	p.Lead = i18n.T(ctx, "site.proof-lead")
	p.Invalid = wrong != ""
	return a.Render(c, status, ui.ProofPage(p, v))
}

// AskPasskey makes the part of a page that asks for a second factor of an account, and keeps the challenge of its passkeys.
func (a *App) AskPasskey(c echo.Context, accountID string) (ui.FactorView, error) {
	options, challenge, codes, err := a.Cfg.Accounts.PasskeyRequest(c.Request().Context(), accountID)
	if challenge != "" {
		a.KeepChallenge(c, challenge)
	}
	return ui.FactorView{PasskeyOptions: options, App: codes}, err
}

// waitingForm names the form that waits in the session until its sender proved at a provider who it is.
const waitingForm = "waiting-form"

// provesAt is the provider where somebody proves who it is: with nothing to prove it here, the one of the session, or the only one.
func (a *App) provesAt(s identity.Session) *OIDCConfig {
	if s.Account.PasswordHash != "" || s.Account.Factors > 0 {
		return nil
	}
	for i, cfg := range a.Cfg.OIDC {
		if cfg.Issuer == s.Provider {
			return &a.Cfg.OIDC[i]
		}
	}
	return nil
}

// keepForm keeps a form, sealed, while its sender is at the provider: nothing of it goes there.
func (a *App) keepForm(c echo.Context, s identity.Session, sealed string) {
	if a.provesAt(s) != nil {
		a.KeepSealed(c, waitingForm, c.Request().URL.RequestURI()+" "+sealed)
	}
}

// WaitingForm returns the form that waits, sealed, and where it goes; ok is false when none does.
func (a *App) WaitingForm(c echo.Context) (action, sealed string, ok bool) {
	return strings.Cut(a.KeptSealed(c, waitingForm), " ")
}

// ProviderHref leads to a provider, for a login or for what else purpose names, and to the page next after that.
func ProviderHref(cfg OIDCConfig, purpose, next string) string {
	q := url.Values{}
	for name, value := range map[string]string{"provider": cfg.ID, "for": purpose, "next": next} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/login/oidc"
	}
	return "/login/oidc?" + q.Encode()
}

// deviceAge is the lifetime of the cookie of a browser that its user logged in with, in seconds.
const deviceAge = 400 * 24 * 60 * 60

// DeviceCookie lets an owner log in while others guess the password. It is worth nothing without the password.
func (a *App) DeviceCookie(value string) *http.Cookie {
	cookie := &http.Cookie{Name: "schakel-device", Value: value, Path: "/", MaxAge: deviceAge, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if a.HTTPS() {
		cookie.Name, cookie.Secure = "__Host-schakel-device", true
	}
	return cookie
}

// TrustDevice has a browser keep that the owner of an account logged in there.
func (a *App) TrustDevice(c echo.Context, account string) error {
	device, err := a.Cfg.Accounts.TrustDevice(c.Request().Context(), account, a.DeviceOf(c))
	if err != nil {
		return err
	}
	c.SetCookie(a.DeviceCookie(device))
	return nil
}

// DeviceOf returns what this browser keeps of an earlier login; empty when it keeps nothing.
func (a *App) DeviceOf(c echo.Context) string { return cookieText(c, a.DeviceCookie("").Name) }
