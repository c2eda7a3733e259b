package site

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// How long a login lasts, and how long it lasts without being used.
const (
	sessionLifetime = 12 * time.Hour
	SessionIdle     = 2 * time.Hour
	// sessionTouch bounds how often use is written down: not at every request.
	sessionTouch = 5 * time.Minute
)

// Keys of what a session holds.
const (
	keyAccount   = "account"    // id of who is logged in
	keyEpoch     = "epoch"      // session epoch of the account at login
	keyStarted   = "started"    // when the login was, Unix seconds
	keySeen      = "seen"       // last use written down, Unix seconds
	keyFlashKind = "flash-kind" // message for the next page
	keyFlashText = "flash-text" //
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
	m.Lifetime = sessionLifetime
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
		c.SetRequest(c.Request().WithContext(registry.WithAddress(ctx, c.RealIP())))
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

// LoginByLink starts a session for who came by a one-time link, and notes it as a login.
func (a *App) LoginByLink(c echo.Context, account store.Account) error {
	if err := a.Cfg.Accounts.NoteLogin(c.Request().Context(), account.ID); err != nil {
		return err
	}
	return a.StartSession(c, account.ID, account.SessionEpoch)
}

// StartSession logs an account in: a fresh token, so that one planted before the
// login is worth nothing after it.
func (a *App) StartSession(c echo.Context, account string, epoch int64) error {
	ctx := c.Request().Context()
	if err := a.sessions.RenewToken(ctx); err != nil {
		return err
	}
	now := a.Cfg.Now().Unix()
	a.sessions.Put(ctx, keyAccount, account)
	a.sessions.Put(ctx, keyEpoch, epoch)
	a.sessions.Put(ctx, keyStarted, now)
	a.sessions.Put(ctx, keySeen, now)
	return nil
}

// EndSession logs out and forgets all the session held.
func (a *App) EndSession(c echo.Context) error {
	return a.sessions.Destroy(c.Request().Context())
}

// sessionAlive checks lifetime and idle time.
func (a *App) sessionAlive(ctx context.Context) bool {
	now := a.Cfg.Now()
	seen := time.Unix(a.sessions.GetInt64(ctx, keySeen), 0)
	started := time.Unix(a.sessions.GetInt64(ctx, keyStarted), 0)
	return now.Sub(seen) < SessionIdle && now.Sub(started) < sessionLifetime
}

// touchSession writes down that the session is in use.
func (a *App) touchSession(ctx context.Context) {
	now := a.Cfg.Now()
	if now.Sub(time.Unix(a.sessions.GetInt64(ctx, keySeen), 0)) >= sessionTouch {
		a.sessions.Put(ctx, keySeen, now.Unix())
	}
}

// forgetAccount makes the session a visitor's.
func (a *App) forgetAccount(ctx context.Context) {
	for _, key := range []string{keyAccount, keyEpoch, keyStarted, keySeen} {
		a.sessions.Remove(ctx, key)
	}
}
