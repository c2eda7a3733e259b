package amqp

import (
	"context"
	"errors"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
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
	v := &view.EndpointAMQP{
		Party: ui.Named{Name: row.Name, Href: a.party(row.ID)}, Messages: a.messages() + "?party=" + url.QueryEscape(row.ID), Facts: queueItems(row),
		Health: row.Kind == store.AMQPHealth,
	}
	if row.HerID > 0 {
		v.Facts = append([]ui.Item{{Label: "HER-id", Content: ui.Identifier(site.NumberText(row.HerID))}}, v.Facts...)
	}
	return v, nil
}

// FillAdminParty puts the party of an endpoint on the page for administrators.
func (p *Pages) FillAdminParty(ctx context.Context, e store.Endpoint, v *view.AdminEndpointView) error {
	a := p.AMQPAdmin()
	v.Pull, v.Party = true, ui.Named{Name: "Fill in its HER-id and queues", Href: a.root() + "/parties/new?endpoint=" + url.QueryEscape(e.ID)}
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
