package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminAccounts lists the administrators.
func (p *pages) adminAccounts(c echo.Context) error {
	return p.showAccounts(c, http.StatusOK, "", "", nil)
}

// adminInvite invites another administrator, who gets a link by mail.
func (p *pages) adminInvite(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx, name, email := c.Request().Context(), form.Get("name"), form.Get("email")
	account, err := p.Registry.Accounts.InviteAdministrator(ctx, site.Actor(c), name, email)
	if status, wrong := site.FormRefusal(err); wrong != nil {
		return p.showAccounts(c, status, name, email, wrong)
	}
	if err != nil {
		return err
	}
	if err := p.Registry.Mails.PasswordLink(ctx, p.Registry.Accounts, account.Email); err != nil {
		return err
	}
	return p.Done(c, "/admin/accounts", p.Mailed(account.Name+" is invited.", "The mail with the link is on its way.", handOver))
}

// handOver describes what to do with a link that nobody is mailed.
const handOver = "Read the link under Mails and hand it over."

// adminChangeAccount blocks or unblocks an account, or mails its owner a link to
// choose a password. It may be one of a partner.
func (p *pages) adminChangeAccount(c echo.Context) error {
	ctx, accounts := c.Request().Context(), p.Registry.Accounts
	account, err := accounts.Account(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	back := "/admin/accounts"
	if account.PartnerID != "" {
		back = "/admin/partners/" + account.PartnerID
	}
	var said string
	switch c.Param("change") {
	case "block":
		err, said = accounts.Block(ctx, site.Actor(c), account.ID), account.Name+" is blocked and logged out everywhere."
	case "unblock":
		err, said = accounts.Unblock(ctx, site.Actor(c), account.ID), account.Name+" can log in again."
	case "link":
		err, said = p.Registry.Mails.PasswordLink(ctx, accounts, account.Email), p.Mailed("There is a new link to choose a password.", "It is on its way to "+account.Email+".", handOver)
	default:
		return store.ErrNotFound
	}
	if _, wrong := site.FormRefusal(err); wrong != nil {
		p.Flash(c, ui.KindWarning, wrong[""])
		return c.Redirect(http.StatusSeeOther, back)
	}
	if err != nil {
		return err
	}
	return p.Done(c, back, said)
}

func (p *pages) showAccounts(c echo.Context, status int, name, email string, wrong site.FormErrors) error {
	rows, err := p.AccountRows(c.Request().Context(), site.Actor(c), "")
	if err != nil {
		return err
	}
	page := p.Frame(c, "Administrators")
	page.Lead, page.Invalid = "The people who administer this Schakel.", wrong != nil
	return p.Render(c, status, view.AdminAccounts(page, view.AdminAccountsView{
		Rows: rows, Name: name, Email: email, Wrong: wrong, Now: p.Cfg.Now(),
	}))
}
