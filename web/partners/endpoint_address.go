package partners

import (
	"context"
	"errors"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// testNewAddress sends a test event to an endpoint that got another address, as to a new one, unless its token endpoint is known to fail or nothing is
// sent to it now, and goes to the page of the outcome.
func (d ownerPages) testNewAddress(c echo.Context, e store.Endpoint, failing bool) error {
	href := d.setupHref(e)
	if failing || e.Status != store.EndpointActive {
		return d.Done(c, href, "partners.endpoint.address-untested")
	}
	delivery, err := d.pages.sendTest(c, e.ID)
	if err != nil {
		return err
	}
	return d.Done(c, href+"?"+url.Values{"delivery": {delivery}}.Encode(), "partners.endpoint.address-saved")
}

// sendTest sends the test event that asks for nothing but an answer.
func (p *pages) sendTest(c echo.Context, endpointID string) (delivery string, err error) {
	own, err := p.Registry.Partners.Own(c.Request().Context())
	if err != nil {
		return "", err
	}
	_, delivery, err = p.Engine.SendTest(c.Request().Context(), site.EngineActor(c), endpointID, testSource(own))
	return delivery, err
}

// previousAddress shows the address before the present one of an endpoint; nil when there was none. edit is the form for a change, empty for who may
// not change it.
func (p *pages) previousAddress(ctx context.Context, e store.Endpoint, edit string) (*view.PreviousAddress, error) {
	if e.Kind != store.EndpointWebhook {
		return nil, nil
	}
	was, err := p.DB.PreviousAddress(ctx, e.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	v := &view.PreviousAddress{URL: was.State, Until: i18n.Time(ctx, was.At.Time)}
	if edit != "" && was.State != e.URL {
		v.Back = edit + "?address=previous"
	}
	return v, err
}

// addressToEdit is the address in the form of an endpoint: the present one, or that before, where the way back asks for it.
func (d ownerPages) addressToEdit(c echo.Context, e store.Endpoint) (string, error) {
	if c.QueryParam("address") != "previous" {
		return e.URL, nil
	}
	was, err := d.DB.PreviousAddress(c.Request().Context(), e.ID)
	if errors.Is(err, store.ErrNotFound) {
		return e.URL, nil
	}
	return was.State, err
}
