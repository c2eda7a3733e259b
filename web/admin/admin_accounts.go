package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
)

// adminAccounts lists the administrators.
func (p *portal) adminAccounts(c echo.Context) error {
	return p.showAccounts(c, http.StatusOK, "", "", nil)
}

// adminInvite invites another administrator, who gets a link by mail.
func (p *portal) adminInvite(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, name, email := c.Request().Context(), form.Get("name"), form.Get("email")
	account, err := p.Registry.Accounts.InviteAdministrator(ctx, actor(c), name, email)
	if status, wrong := formRefusal(err); wrong != nil {
		return p.showAccounts(c, status, name, email, wrong)
	}
	if err != nil {
		return err
	}
	if err := p.Registry.Mails.PasswordLink(ctx, p.Registry.Accounts, account.Email); err != nil {
		return err
	}
	return p.done(c, "/admin/accounts", p.mailed(account.Name+" is invited.", "The mail with the link is on its way.", handOver))
}

// handOver describes what to do with a link that nobody is mailed.
const handOver = "Read the link under Mails and hand it over."

// adminChangeAccount blocks or unblocks an account, or mails its owner a link to
// choose a password. It may be one of a partner.
func (p *portal) adminChangeAccount(c echo.Context) error {
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
		err, said = accounts.Block(ctx, actor(c), account.ID), account.Name+" is blocked and logged out everywhere."
	case "unblock":
		err, said = accounts.Unblock(ctx, actor(c), account.ID), account.Name+" can log in again."
	case "link":
		err, said = p.Registry.Mails.PasswordLink(ctx, accounts, account.Email), p.mailed("There is a new link to choose a password.", "It is on its way to "+account.Email+".", handOver)
	default:
		return store.ErrNotFound
	}
	if _, wrong := formRefusal(err); wrong != nil {
		p.flash(c, ui.KindWarning, wrong[""])
		return c.Redirect(http.StatusSeeOther, back)
	}
	if err != nil {
		return err
	}
	return p.done(c, back, said)
}

func (p *portal) showAccounts(c echo.Context, status int, name, email string, wrong formErrors) error {
	rows, err := p.accountRows(c.Request().Context(), actor(c), "")
	if err != nil {
		return err
	}
	page := p.frame(c, "Administrators")
	page.Lead, page.Invalid = "The people who administer this Schakel.", wrong != nil
	return p.render(c, status, view.AdminAccounts(page, view.AdminAccountsView{
		Rows: rows, Name: name, Email: email, Wrong: wrong, Now: p.cfg.Now(),
	}))
}

// accountRows are the people of a partner, or the administrators.
func (p *portal) accountRows(ctx context.Context, who registry.Actor, partnerID string) ([]ui.AccountRow, error) {
	accounts, err := p.DB.Accounts(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	var rows []ui.AccountRow
	for _, a := range accounts {
		row := ui.AccountRow{Name: a.Name, Email: a.Email, Status: a.Status, LastLogin: a.LastLoginAt.Time, You: a.ID == who.ID}
		base := "/admin/accounts/" + a.ID
		switch {
		case row.You:
		case a.Status == store.AccountBlocked:
			row.UnblockAction = base + "/unblock"
		default:
			row.BlockAction, row.LinkAction = base+"/block", base+"/link"
		}
		rows = append(rows, row)
	}
	return rows, nil
}
