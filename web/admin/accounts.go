package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminAccounts lists the administrators.
func (p *pages) adminAccounts(c echo.Context) error {
	return p.showAccounts(c, http.StatusOK, view.AdminAccountsView{}, nil)
}

// adminInvite invites another administrator, who gets a link by mail.
func (p *pages) adminInvite(c echo.Context) error {
	read := func(form site.Form) view.AdminAccountsView {
		return view.AdminAccountsView{Name: form.Get("name"), Email: form.Get("email")}
	}
	return site.Submit(c, read, func(in view.AdminAccountsView) error {
		ctx := c.Request().Context()
		account, err := p.Registry.Accounts.InviteAdministrator(ctx, site.Actor(c), in.Name, in.Email)
		if err != nil {
			return err
		}
		err = p.Registry.Mails.PasswordLink(ctx, p.Registry.Accounts, account.Email)
		return p.Saved(c, err, "/admin/accounts", p.Mailed(i18n.M("admin.accounts.invited", account.Name), "admin.accounts.invitation-sent", handOver))
	}, p.showAccounts)
}

// handOver describes what to do with a link that nobody is mailed.
const handOver i18n.Message = "admin.accounts.hand-over"

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
	var said i18n.Message
	switch c.Param("change") {
	case "block":
		err, said = accounts.Block(ctx, site.Actor(c), account.ID), i18n.M("admin.accounts.blocked", account.Name)
	case "unblock":
		err, said = accounts.Unblock(ctx, site.Actor(c), account.ID), i18n.M("admin.accounts.unblocked", account.Name)
	case "link":
		err, said = p.Registry.Mails.PasswordLink(ctx, accounts, account.Email), p.Mailed("admin.accounts.link-made", i18n.M("admin.accounts.link-sent", account.Email), handOver)
	default:
		return store.ErrNotFound
	}
	if _, wrong := site.FormRefusal(err); wrong != nil {
		p.Flash(c, ui.KindWarning, wrong[""])
		return c.Redirect(http.StatusSeeOther, back)
	}
	return p.Saved(c, err, back, said)
}

func (p *pages) showAccounts(c echo.Context, status int, v view.AdminAccountsView, wrong site.FormErrors) error {
	var err error
	if v.Rows, err = p.AccountRows(c.Request().Context(), site.Actor(c), ""); err != nil {
		return err
	}
	v.Wrong, v.Now = wrong, p.Cfg.Now()
	page := p.Frame(c, i18n.T(c.Request().Context(), "admin.accounts.title"))
	page.Lead, page.Invalid = i18n.T(c.Request().Context(), "admin.accounts.lead"), wrong != nil
	return p.Render(c, status, view.AdminAccounts(page, v))
}
