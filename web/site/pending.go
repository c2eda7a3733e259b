package site

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/i18n"
)

// Keys of what a session holds of a login that is not complete, and of a passkey that is asked for.
const (
	keyPending   = "pending"   // a Pending, as JSON
	keyChallenge = "challenge" // what a passkey has to sign
)

// pendingFor bounds the time between a password and the second factor.
const pendingFor = 10 * time.Minute

// Pending is a login whose password was right and whose second factor is asked for.
type Pending struct {
	Account string    `json:"account"`
	Epoch   int64     `json:"epoch"` // session epoch of the account then: another password ends it
	Next    string    `json:"next"`  // page to go to after the login
	Until   time.Time `json:"until"`
}

// AwaitFactor keeps a login until its second factor, and gives the page that asks for it.
func (a *App) AwaitFactor(c echo.Context, account store.Account, next string) (to string, err error) {
	ctx := c.Request().Context()
	if err := a.sessions.RenewToken(ctx); err != nil {
		return "", err
	}
	text, err := json.Marshal(Pending{account.ID, account.SessionEpoch, next, a.Cfg.Now().Add(pendingFor)})
	if err != nil {
		return "", err
	}
	a.sessions.Put(ctx, keyPending, string(text))
	return "/login/factor", nil
}

// PendingLogin is the login that waits for its second factor in this browser; ok is false when none does.
func (a *App) PendingLogin(c echo.Context) (p Pending, ok bool) {
	text := a.sessions.GetString(c.Request().Context(), keyPending)
	if json.Unmarshal([]byte(text), &p) != nil || !a.Cfg.Now().Before(p.Until) {
		return Pending{}, false
	}
	return p, true
}

// NoAccount is the answer to who proved who it is, and whom nothing here lets in: err is an identity.ErrNoAccount.
func NoAccount(err error) error {
	text := i18n.Message("account.provider-unknown")
	if errors.Is(err, identity.ErrPartnerEnded) {
		text = "account.partner-ended"
	}
	return echo.NewHTTPError(http.StatusForbidden, text)
}

// LoginByLink logs in who came by a one-time link, and gives the page to go to: next, or that of the second factor, which a link
// does not stand for.
func (a *App) LoginByLink(c echo.Context, account store.Account, next string) (to string, err error) {
	if account.Factors > 0 {
		return a.AwaitFactor(c, account, next)
	}
	err = a.Cfg.Accounts.NoteLogin(c.Request().Context(), account.ID)
	if errors.Is(err, identity.ErrNoAccount) {
		return "", NoAccount(err)
	}
	if err != nil {
		return "", err
	}
	if err := a.TrustDevice(c, account.ID); err != nil {
		return "", err
	}
	return next, a.StartSession(c, account)
}

// KeepChallenge keeps what a passkey has to sign until TakeChallenge takes it, once.
func (a *App) KeepChallenge(c echo.Context, challenge string) {
	a.sessions.Put(c.Request().Context(), keyChallenge, challenge)
}

// TakeChallenge takes the challenge that was kept; empty for none.
func (a *App) TakeChallenge(c echo.Context) string {
	return a.sessions.PopString(c.Request().Context(), keyChallenge)
}

// KeepSealed keeps a sealed text in the session of a browser under a name; empty forgets it.
func (a *App) KeepSealed(c echo.Context, name, sealed string) {
	if sealed == "" {
		a.sessions.Remove(c.Request().Context(), "sealed-"+name)
		return
	}
	a.sessions.Put(c.Request().Context(), "sealed-"+name, sealed)
}

// KeptSealed returns the text that KeepSealed kept, or an empty one.
func (a *App) KeptSealed(c echo.Context, name string) string {
	return a.sessions.GetString(c.Request().Context(), "sealed-"+name)
}
