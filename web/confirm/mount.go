// Package confirm serves the pages about actions of one person that wait for a second person: the list, and one of them with what can be
// decided. Who may decide the registry judges; each decision asks again who it is.
package confirm

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/confirm"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

type pages struct{ *site.Portal }

// Mount registers the pages.
func Mount(portal *site.Portal) {
	p := &pages{portal}
	g := p.Pages(site.ConfirmationsPath, registry.ReadOrganisation)
	g.GET("", p.list)
	g.GET("/:id", p.page)
	decide := g.Needs(registry.ConfirmActions)
	decide.POST("/:id/confirm", p.confirm, p.RequireProof)
	decide.POST("/:id/decline", p.decline, p.RequireProof)
	decide.POST("/:id/withdraw", p.withdraw)
}

// states lists the states in the order in which they can be filtered by.
func states() []string {
	return []string{
		store.ConfirmationWaiting, store.ConfirmationConfirmed, store.ConfirmationDeclined, store.ConfirmationWithdrawn, store.ConfirmationExpired, store.ConfirmationStale,
	}
}

func (p *pages) list(c echo.Context) error {
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	f := store.ConfirmationFilter{Status: site.PageChoice(c, "status", states()), Kind: site.PageChoice(c, "kind", registry.ConfirmationKinds()), Page: paging}
	rows, total, err := p.Registry.Confirmations.List(ctx, site.Actor(c), f)
	if err != nil {
		return err
	}
	v := view.ListView{Path: site.ConfirmationsPath, Total: total, Pager: site.LongPager(c, paging, total), Now: p.Cfg.Now()}
	kinds := []ui.Option{{Label: i18n.T(ctx, "confirm.any-kind")}}
	for _, kind := range registry.ConfirmationKinds() {
		kinds = append(kinds, ui.Option{Value: kind, Label: i18n.Of(ctx, "confirm.kind", kind)})
	}
	v.Fields = []ui.Field{
		site.ChoiceField("status", i18n.T(ctx, "confirm.state-label"), f.Status, ui.StateOptions(ctx, states()...)),
		site.ChoiceField("kind", i18n.T(ctx, "confirm.kind-label"), f.Kind, kinds),
	}
	for _, row := range rows {
		v.Rows = append(v.Rows, view.Row{
			What: title(ctx, row), Kind: i18n.Of(ctx, "confirm.kind", row.Kind), By: row.AskedName, State: row.Status, Href: site.ConfirmationsPath + "/" + row.ID,
			Asked: row.AskedAt.Time, Until: row.ExpiresAt.Time,
		})
	}
	page := p.Frame(c, i18n.T(ctx, "confirm.title"))
	page.Lead = i18n.T(ctx, "confirm.lead")
	return p.Render(c, http.StatusOK, view.List(page, v))
}

// title is the first of what an action does.
func title(ctx context.Context, row store.Confirmation) string {
	if len(row.Changes) == 0 {
		return row.Action
	}
	return i18n.Message(row.Changes[0]).In(ctx)
}

func (p *pages) page(c echo.Context) error { return p.show(c, http.StatusOK, "", "", "") }

// show draws the page of an action; reason, wrong and message are of a decision that was refused.
func (p *pages) show(c echo.Context, status int, reason string, wrong, message i18n.Message) error {
	ctx, who := c.Request().Context(), site.Actor(c)
	row, err := p.Registry.Confirmations.Get(ctx, who, c.Param("id"))
	if err != nil {
		return err
	}
	v := view.View{Message: message, Facts: p.facts(ctx, row)}
	for _, change := range row.Changes {
		v.Changes = append(v.Changes, i18n.Message(change).In(ctx))
	}
	if row.Status == store.ConfirmationWaiting {
		if err := p.offer(ctx, who, row, &v); err != nil {
			return err
		}
		for i := range v.Acts.Danger {
			v.Acts.Danger[i].ReasonValue, v.Acts.Danger[i].ReasonError = reason, wrong
		}
	}
	page := p.Frame(c, title(ctx, row), ui.Crumb{Label: i18n.T(ctx, "confirm.title"), Href: site.ConfirmationsPath})
	page.Badge, page.Invalid = ui.State(row.Status), status != http.StatusOK
	return p.Render(c, status, view.Page(page, v))
}

// offer adds what the reader can decide, or who can.
func (p *pages) offer(ctx context.Context, who registry.Actor, row store.Confirmation, v *view.View) error {
	here := site.ConfirmationsPath + "/" + row.ID
	v.Acts.Title = i18n.T(ctx, "site.decide")
	why, err := p.Registry.Confirmations.WhyNot(ctx, who, row)
	if err != nil {
		return err
	}
	if why == "" {
		v.Acts.Plain = []ui.Act{{Kind: ui.Primary, Label: i18n.T(ctx, "confirm.confirm"), Action: here + "/confirm"}}
		v.Acts.Danger = []ui.Danger{{
			ID: "decline", Label: i18n.T(ctx, "confirm.decline"), Button: i18n.T(ctx, "confirm.decline"), Action: here + "/decline", Explain: i18n.T(ctx, "confirm.decline-explain"),
			ReasonName: "reason", ReasonLabel: i18n.T(ctx, "confirm.decline-why"),
		}}
		return nil
	}
	people, err := p.Registry.Confirmations.People(ctx, row)
	if err != nil {
		return err
	}
	v.Hint = i18n.T(ctx, "confirm.who", why, strings.Join(people, ", "))
	if len(people) == 0 {
		v.Hint = i18n.T(ctx, "confirm.nobody", why)
	}
	if row.AskedBy == who.ID {
		v.Acts.Plain = []ui.Act{{Kind: ui.Secondary, Label: i18n.T(ctx, "confirm.withdraw"), Action: here + "/withdraw"}}
	}
	return nil
}

func (p *pages) facts(ctx context.Context, row store.Confirmation) []ui.Item {
	now := p.Cfg.Now()
	items := []ui.Item{{Label: i18n.T(ctx, "confirm.kind-label"), Text: i18n.Of(ctx, "confirm.kind", row.Kind)}}
	if href := objectHref(row); href != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "confirm.about"), Content: ui.Link(i18n.T(ctx, "confirm.see"), href)})
	}
	items = append(items, ui.Item{Label: i18n.T(ctx, "confirm.asked-by"), Text: row.AskedName + ", " + row.AskedEmail})
	items = ui.ClockItem(items, i18n.T(ctx, "confirm.asked-at"), row.AskedAt.Time, now)
	items = ui.TextItem(items, i18n.T(ctx, "confirm.reason"), row.Reason)
	items = ui.ClockItem(items, i18n.T(ctx, "confirm.until"), row.ExpiresAt.Time, now)
	items = ui.TextItem(items, i18n.T(ctx, "confirm.decided-by"), row.DecidedName)
	items = ui.ClockItem(items, i18n.T(ctx, "confirm.decided-at"), row.DecidedAt.Time, now)
	return ui.TextItem(items, i18n.T(ctx, "confirm.outcome"), i18n.Message(row.Outcome).In(ctx))
}

// objectHref is the page of what an action is about; empty where there is none.
func objectHref(row store.Confirmation) string {
	switch row.ObjectKind {
	case "partner":
		return "/admin/partners/" + row.ObjectID
	case "subscription":
		return "/admin/subscriptions/" + row.ObjectID
	case "amqp-party":
		return "/admin/amqp/parties/" + row.ObjectID
	case "amqp-broker":
		return "/admin/amqp/brokers/" + row.ObjectID
	case "endpoint":
		if strings.HasPrefix(row.Action, "amqp.") {
			return "/admin/endpoints/" + row.ObjectID
		}
		return "/admin/endpoints/" + row.ObjectID + "/move"
	case "client":
		return "/admin/clients/" + row.ObjectID
	case "route":
		return "/admin/routes"
	case "profile":
		return "/admin/settings"
	case "delivery":
		return "/admin/deliveries/" + row.ObjectID
	case "deliveries":
		return "/admin/deliveries"
	case "quarantine":
		return "/admin/quarantine/" + row.ObjectID
	case "amqp-message":
		return "/admin/amqp/messages/" + row.ObjectID
	case "amqp-messages":
		return "/admin/amqp/messages"
	}
	return ""
}

func (p *pages) confirm(c echo.Context) error {
	err := p.Registry.Confirmations.Confirm(c.Request().Context(), site.Actor(c), c.Param("id"))
	return p.settled(c, err, "confirm.confirmed-now")
}

func (p *pages) withdraw(c echo.Context) error {
	err := p.Registry.Confirmations.Withdraw(c.Request().Context(), site.Actor(c), c.Param("id"))
	return p.settled(c, err, "confirm.withdrawn-now")
}

func (p *pages) decline(c echo.Context) error {
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		err := p.Registry.Confirmations.Decline(c.Request().Context(), site.Actor(c), c.Param("id"), reason)
		if _, invalid := site.Refused(err); invalid {
			return err
		}
		return p.settled(c, err, "confirm.declined-now")
	}, func(reason string, wrong i18n.Message) error {
		return p.show(c, http.StatusUnprocessableEntity, reason, wrong, "")
	})
}

// settled goes back to the page of an action, or shows there why a decision was refused.
func (p *pages) settled(c echo.Context, err error, done i18n.Message) error {
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code != registry.CodeNotFound {
		return p.show(c, http.StatusConflict, "", "", refused.Message)
	}
	return p.Saved(c, err, site.ConfirmationsPath+"/"+c.Param("id"), done)
}
