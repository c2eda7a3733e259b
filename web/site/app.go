// Package site carries the pages of all features: rendering, forms, paging, sessions, accounts, errors and their answers, and
// the parts that pages of several features show.
//
// It knows no feature: features embed [Portal] and register their routes with [App.Pages]. A session is recognised before a
// handler runs, and forms of other origins are refused. It cannot guard a wrong Scope: handlers take
// the partner from [PartnerID] alone (guarantee G7).
package site

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
	"schakel/static"
	"schakel/templates/i18n"
)

// AppConfig holds what all pages and APIs need. What is not marked optional must be set.
type AppConfig struct {
	// BaseURL is the address others use. Its scheme decides whether cookies are
	// Secure and whether browsers are told to use https only.
	BaseURL *url.URL
	// Version of the program, shown in the footer. Optional.
	Version string
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
	// Accounts decide who may log in.
	Accounts *identity.Accounts
	// Sessions keep logins.
	Sessions SessionStore
	// Navigation knows the counts in the menu. Optional: those of the Portal's
	// database, or no counts.
	Navigation NavigationSource
	// Language is that of pages for whoever names none; empty is English.
	Language i18n.Lang
	// TimeZone is that of times on pages for whoever's is not known; nil is UTC.
	TimeZone *time.Location
	// Tokens check the access tokens of the APIs. Optional: no API takes any token.
	Tokens TokenVerifier
	// OIDC is login at an OpenID provider. Optional: local accounts only.
	OIDC *OIDCConfig
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. Optional:
	// the address of the connection counts.
	TrustedProxies []netip.Prefix
	// Draining is closed when the program stops: requests that wait must answer
	// then. Optional.
	Draining <-chan struct{}
}

// App is the HTTP layer: handlers are its methods.
type App struct {
	Cfg       AppConfig
	Echo      *echo.Echo
	frame     *frame
	sessions  *scs.SessionManager
	origin    *http.CrossOriginProtection
	Counts    *Shares // of what would be sent again
	forwarded atomic.Pointer[Forwarded]
	public    map[string]bool // the paths of routes that pages of other sites may read
}

// NewApp builds the frame of all requests; apis is set where APIs are served.
func NewApp(cfg AppConfig, apis bool) (*App, error) {
	if cfg.BaseURL == nil || cfg.Now == nil || cfg.Log == nil || cfg.Accounts == nil || cfg.Sessions == nil {
		return nil, errors.New("web: BaseURL, Now, Log, Accounts and Sessions must be set")
	}
	a := &App{Cfg: cfg, Echo: echo.New(), origin: http.NewCrossOriginProtection(), Counts: NewShares(CountsPerPartner), public: make(map[string]bool)}
	a.sessions = newSessions(cfg.Sessions, cfg.Now, a.HTTPS())
	// Behind a proxy that rewrites Host, our own forms come from this origin.
	if err := a.origin.AddTrustedOrigin(cfg.BaseURL.Scheme + "://" + cfg.BaseURL.Host); err != nil {
		return nil, err
	}
	a.setUpEcho(apis)
	a.Echo.GET("/static/*", echo.WrapHandler(static.Handler()))
	return a, nil
}

func (a *App) setUpEcho(apis bool) {
	e := a.Echo
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{})
	e.HTTPErrorHandler = a.handleError
	e.JSONSerializer = jsonAnswers{}
	e.IPExtractor = IpExtractor(a.Cfg.TrustedProxies)
	after := []echo.MiddlewareFunc{a.preflight}
	if apis {
		after = append(after, refuseOptions)
	}
	a.frame = newFrame(e, []echo.MiddlewareFunc{requestID, rememberBody, a.accessLog, a.securityHeaders, recoverPanics, plainText, trailingSlash}, after)
}

// Handler returns the handler of all routes, for a server.
func (a *App) Handler() http.Handler { return headAsGet(a.frame) }

// HTTPS reports whether browsers reach us over https, be it through a proxy.
func (a *App) HTTPS() bool { return a.Cfg.BaseURL.Scheme == "https" }

// Absolute is the address others use for one of our paths.
func (a *App) Absolute(path string) string {
	return a.Cfg.BaseURL.Scheme + "://" + a.Cfg.BaseURL.Host + path
}

// IpExtractor returns the address of a client: that of the connection, unless the
// connection comes from a proxy we were told to believe.
func IpExtractor(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		p = p.Masked()
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// discard swallows echo's own log: everything is logged with slog.
type discard struct{}

// Write implements io.Writer.
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// OIDCConfig is login at an OpenID provider.
type OIDCConfig struct {
	// Issuer is the provider's issuer identifier, an https address.
	Issuer string
	// ClientID and ClientSecret are ours at the provider.
	ClientID, ClientSecret string
	// Label names the provider on the login page.
	Label string
	// Scopes to ask for; openid is added when it is missing.
	Scopes []string
	// AdminEmails become administrator at the first login, if the provider says
	// that it verified the address.
	AdminEmails []string
	// AdminClaim and AdminValue make someone administrator at the first login when
	// the claim is the value, or a list that holds it. Empty: nobody.
	AdminClaim, AdminValue string
	// HTTP is the guarded client that talks to the provider.
	HTTP *http.Client
}

// Administrator reports whether these claims make someone administrator.
func (cfg OIDCConfig) Administrator(claims map[string]any) bool {
	if verified, _ := claims["email_verified"].(bool); verified {
		email, _ := claims["email"].(string)
		for _, allowed := range cfg.AdminEmails {
			if email != "" && strings.EqualFold(strings.TrimSpace(allowed), email) {
				return true
			}
		}
	}
	if cfg.AdminClaim == "" || cfg.AdminValue == "" {
		return false
	}
	switch v := claims[cfg.AdminClaim].(type) {
	case string:
		return v == cfg.AdminValue
	case []any:
		return slices.Contains(v, any(cfg.AdminValue))
	}
	return false
}
