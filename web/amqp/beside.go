package amqp

import (
	"context"
	"errors"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// TakesTests reports whether a test event can be sent to an endpoint: a health party takes business messages alone.
func (p *Pages) TakesTests(ctx context.Context, e store.Endpoint) bool {
	if e.Kind != store.EndpointAMQP {
		return e.Kind != store.EndpointPull && e.Kind != store.EndpointFiles
	}
	row, err := p.DB.AMQPPartyByEndpoint(ctx, e.ID)
	return err == nil && row.Kind == store.AMQPCloudEvents
}

// EndpointParty shows the party that an endpoint of kind amqp delivers to; may reports whether the reader may add one.
func (p *Pages) EndpointParty(c echo.Context, e store.Endpoint, may bool) (*view.EndpointAMQP, error) {
	area := p.AMQPPartner()
	if site.Actor(c).Administrator {
		area = p.AMQPAdmin()
	}
	return area.endpointParty(c, e, may)
}

func (a AMQPArea) endpointParty(c echo.Context, e store.Endpoint, may bool) (*view.EndpointAMQP, error) {
	row, err := a.Registry.AMQP.PartyOfEndpoint(c.Request().Context(), a.bounds(c), e.ID)
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeNotFound {
		v := &view.EndpointAMQP{}
		if may {
			v.New = a.root() + "/parties/new?endpoint=" + url.QueryEscape(e.ID)
		}
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	ctx := c.Request().Context()
	v := &view.EndpointAMQP{
		Party: ui.Named{Name: row.Name, Href: a.party(row.ID)}, Messages: a.messages() + "?party=" + url.QueryEscape(row.ID), Facts: queueItems(ctx, row),
		Health: row.Kind == store.AMQPHealth,
	}
	if row.HerID > 0 {
		v.Facts = append([]ui.Item{{Label: i18n.T(ctx, "amqp.label.her-id"), Content: ui.Identifier(site.NumberText(row.HerID))}}, v.Facts...)
	}
	return v, nil
}

// FillAdminParty puts the party of an endpoint on the page for administrators.
func (p *Pages) FillAdminParty(ctx context.Context, e store.Endpoint, v *view.AdminEndpointView) error {
	a := p.AMQPAdmin()
	v.Pull, v.Party = true, ui.Named{Name: i18n.T(ctx, "amqp.party.fill-in"), Href: a.root() + "/parties/new?endpoint=" + url.QueryEscape(e.ID)}
	row, err := p.DB.AMQPPartyByEndpoint(ctx, e.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		v.Party = ui.Named{Name: row.Name, Href: a.party(row.ID)}
	}
	if !p.TakesTests(ctx, e) {
		v.TestAction = ""
	}
	return nil
}

// AMQPBeside leads from the error queue and the dead letters to the messages of brokers that are like them: dead letters
// that came in belong to no delivery. Empty when there is none.
func (p *Pages) AMQPBeside(ctx context.Context, queue site.DeliveryQueue) (ui.Crumb, error) {
	if !queue.Admin || len(queue.Statuses) == 0 {
		return ui.Crumb{}, nil
	}
	label, href, f := "amqp.beside.errors", "?state="+amqpAttention+"&direction=out", store.AMQPFilter{Direction: store.AMQPOut, Attention: true}
	if !queue.Errors {
		label, href, f = "amqp.beside.dead", "?state=dead", store.AMQPFilter{Statuses: []string{store.AMQPDead}}
	}
	n, err := p.DB.CountAMQPMessages(ctx, f)
	if err != nil || n == 0 {
		return ui.Crumb{}, err
	}
	return ui.Crumb{Label: i18n.T(ctx, label, i18n.CountUpTo(ctx, n, store.ListBound)), Href: p.AMQPAdmin().messages() + href}, nil
}

// AMQPItem leads from a delivery to the messages it was sent as.
func (p *Pages) AMQPItem(ctx context.Context, area site.DeliveryArea, d store.Delivery) ([]ui.Item, error) {
	rows, err := p.DB.AMQPOfDelivery(ctx, d.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	a := AMQPArea{p, area}
	var links []templ.Component
	for i, m := range rows {
		label := amqpState(ctx, m).Text
		if len(rows) > 1 {
			label = i18n.T(ctx, "amqp.beside.item-of-many", label, len(rows)-i)
		}
		links = append(links, ui.Link(label, a.message(m.ID)))
	}
	return []ui.Item{{Label: i18n.T(ctx, "amqp.beside.item"), Content: templ.Join(links...)}}, nil
}

// orphanWarnings warn of processes whose messages nobody would get, of one party unless partyID is empty.
func (p *Pages) orphanWarnings(ctx context.Context, scope registry.Scope, partyID string) ([]ui.Named, error) {
	orphans, err := p.Registry.AMQP.Orphans(ctx, scope)
	if err != nil {
		return nil, err
	}
	var list []ui.Named
	for _, one := range orphans {
		if partyID != "" && one.PartyID != partyID {
			continue
		}
		list = append(list, ui.Named{
			Name: i18n.T(ctx, "amqp.orphan.name-and-type", one.Name, one.Party, one.Receives),
			Href: "/admin/amqp/parties/" + url.PathEscape(one.PartyID) + "/processes/" + url.PathEscape(one.ID),
		})
	}
	return list, nil
}

// OrphanedBy lists the processes that have no recipient while this subscription does not accept events.
func (p *Pages) OrphanedBy(ctx context.Context, sub store.Subscription) ([]ui.Named, error) {
	if sub.Accepting || len(sub.Types) == 0 {
		return nil, nil
	}
	orphans, err := p.Registry.AMQP.Orphans(ctx, registry.Scope{All: true})
	if err != nil {
		return nil, err
	}
	var list []ui.Named
	for _, one := range orphans {
		for _, name := range sub.Types {
			if one.Receives == name {
				list = append(list, ui.Named{Name: i18n.T(ctx, "amqp.orphan.name", one.Name, one.Party), Href: "/admin/amqp/parties/" + url.PathEscape(one.PartyID)})
			}
		}
	}
	return list, nil
}
