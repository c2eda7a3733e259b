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
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"schakel/delivery/trace"
	"schakel/registry"
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
	// Name of the portal in its header, mostly that of the organisation; empty means Schakel.
	Name string
	// Branding has the organisation's BrandingTheme and logo, where it has any. Optional.
	Branding *static.Branding
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
	// OIDC are the OpenID providers where people log in. Optional: local accounts only.
	OIDC []OIDCConfig
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. Optional:
	// the address of the connection counts.
	TrustedProxies []netip.Prefix
	// CertificateProxies name the TrustedProxies whose Client-Cert is believed: they check the certificates of callers, and let no
	// such header of a caller pass. Optional: none.
	CertificateProxies []netip.Prefix
	// Certificates names the APIs where machines prove themselves with a TLS certificate too. Optional: none.
	Certificates *CertificatePolicy
	// Security says whom to tell of a vulnerability. Optional: there is no security.txt.
	Security *SecurityContact
	// HSTSSubdomains has browsers use https for the hosts below that of BaseURL too.
	HSTSSubdomains bool
	// Traces records a span of each request to an API. Optional.
	Traces *trace.Recorder
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
	unnamed   sync.Once        // tells of a proxy whose Client-Cert is ignored
	public    map[string]bool  // the paths of routes that pages of other sites may read
	routes    map[string]Route // by method and path
}

// NewApp builds the frame of all requests; apis is set where APIs are served.
func NewApp(cfg AppConfig, apis bool) (*App, error) {
	if cfg.BaseURL == nil || cfg.Now == nil || cfg.Log == nil || cfg.Accounts == nil || cfg.Sessions == nil {
		return nil, errors.New("web: BaseURL, Now, Log, Accounts and Sessions must be set")
	}
	a := &App{Cfg: cfg, Echo: echo.New(), origin: http.NewCrossOriginProtection(), Counts: NewShares(CountsPerPartner), public: make(map[string]bool), routes: make(map[string]Route)}
	a.sessions = newSessions(cfg.Sessions, cfg.Now, a.HTTPS())
	// Behind a proxy that rewrites Host, our own forms come from this origin.
	if err := a.origin.AddTrustedOrigin(cfg.BaseURL.Scheme + "://" + cfg.BaseURL.Host); err != nil {
		return nil, err
	}
	a.setUpEcho(apis)
	files := func(path string, h http.Handler) {
		a.mount(Route{Method: http.MethodGet, Path: path, Needs: []registry.Permission{registry.Anyone}}, echo.WrapHandler(h))
	}
	a.mountSecurityTxt()
	files("/static/*", static.Handler())
	if cfg.Branding != nil {
		files(static.BrandingPrefix+"*", cfg.Branding)
	}
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
	a.frame = newFrame(e, []echo.MiddlewareFunc{requestID, rememberBody, a.recordSpan, a.accessLog, a.securityHeaders, recoverPanics, plainText, trailingSlash}, after)
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
