package site

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// probeParam names, in the address of the page that a probe goes back to, the delivery that goes with it and how many attempts it had.
const probeParam = "tried"

// Probe has the next delivery go at once to an endpoint whose circuit is open, and goes back to a page that follows its outcome.
func (p *Portal) Probe(c echo.Context, endpointID, href string) error {
	ctx := c.Request().Context()
	id, err := p.Registry.Endpoints.Probe(ctx, Actor(c), endpointID)
	if err != nil || id == "" {
		return p.Settled(c, err, href, "site.probe-nothing")
	}
	attempts, err := p.DB.Attempts(ctx, id)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, href+"?"+url.Values{probeParam: {id + "." + strconv.Itoa(len(attempts))}}.Encode())
}

// NoteProbe puts on a page about an endpoint what came of the delivery that was tried at once, when the page was reached so.
func (p *Portal) NoteProbe(c echo.Context, page *ui.Page, endpointID string, area DeliveryArea) error {
	ctx := c.Request().Context()
	id, before, ok := strings.Cut(c.QueryParam(probeParam), ".")
	had, err := strconv.Atoi(before)
	if !ok || err != nil {
		return nil
	}
	d, err := p.DB.Delivery(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && d.EndpointID != endpointID {
		return nil
	}
	if err != nil {
		return err
	}
	attempts, err := p.DB.Attempts(ctx, id)
	if err != nil {
		return err
	}
	v := ui.ProbeView{Self: c.Request().URL.RequestURI(), Delivery: area.Delivery(d.ID)}
	switch waits := d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying; {
	case d.Status == store.DeliveryDelivered:
		v.Kind, v.Text = ui.KindOK, i18n.M("site.probe-delivered", d.DeliveredAt.Time)
		if d.LastStatus != 0 {
			v.Text = i18n.M("site.probe-answered", d.DeliveredAt.Time, d.LastStatus)
		}
	case len(attempts) > had:
		last := attempts[len(attempts)-1]
		cause := i18n.Raw(FailureKind(ctx, last.ErrorKind))
		if last.StatusCode != 0 {
			cause = registry.IssueCause("http-" + strconv.FormatInt(last.StatusCode, 10))
		}
		v.Kind, v.Text = ui.KindError, i18n.M("site.probe-failed", last.StartedAt.Time, cause)
	case waits:
		v.Kind, v.Text, v.Open = ui.KindInfo, "site.probe-under-way", true
	default:
		v.Kind, v.Text = ui.KindWarning, i18n.M("site.probe-not-sent", i18n.Word("ui.state", DeliveryState(d.Status, d.Reason)), ReasonOf(d.Reason).Label)
	}
	if !v.Open && c.Request().Header.Get("HX-Request") != "" {
		c.Response().Header().Set("HX-Refresh", "true") // the rest of the page is of before
	}
	page.Outcome = ui.ProbeOutcome(v)
	return nil
}
