package site

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/templates/i18n"
)

// Cookies that hold what a browser knows of its reader: the language chosen in the header of a page, and the time zone, which app.js writes.
const (
	languageCookie = "schakel-language"
	zoneCookie     = "schakel-zone"
	languageYear   = 365 * 24 * 60 * 60 // seconds
)

// withLocale gives the request the language and time zone of its reader. Who is logged in is looked at later.
func (a *App) withLocale(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		a.setLocale(c)
		c.Response().Header().Add("Vary", "Accept-Language")
		return next(c)
	}
}

// setLocale chooses the language: of the account, the cookie, the browser, the organisation, in this order.
func (a *App) setLocale(c echo.Context) {
	r := c.Request()
	lang, zone := a.Cfg.Language, a.Cfg.TimeZone
	if accepted, ok := i18n.Accepted(r.Header.Get("Accept-Language")); ok {
		lang = accepted
	}
	if chosen, ok := i18n.LangOf(cookieText(c, a.CookieName(languageCookie))); ok {
		lang = chosen
	}
	if own := zoneOf(cookieText(c, a.CookieName(zoneCookie))); own != nil {
		zone = own
	}
	if s := a.CurrentSession(c); s != nil {
		account := s.Account
		if chosen, ok := i18n.LangOf(account.Language); ok {
			lang = chosen
		}
		if own := zoneOf(account.TimeZone); own != nil {
			zone = own
		}
	}
	c.SetRequest(r.WithContext(i18n.With(r.Context(), i18n.NewLocale(lang, zone))))
}

// APILocale is the language of a text in an answer of an API: what the client accepts, or English. Problems are written in it by themselves.
func APILocale(c echo.Context) *i18n.Locale {
	lang, _ := i18n.Accepted(c.Request().Header.Get("Accept-Language"))
	return i18n.NewLocale(lang, nil)
}

// CookieName is the name of a cookie of ours. Over https it begins with __Host-, so that no other host or path can set or see the cookie.
func (a *App) CookieName(name string) string {
	if a.HTTPS() {
		return "__Host-" + name
	}
	return name
}

func cookieText(c echo.Context, name string) string {
	cookie, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	text, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return text
}

// zones holds the time zones that were asked for: reading one opens a file. It is bounded by the zones that exist.
var zones sync.Map

// zoneOf finds a time zone by its IANA name; nil for none, and for one this machine does not know.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > 64 || strings.Contains(name, "..") {
		return nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}

// here is the address to come back to after a language was chosen; empty where the page was posted.
func here(c echo.Context) string {
	if c.Request().Method != http.MethodGet {
		return c.Request().URL.Path
	}
	return c.Request().URL.RequestURI()
}

// RememberLanguage has the browser remember the language of its reader; the empty one is forgotten.
func (a *App) RememberLanguage(c echo.Context, l i18n.Lang) {
	age := languageYear
	if l == "" {
		age = -1
	}
	c.SetCookie(&http.Cookie{ // #nosec G124 -- Secure wherever the portal is reached over https
		Name: a.CookieName(languageCookie), Value: string(l), Path: "/", MaxAge: age, HttpOnly: true, Secure: a.HTTPS(), SameSite: http.SameSiteLaxMode,
	})
}

// ChooseLanguage remembers the language that was chosen in the header of a page, in the browser and for the account.
func (a *App) ChooseLanguage(c echo.Context) error {
	form, err := ReadForm(c)
	if err != nil {
		return err
	}
	chosen, ok := i18n.LangOf(form.Get("language"))
	if !ok {
		return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("site.language-unknown"))
	}
	a.RememberLanguage(c, chosen)
	if account := a.CurrentAccount(c); account != nil {
		if err := a.Cfg.Accounts.SetLocale(c.Request().Context(), account.ID, string(chosen), account.TimeZone); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(form.Get("back")))
}
