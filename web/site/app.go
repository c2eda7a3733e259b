package web

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"schakel/registry/identity"
)

// Config configures the HTTP layer. Every field not marked optional must be set.
type Config struct {
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
	// Tokens check the access tokens of the APIs. Optional: no API takes any token.
	Tokens TokenVerifier
	// OIDC is login at an OpenID provider. Optional: local accounts only.
	OIDC *OIDCConfig
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. Optional:
	// the address of the connection counts.
	TrustedProxies []netip.Prefix
	// API are the APIs for machines. Optional: none are served.
	API *APIConfig
	// Portal are the pages beyond login. Optional: none are served.
	Portal *PortalConfig
	// Draining is closed when the program stops: requests that wait must answer
	// then. Optional.
	Draining <-chan struct{}
}

// App is the HTTP layer: handlers are its methods.
type App struct {
	cfg      Config
	echo     *echo.Echo
	frame    *frame
	sessions *scs.SessionManager
	origin   *http.CrossOriginProtection
	oidc     *oidcLogin
	counts   *shares         // of what would be sent again
	public   map[string]bool // the paths of routes that pages of other sites may read
}

// New builds the HTTP layer.
func New(cfg Config) (*App, error) {
	if cfg.BaseURL == nil || cfg.Now == nil || cfg.Log == nil || cfg.Accounts == nil || cfg.Sessions == nil {
		return nil, errors.New("web: BaseURL, Now, Log, Accounts and Sessions must be set")
	}
	if cfg.Navigation == nil && cfg.Portal != nil {
		cfg.Navigation = databaseNavigation{cfg.Portal.DB}
	}
	a := &App{cfg: cfg, echo: echo.New(), origin: http.NewCrossOriginProtection(), counts: newShares(countsPerPartner), public: make(map[string]bool)}
	a.sessions = newSessions(cfg.Sessions, cfg.Now, a.https())
	// Behind a proxy that rewrites Host, our own forms come from this origin.
	if err := a.origin.AddTrustedOrigin(cfg.BaseURL.Scheme + "://" + cfg.BaseURL.Host); err != nil {
		return nil, err
	}
	if cfg.OIDC != nil {
		login, err := newOIDCLogin(*cfg.OIDC, cfg.BaseURL)
		if err != nil {
			return nil, err
		}
		a.oidc = login
	}
	a.setUpEcho()
	return a, a.routes()
}

func (a *App) setUpEcho() {
	e := a.echo
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{})
	e.HTTPErrorHandler = a.handleError
	e.IPExtractor = ipExtractor(a.cfg.TrustedProxies)
	after := []echo.MiddlewareFunc{a.preflight}
	if a.cfg.API != nil {
		after = append(after, refuseOptions)
	}
	a.frame = newFrame(e, []echo.MiddlewareFunc{requestID, rememberBody, a.accessLog, a.securityHeaders, recoverPanics, plainText, trailingSlash}, after)
}

// routes calls every file that registers routes; each holds one area.
func (a *App) routes() error {
	a.routesFrame()
	a.routesLogin()
	if a.cfg.API != nil {
		m, err := newMachineAPI(a, *a.cfg.API)
		if err != nil {
			return err
		}
		m.routes()
	}
	if a.cfg.Portal != nil {
		p, err := newPortal(a, *a.cfg.Portal)
		if err != nil {
			return err
		}
		p.routes()
	}
	return nil
}

// Handler returns the handler of all routes, for a server.
func (a *App) Handler() http.Handler { return headAsGet(a.frame) }

// https reports whether browsers reach us over https, be it through a proxy.
func (a *App) https() bool { return a.cfg.BaseURL.Scheme == "https" }

// absolute is the address others use for one of our paths.
func (a *App) absolute(path string) string {
	return a.cfg.BaseURL.Scheme + "://" + a.cfg.BaseURL.Host + path
}

// ipExtractor returns the address of a client: that of the connection, unless the
// connection comes from a proxy we were told to believe.
func ipExtractor(proxies []netip.Prefix) echo.IPExtractor {
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
