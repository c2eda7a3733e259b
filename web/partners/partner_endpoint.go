package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// endpoint shows an endpoint.
func (d desk) endpoint(c echo.Context) error {
	return d.showEndpoint(c, http.StatusOK, func(*view.EndpointView) {})
}

// testEndpoint sends a test event and goes to its delivery.
func (d desk) testEndpoint(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	here := d.href("/endpoints/" + e.ID)
	switch {
	case waits(owner) != "":
		return d.notNow(c, here, waits(owner))
	case e.Kind == store.EndpointAMQP && !d.takesTests(c.Request().Context(), e):
		return d.notNow(c, here, "A health party takes business messages alone, so no test event is sent to it. Publish a business message instead.")
	case e.Kind == store.EndpointPull:
		return d.notNow(c, here, "Nothing is sent to an endpoint of kind pull, so there is nothing to test. Receive from it as this page shows.")
	case e.Kind == store.EndpointFiles:
		return d.notNow(c, here, "Nothing is sent to an endpoint of kind files, so there is nothing to test. Fetch the files of a dataset with it.")
	case e.Status != store.EndpointActive:
		return d.notNow(c, here, "The endpoint is "+e.Status+", so nothing is sent to it.")
	}
	own, err := d.Registry.Partners.Own(c.Request().Context())
	if err != nil {
		return err
	}
	_, delivery, err := d.Engine.SendTest(c.Request().Context(), engineActor(c), e.ID, testSource(own))
	return d.settled(c, err, d.deliveries+"/"+delivery, "A test event is on its way. This page shows what your endpoint answers.")
}

// testSource is the source of test events: the own organisation by its OIN.
func testSource(own store.Partner) string {
	if own.OIN == "" {
		return "urn:schakel"
	}
	return "urn:nld:oin:" + own.OIN + ":schakel"
}

// notNow goes back to a page with the reason why something was not done.
func (d desk) notNow(c echo.Context, href, text string) error {
	d.flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, href)
}

// pauseEndpoint stops sending for a time.
func (d desk) pauseEndpoint(c echo.Context) error {
	return d.stopEndpoint(c, d.Registry.Endpoints.Pause, "The endpoint is paused. What is for it waits.",
		func(v *view.EndpointView, reason, wrong string) { v.PauseReason, v.PauseError = reason, wrong })
}

// endEndpoint ends an endpoint and its subscriptions.
func (d desk) endEndpoint(c echo.Context) error {
	return d.stopEndpoint(c, d.Registry.Endpoints.End, "The endpoint has ended.",
		func(v *view.EndpointView, reason, wrong string) { v.EndReason, v.EndError = reason, wrong })
}

// stopEndpoint does what needs a reason; show puts a refused one back on the page.
func (d desk) stopEndpoint(c echo.Context, stop func(context.Context, registry.Actor, string, string) error, text string,
	show func(v *view.EndpointView, reason, wrong string),
) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	reason, wrong, err := readReason(c)
	if err != nil {
		return err
	}
	if wrong == "" {
		err = stop(c.Request().Context(), actor(c), e.ID, reason)
		if fields, ok := refused(err); ok {
			wrong = fields["reason"]
		}
	}
	if wrong != "" {
		return d.showEndpoint(c, http.StatusUnprocessableEntity, func(v *view.EndpointView) { show(v, reason, wrong) })
	}
	return d.settled(c, err, d.href("/endpoints/"+e.ID), text)
}

// readReason reads why something is stopped; what is wrong with it is told.
func readReason(c echo.Context) (reason, wrong string, err error) {
	form, err := readForm(c)
	if err != nil {
		return "", "", err
	}
	if reason = form.Get("reason"); len([]rune(reason)) < 3 {
		wrong = "Give a reason of at least 3 characters; it is kept in the audit trail."
	}
	return reason, wrong, nil
}

// resumeEndpoint starts sending again.
func (d desk) resumeEndpoint(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	err = d.Registry.Endpoints.Resume(c.Request().Context(), actor(c), e.ID)
	return d.settled(c, err, d.href("/endpoints/"+e.ID), "The endpoint is active again. What waited is sent now.")
}

func (d desk) showEndpoint(c echo.Context, status int, change func(*view.EndpointView)) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	subs, _, err := d.Registry.Subscriptions.List(c.Request().Context(), registry.ScopeOf(owner.ID),
		store.SubscriptionFilter{PartnerID: owner.ID, EndpointID: e.ID})
	if err != nil {
		return err
	}
	v := d.endpointView(owner, e)
	for _, s := range subs {
		v.Subscriptions = append(v.Subscriptions, view.EndpointSubscription{
			Label: subscriptionLabel(s), Href: d.href("/subscriptions/" + s.ID), State: s.Status, Types: getsText(s),
		})
	}
	if e.Kind == store.EndpointPull {
		if v.Pull, err = d.pullView(c, e, subs); err != nil {
			return err
		}
		v.CanTest = false
	}
	if e.Kind == store.EndpointFiles {
		v.Datasets, v.CanTest, v.ReplayHref = d.datasetsHref(c), false, ""
		v.NewSubscription = v.Datasets
	}
	if e.Kind == store.EndpointAMQP {
		if v.AMQP, err = d.endpointParty(c, e, v.CanEnd); err != nil {
			return err
		}
		v.CanTest = v.CanTest && d.takesTests(c.Request().Context(), e)
	}
	change(&v)
	page := d.pageFrame(c, e.Name, d.crumbsToEndpoints(store.Endpoint{})...)
	page.Badge, page.Invalid = ui.State(e.Status), status != http.StatusOK
	if v.CanEnd {
		page.Actions = ui.LinkButton(ui.Secondary, "Change", v.Href+"/edit")
	}
	return d.render(c, status, view.EndpointPage(page, v))
}

// datasetsHref returns the address of the datasets that can be subscribed to.
func (d desk) datasetsHref(c echo.Context) string {
	if actor(c).Administrator {
		return "/admin/datasets"
	}
	return "/partner/datasets"
}

func (d desk) endpointView(owner store.Partner, e store.Endpoint) view.EndpointView {
	may := waits(owner) == ""
	v := view.EndpointView{
		Href: d.href("/endpoints/" + e.ID), State: e.Status, Reason: e.StatusReason, Kind: kindLabel(e.Kind), URL: e.URL, ContentMode: e.ContentMode,
		Method: e.TokenAuthMethod, TokenURL: e.TokenURL, TokenClientID: e.TokenClientID, TokenScope: e.TokenScope, Secret: "not needed",
		Rate: "no limit", Concurrency: strconv.FormatInt(e.MaxConcurrency, 10), Timeout: strconv.FormatInt(e.TimeoutMS/1000, 10) + " s",
		Circuit: e.Circuit, ID: e.ID, Created: e.CreatedAt.Time, Changed: e.UpdatedAt.Time, Now: d.cfg.Now(),
		DeliveriesHref: d.deliveries + "?endpoint=" + url.QueryEscape(e.ID), NewSubscription: d.href("/subscriptions/new?endpoint=" + url.QueryEscape(e.ID)),
		Closed: waits(owner), CanTest: may && e.Status == store.EndpointActive, CanPause: may && e.Status == store.EndpointActive,
		CanResume: may && e.Status == store.EndpointPaused && (e.PausedBy == "" || owner.Own), PausedBy: e.PausedBy, CanEnd: may && e.Status != store.EndpointEnded,
	}
	if may && e.Status != store.EndpointEnded {
		v.ReplayHref = d.replays("endpoint", e.ID)
	}
	v.When, v.Closing, v.Batches = windowWords(e), closedText(e, d.cfg.Now()), batchWords(e)
	contract := receiverContract(e)
	v.Contract, v.ContractHref = contract.Name, contract.Href
	if e.TokenSecret != "" {
		v.Secret = "stored, never shown"
	}
	if e.RatePerSecond > 0 {
		v.Rate = strconv.FormatInt(e.RatePerSecond, 10)
	}
	if e.TokenAuthMethod == token.PrivateKeyJWT {
		v.JWKS = d.absolute("/oauth/jwks")
	}
	if e.Circuit != store.CircuitClosed && !e.CircuitProbeAt.IsZero() {
		v.CircuitText = ui.Time(e.CircuitProbeAt.Time)
	}
	v.Unasked = e.UnaskedAt.Time
	if e.WaitsAt(d.cfg.Now()) {
		v.WaitText = ui.Time(e.WaitUntil.Time) + ", as the receiver asked (Retry-After)"
	}
	return v
}
