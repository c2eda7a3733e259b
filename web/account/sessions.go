package account

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// sessionRows are the browsers in which an account is logged in.
func (a *logins) sessionRows(c echo.Context, account store.Account) ([]view.SessionRow, error) {
	sessions, err := a.Cfg.Accounts.Sessions(c.Request().Context(), account)
	var rows []view.SessionRow
	for _, s := range sessions {
		rows = append(rows, view.SessionRow{
			ID: s.ID, Address: s.Address, Device: deviceText(s.Agent), Since: s.StartedAt.Time, Seen: s.SeenAt.Time, Here: s.ID == site.SessionOf(c).ID,
		})
	}
	return rows, err
}

// endSession logs the account out in one browser.
func (a *logins) endSession(c echo.Context) error {
	account, id := site.AccountOf(c), c.Param("id")
	if err := a.Cfg.Accounts.EndSession(c.Request().Context(), account, id); err != nil {
		return err
	}
	if id == site.SessionOf(c).ID {
		return c.Redirect(http.StatusSeeOther, "/login")
	}
	a.Flash(c, ui.KindOK, "account.session-revoked")
	return c.Redirect(http.StatusSeeOther, "/account")
}

// endSessions logs the account out everywhere but here.
func (a *logins) endSessions(c echo.Context) error {
	ctx := c.Request().Context()
	if err := a.Cfg.Accounts.EndSessions(ctx, site.AccountOf(c).ID); err != nil {
		return err
	}
	account, err := a.Cfg.Accounts.Account(ctx, site.AccountOf(c).ID)
	if err != nil {
		return err
	}
	return a.freshSession(c, account, "account.sessions-ended")
}

// deviceText says in plain words what calls itself agent. The first name that fits counts: browsers name the ones they descend from too.
func deviceText(agent string) i18n.Message {
	first := func(names ...[2]string) string {
		for _, n := range names {
			if strings.Contains(agent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	browser := first([2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"SamsungBrowser", "Samsung Internet"}, [2]string{"Firefox/", "Firefox"},
		[2]string{"FxiOS", "Firefox"}, [2]string{"CriOS", "Chrome"}, [2]string{"Chrome/", "Chrome"}, [2]string{"Safari/", "Safari"}, [2]string{"curl/", "curl"})
	system := first([2]string{"Windows", "Windows"}, [2]string{"Android", "Android"}, [2]string{"iPhone", "iPhone"}, [2]string{"iPad", "iPad"},
		[2]string{"CrOS", "ChromeOS"}, [2]string{"Mac OS X", "macOS"}, [2]string{"Linux", "Linux"})
	switch {
	case browser != "" && system != "":
		return i18n.M("account.device-on", browser, system)
	case browser != "" || system != "":
		return i18n.Raw(browser + system)
	}
	return "account.device-unknown"
}
