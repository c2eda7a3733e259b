package contracts

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// visibilityForm asks who shall see a contract.
func (p *pages) visibilityForm(c echo.Context) error {
	_, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	named, err := p.DB.ContractPartners(c.Request().Context(), row.ID)
	if err != nil {
		return err
	}
	return p.showVisibility(c, http.StatusOK, row, contracts.VisibilityChange{Visibility: row.Visibility, PartnerIDs: named}, nil, nil)
}

// changeVisibility changes who sees a contract. When someone loses sight it shows
// who, and asks again.
func (p *pages) changeVisibility(c echo.Context) error {
	_, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	read := func(form site.Form) contracts.VisibilityChange {
		return contracts.VisibilityChange{
			Visibility: form.Get("visibility"), PartnerIDs: form.List("partners"), Reason: form.Get("reason"), AcceptLoss: form.Checked("accept"),
		}
	}
	var loss *contracts.SightLoss
	return site.Submit(c, read, func(in contracts.VisibilityChange) error {
		_, err := p.Registry.Contracts.SetVisibility(c.Request().Context(), site.Actor(c), row.ID, in)
		if lost, ok := errors.AsType[*contracts.SightLossError](err); ok {
			loss = &lost.SightLoss
			return &site.FormRefused{Status: http.StatusConflict, Wrong: site.FormErrors{"accept": "contracts.sight.confirm"}}
		}
		return p.Saved(c, err, site.ContractHref(row.ID), "contracts.sight.changed")
	}, func(c echo.Context, status int, in contracts.VisibilityChange, wrong site.FormErrors) error {
		return p.showVisibility(c, status, row, in, loss, wrong)
	})
}

// maxShownLosing bounds the partners that a page warns of.
const maxShownLosing = 100

func (p *pages) showVisibility(c echo.Context, status int, row store.Contract, in contracts.VisibilityChange, loss *contracts.SightLoss, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	partners, err := p.ownerOptions(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	v := view.VisibilityView{
		Action: "/admin/contracts/" + row.ID + "/visibility", Back: site.ContractHref(row.ID), Now: row.Visibility, Visibility: in.Visibility,
		Named: namedOptions(partners, in.PartnerIDs), Reason: in.Reason, Wrong: wrong,
	}
	if loss != nil {
		v.Loses, v.Everybody, v.LosingTotal = true, loss.Everybody, len(loss.Partners)
		for _, l := range loss.Partners[:min(len(loss.Partners), maxShownLosing)] {
			v.Losing = append(v.Losing, view.LosingRow{Partner: l.Name, Href: "/admin/partners/" + l.ID, Subscriptions: l.Subscriptions})
		}
	}
	page := p.Frame(c, i18n.T(ctx, "contracts.sight.heading", row.Title), ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"}, ui.Crumb{Label: row.Title, Href: site.ContractHref(row.ID)})
	page.Invalid = wrong != nil
	return p.Render(c, status, view.VisibilityPage(page, v))
}

// namedOptions are the partners that a contract can be shown to by name; owners
// starts with the own organisation, which sees everything.
func namedOptions(owners []ui.Option, chosen []string) []ui.Option {
	var options []ui.Option
	for _, o := range owners {
		if o.Value != "" {
			options = append(options, ui.Option{Value: o.Value, Label: o.Label, Selected: slices.Contains(chosen, o.Value)})
		}
	}
	return options
}
