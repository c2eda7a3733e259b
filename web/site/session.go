package site

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/store"
)

// visitorLifetime bounds what a browser keeps of somebody who is not logged in. A login lasts as the settings say.
const visitorLifetime = 12 * time.Hour

// Keys of what a session of a browser holds.
const (
	keyLogin     = "login"      // id of the login session
	keyFlashKind = "flash-kind" // message for the next page
	keyFlashText = "flash-text"
	keyRenew     = "renew" // when the provider of the login is asked again at the earliest, Unix seconds
)

// SessionStore keeps sessions. The database never sees a token that works: only
// its SHA-256.
type SessionStore interface {
	SessionFind(ctx context.Context, tokenHash []byte) (data []byte, expires time.Time, found bool, err error)
	SessionSave(ctx context.Context, tokenHash, data []byte, expires time.Time) error
	SessionDelete(ctx context.Context, tokenHash []byte) error
}

// hashingStore is the session manager's view of a SessionStore.
type hashingStore struct {
	store SessionStore
	now   func() time.Time
}

// HashOf gives the SHA-256 under which a session token is stored, so the database holds no token.
func HashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// FindCtx implements scs.CtxStore.
func (s hashingStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	data, expires, found, err := s.store.SessionFind(ctx, HashOf(token))
	if err != nil || !found || !s.now().Before(expires) {
		return nil, false, err
	}
	return data, true, nil
}

// CommitCtx implements scs.CtxStore.
func (s hashingStore) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	return s.store.SessionSave(ctx, HashOf(token), data, expires)
}

// DeleteCtx implements scs.CtxStore.
func (s hashingStore) DeleteCtx(ctx context.Context, token string) error {
	return s.store.SessionDelete(ctx, HashOf(token))
}

// Find implements scs.Store for callers without a context; there are none.
func (s hashingStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (s hashingStore) Commit(token string, data []byte, expires time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expires)
}

// Delete implements scs.Store.
func (s hashingStore) Delete(token string) error {
	return s.DeleteCtx(context.Background(), token)
}

// newSessions makes the session manager. Over https the cookie's name starts
// with __Host-, so that no other host or path can set or see it.
func newSessions(store SessionStore, now func() time.Time, https bool) *scs.SessionManager {
	m := scs.New()
	m.Store = hashingStore{store, now}
	m.Lifetime = visitorLifetime
	m.Cookie = scs.SessionCookie{Name: "schakel", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Persist: false}
	if https {
		m.Cookie.Name, m.Cookie.Secure = "__Host-schakel", true
	}
	return m
}

// withSession loads the session before a page and saves it just before the
// answer's first byte.
func (a *App) withSession(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		var token string
		if cookie, err := c.Cookie(a.sessions.Cookie.Name); err == nil {
			token = cookie.Value
		}
		ctx, err := a.sessions.Load(c.Request().Context(), token)
		if err != nil {
			return fmt.Errorf("load session: %w", err)
		}
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Header().Set("Cache-Control", "no-store") // a page shows what only its reader may see
		c.Response().Header().Add("Vary", "Cookie")
		c.Response().Before(func() { a.saveSession(c) })
		return next(c)
	}
}

// saveSession stores what a page changed and sets the cookie. When that fails,
// the answer becomes a failure: a login that is not stored must not look like one.
func (a *App) saveSession(c echo.Context) {
	ctx, w := c.Request().Context(), c.Response()
	switch a.sessions.Status(ctx) {
	case scs.Destroyed:
		a.sessions.WriteSessionCookie(ctx, w, "", time.Time{})
	case scs.Modified:
		token, expires, err := a.sessions.Commit(ctx)
		if err != nil {
			a.LogFailure(c, fmt.Errorf("save session: %w", err))
			w.Status = http.StatusInternalServerError
			w.Header().Del("Location")
			return
		}
		a.sessions.WriteSessionCookie(ctx, w, token, expires)
	}
}

// StartSession logs an account in: a fresh token, so that one planted before the
// login is worth nothing after it.
func (a *App) StartSession(c echo.Context, account store.Account) error {
	return a.startSession(c, account, nil)
}

// RestartSession is StartSession after all sessions of who is logged in ended. The last proof of who it is stays what it was.
func (a *App) RestartSession(c echo.Context, account store.Account) error {
	return a.beginSession(c, func(string) (string, time.Time, error) {
		return a.Cfg.Accounts.ReopenSession(c.Request().Context(), account, SessionOf(c), c.RealIP(), c.Request().UserAgent())
	})
}

// StartProviderSession is StartSession for who logged in at a provider.
func (a *App) StartProviderSession(c echo.Context, account store.Account, id identity.Identity) error {
	return a.startSession(c, account, &id)
}

func (a *App) startSession(c echo.Context, account store.Account, from *identity.Identity) error {
	return a.beginSession(c, func(before string) (string, time.Time, error) {
		return a.Cfg.Accounts.OpenSession(c.Request().Context(), account, before, c.RealIP(), c.Request().UserAgent(), from)
	})
}

func (a *App) beginSession(c echo.Context, open func(before string) (id string, until time.Time, err error)) error {
	ctx := c.Request().Context()
	if err := a.sessions.RenewToken(ctx); err != nil {
		return err
	}
	a.sessions.Remove(ctx, keyPending)
	a.sessions.Remove(ctx, keyRenew)
	id, until, err := open(a.sessions.GetString(ctx, keyLogin))
	if err != nil {
		return err
	}
	a.sessions.Put(ctx, keyLogin, id)
	a.sessions.SetDeadline(ctx, until)
	return nil
}

// RenewToken gives the session of a browser another token after its user proved who it is: one that was copied before is worth nothing then.
// The session ends when it would have ended.
func (a *App) RenewToken(c echo.Context) error {
	ctx := c.Request().Context()
	until := a.sessions.Deadline(ctx)
	if err := a.sessions.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew session token: %w", err)
	}
	a.sessions.SetDeadline(ctx, until)
	return nil
}

// RenewLater leaves a session alone for a while that its provider could not renew unseen.
func (a *App) RenewLater(c echo.Context) {
	a.sessions.Put(c.Request().Context(), keyRenew, a.Cfg.Now().Add(identity.ProviderFresh).Unix())
}

// renewsAt is the provider that is asked, before a page is shown, whether a session may go on; nil for none. Only whole pages wait for that.
func (a *App) renewsAt(c echo.Context, s identity.Session) *OIDCConfig {
	r := c.Request()
	if !s.Stale || r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Dest") != "document" || strings.HasPrefix(r.URL.Path, "/login") ||
		a.sessions.GetInt64(r.Context(), keyRenew) > a.Cfg.Now().Unix() {
		return nil
	}
	for i, cfg := range a.Cfg.OIDC {
		if cfg.Issuer == s.Provider {
			return &a.Cfg.OIDC[i]
		}
	}
	return nil
}

// EndSession logs out and forgets all the session held; what is shown after it is for a visitor.
func (a *App) EndSession(c echo.Context) error {
	c.Set(contextSession, nil)
	c.Set(contextAccount, nil)
	return a.sessions.Destroy(c.Request().Context())
}

// StillLoggedIn reports whether the session of a request that lasts is still that of the same account: nobody logged out, ended it or
// blocked the account meanwhile. It reads the session anew.
func (a *App) StillLoggedIn(ctx context.Context, c echo.Context) (bool, error) {
	cookie, err := c.Cookie(a.sessions.Cookie.Name)
	if err != nil {
		return false, nil
	}
	fresh, cancel := context.WithCancel(context.Background()) // ctx carries the session as it was
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if fresh, err = a.sessions.Load(fresh, cookie.Value); err != nil {
		return false, fmt.Errorf("load session: %w", err)
	}
	s, err := a.loginSession(fresh)
	if err != nil || s == nil || s.MustEnrol {
		return false, err
	}
	now, was := s.Account, AccountOf(c)
	return now.ID == was.ID && now.Role == was.Role && now.PartnerID == was.PartnerID, nil
}
