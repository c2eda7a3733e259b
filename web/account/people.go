package account

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	view "schakel/templates/account"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// peoplePages serves the people of the organisation and, for administrators, those of each partner; or those of the partner of who is
// logged in. Whose they are comes from the account that asks unless that is an administrator's (guarantee G7).
type peoplePages struct {
	*site.Portal
	base string // "/admin/accounts" or "/partner/people"
}

// mountPeople registers the pages about who may log in.
func (p *pages) mountPeople() {
	for base, reads := range map[string]registry.Permission{"/admin/accounts": registry.ReadOrganisation, "/partner/people": registry.ReadPartner} {
		d := peoplePages{p.Portal, base}
		g := p.Pages(base, reads)
		change := g.Needs(registry.ChangePeople)
		g.GET("", d.people)
		change.POST("", d.invite, d.RequireProof)
		change.GET("/:id", d.person)
		change.POST("/:id/role", d.setRole, d.RequireProof)
		change.POST("/:id/reset-factors", d.resetFactors, d.RequireProof)
		if base == "/admin/accounts" {
			change.POST("/sessions/end", d.endEverybody, d.RequireProof)
		}
		change.POST("/:id/:change", d.changeAccount, d.RequireProof)
	}
}

// ofPartner is the partner whose people are shown; empty for those of the organisation.
func (d peoplePages) ofPartner(c echo.Context, asked string) (store.Partner, error) {
	ctx, actor := c.Request().Context(), site.Actor(c)
	if !actor.Administrator {
		return d.Registry.Partners.Get(ctx, actor.Scope(), actor.PartnerID)
	}
	if asked == "" {
		return store.Partner{}, nil
	}
	partner, err := d.Registry.Partners.Get(ctx, actor.Scope(), asked)
	if err == nil && partner.Own {
		return store.Partner{}, nil
	}
	return partner, err
}

// list is the address of the list with somebody.
func (d peoplePages) list(partnerID string) string {
	if d.base == "/admin/accounts" && partnerID != "" {
		return d.base + "?" + url.Values{"partner": {partnerID}}.Encode()
	}
	return d.base
}

// people lists who may log in.
func (d peoplePages) people(c echo.Context) error {
	partner, err := d.ofPartner(c, c.QueryParam("partner"))
	if err != nil {
		return err
	}
	return d.showPeople(c, http.StatusOK, partner, identity.NewAccount{}, nil)
}

// invite invites a colleague, who gets a link by mail.
func (d peoplePages) invite(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	partner, err := d.ofPartner(c, form.Get("partner"))
	if err != nil {
		return err
	}
	read := func(form site.Form) identity.NewAccount {
		return identity.NewAccount{Name: form.Get("name"), Email: form.Get("email"), Role: form.Get("role"), PartnerID: partner.ID}
	}
	return site.SubmitAbout(c, partner, read, func(in identity.NewAccount) error {
		ctx := c.Request().Context()
		account, err := d.Registry.Accounts.InviteColleague(ctx, site.Actor(c), in)
		if err != nil {
			return err
		}
		err = d.Registry.Mails.InvitationLink(ctx, site.Actor(c), d.Registry.Accounts, account.Email)
		return d.Saved(c, err, d.list(partner.ID), d.mailed(c, i18n.M("account.people.invited", account.Name), "account.people.invitation-sent"))
	}, d.showPeople)
}

// mailed ends a message with whether a mail went out, and what to do when none did.
func (d peoplePages) mailed(c echo.Context, text, sent i18n.Message) i18n.Message {
	if registry.Allows(site.AccountOf(c).Role, registry.ManageMails) {
		return d.Mailed(text, sent, "account.people.hand-over")
	}
	return d.Mailed(text, sent, "account.people.hand-over-partner")
}

func (d peoplePages) showPeople(c echo.Context, status int, partner store.Partner, in identity.NewAccount, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	rows, err := d.AccountRows(ctx, site.Actor(c), partner.ID, d.base)
	if err != nil {
		return err
	}
	organisation, err := d.Organisation(c)
	if err != nil {
		return err
	}
	v := view.PeopleView{
		Rows: rows, Action: d.base, Partner: partner.ID, Name: in.Name, Email: in.Email, Role: in.Role, Roles: registry.RolesOf(partner.ID),
		Wrong: wrong, Now: d.Cfg.Now(), OfOrganisation: partner.ID == "",
	}
	var crumbs []ui.Crumb
	if partner.ID != "" {
		organisation = partner.Name
		if site.Actor(c).Administrator {
			crumbs = partnerCrumbs(c, partner)
		}
	}
	page := d.Frame(c, i18n.T(ctx, "account.people"), crumbs...)
	page.Lead, page.Invalid = i18n.T(ctx, "account.people.lead", organisation), wrong != nil
	return d.Render(c, status, view.PeoplePage(page, v))
}

func partnerCrumbs(c echo.Context, partner store.Partner) []ui.Crumb {
	return []ui.Crumb{
		{Label: i18n.T(c.Request().Context(), "contracts.keys.partners"), Href: "/admin/partners"},
		{Label: partner.Name, Href: site.PartnerHref(partner.ID)},
	}
}

// colleague finds the account that an address names, if it is one that these pages are about.
func (d peoplePages) colleague(c echo.Context) (store.Account, error) {
	account, err := d.Registry.Accounts.Account(c.Request().Context(), c.Param("id"))
	if err == nil && !site.Actor(c).Scope().Sees(account.PartnerID) {
		return store.Account{}, store.ErrNotFound
	}
	return account, err
}

// person shows somebody, and what can be changed.
func (d peoplePages) person(c echo.Context) error {
	account, err := d.colleague(c)
	if err != nil {
		return err
	}
	return d.showPerson(c, http.StatusOK, account, account.Role, nil)
}

// setRole gives somebody another role.
func (d peoplePages) setRole(c echo.Context) error {
	account, err := d.colleague(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, account, func(form site.Form) string { return form.Get("role") }, func(role string) error {
		err := d.Registry.Accounts.SetRole(c.Request().Context(), site.Actor(c), account.ID, role)
		return d.Saved(c, err, d.list(account.PartnerID), i18n.M("account.people.role-set", account.Name, i18n.Word("registry.role", role)))
	}, d.showPerson)
}

// changeAccount blocks, unblocks or removes somebody, ends the sessions, or mails a link to choose a password.
func (d peoplePages) changeAccount(c echo.Context) error {
	ctx, accounts := c.Request().Context(), d.Registry.Accounts
	account, err := d.colleague(c)
	if err != nil {
		return err
	}
	back := d.list(account.PartnerID)
	if account.PartnerID != "" && site.Actor(c).Administrator {
		back = site.PartnerHref(account.PartnerID)
	}
	var said i18n.Message
	switch c.Param("change") {
	case "block":
		err, said = accounts.Block(ctx, site.Actor(c), account.ID), i18n.M("account.people.blocked", account.Name)
	case "end-sessions":
		err, said = accounts.EndSessionsOf(ctx, site.Actor(c), account.ID), i18n.M("account.people.sessions-ended", account.Name)
	case "unblock":
		err, said = accounts.Unblock(ctx, site.Actor(c), account.ID), i18n.M("account.people.unblocked", account.Name)
	case "removal":
		err, said = accounts.Remove(ctx, site.Actor(c), account.ID), i18n.M("account.people.removed", account.Name)
	case "link":
		if err = accounts.NoteLink(ctx, site.Actor(c), account.ID); err == nil {
			err = d.Registry.Mails.InvitationLink(ctx, site.Actor(c), accounts, account.Email)
		}
		said = d.mailed(c, "account.people.link-made", i18n.M("account.people.link-sent", account.Email))
	default:
		return store.ErrNotFound
	}
	if _, wrong := site.FormRefusal(err); wrong != nil {
		d.Flash(c, ui.KindWarning, wrong[""])
		return c.Redirect(http.StatusSeeOther, back)
	}
	return d.Saved(c, err, back, said)
}

// resetFactors takes the second factors from somebody who lost them, and records how that person proved who it is.
func (d peoplePages) resetFactors(c echo.Context) error {
	account, err := d.colleague(c)
	if err != nil {
		return err
	}
	back := d.list(account.PartnerID)
	if account.PartnerID != "" {
		back = site.PartnerHref(account.PartnerID)
	}
	return site.SubmitAbout(c, account, func(form site.Form) string { return form.Get("reason") }, func(proof string) error {
		err := d.Registry.Accounts.ResetFactors(c.Request().Context(), site.Actor(c), account.ID, proof)
		if _, wrong := site.FormRefusal(err); wrong[""] != "" {
			d.Flash(c, ui.KindWarning, wrong[""])
			return c.Redirect(http.StatusSeeOther, back)
		}
		return d.Saved(c, err, back, i18n.M("account.people.factors-reset", account.Name))
	}, func(c echo.Context, status int, account store.Account, _ string, wrong site.FormErrors) error {
		return d.showPerson(c, status, account, account.Role, wrong)
	})
}

// endEverybody ends the sessions of all people, of the organisation and of partners.
func (d peoplePages) endEverybody(c echo.Context) error {
	n, err := d.Registry.Accounts.EndAllSessions(c.Request().Context(), site.Actor(c))
	return d.Settled(c, err, "/login", i18n.M("account.people.all-ended", int(n)))
}

func (d peoplePages) showPerson(c echo.Context, status int, account store.Account, role string, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	row, err := d.AccountRow(ctx, site.Actor(c), account, d.base)
	if err != nil {
		return err
	}
	v := view.PersonView{
		AccountRow: row, Chosen: role, Roles: registry.RolesOf(account.PartnerID), Factors: int(account.Factors), Since: account.CreatedAt.Time,
		Wrong: wrong, Now: d.Cfg.Now(),
	}
	more := "/admin/audit?" + url.Values{"object": {account.ID}}.Encode()
	if !site.Actor(c).Administrator {
		more = ""
	}
	if v.History, err = d.History(ctx, store.AuditFilter{ObjectID: account.ID}, more); err != nil {
		return err
	}
	crumbs := []ui.Crumb{{Label: i18n.T(ctx, "account.people"), Href: d.list(account.PartnerID)}}
	if account.PartnerID != "" && site.Actor(c).Administrator {
		partner, err := d.ofPartner(c, account.PartnerID)
		if err != nil {
			return err
		}
		crumbs = append(partnerCrumbs(c, partner), crumbs...)
	}
	page := d.Frame(c, account.Name, crumbs...)
	page.Badge, page.Invalid = ui.State(account.Status), wrong != nil
	return d.Render(c, status, view.PersonPage(page, v))
}
