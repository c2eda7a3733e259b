package partners

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// createEndpoint adds an endpoint whose token endpoint gives a token, sends it a test event, and goes on with what came of that.
func (d ownerPages) createEndpoint(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, store.Endpoint{}, readEndpoint, func(in endpointForm) error {
		if err := d.tryToken(c.Request().Context(), in, store.Endpoint{}); err != nil {
			return err
		}
		made, err := d.Registry.Endpoints.Create(c.Request().Context(), site.Actor(c), owner.ID, in.EndpointInput)
		if err != nil {
			return d.Settled(c, err, d.Href("/endpoints"), "")
		}
		return d.beginSetup(c, made, in.anyway, in.types)
	}, d.showEndpointForm)
}

// withTypes adds to an address the event types for which a subscription is to be asked at the end.
func withTypes(href string, types []string) string {
	if len(types) == 0 {
		return href
	}
	mark := "?"
	if strings.Contains(href, mark) {
		mark = "&"
	}
	return href + mark + url.Values{"types": types}.Encode()
}

// beginSetup sends a new endpoint a test event, unless its token endpoint is known to fail, and goes to the page of its outcome.
func (d ownerPages) beginSetup(c echo.Context, made store.Endpoint, failing bool, types []string) error {
	href := d.setupHref(made)
	if tested(made.Kind) && !failing {
		delivery, err := d.pages.sendTest(c, made.ID)
		if err != nil {
			return err
		}
		href += "?" + url.Values{"delivery": {delivery}}.Encode()
		if err := d.checkNew(c, made); err != nil {
			return err
		}
	}
	return d.Done(c, withTypes(href, types), addedMessage(made))
}

// tested reports whether a new endpoint of a kind is sent a test event.
func tested(kind string) bool { return kind == store.EndpointWebhook || kind == store.EndpointInbox }

func (d ownerPages) setupHref(e store.Endpoint) string {
	return d.Href("/endpoints/" + e.ID + "/setup")
}

// setupEndpoint shows how the test of a new endpoint went, and what to do next.
func (d ownerPages) setupEndpoint(c echo.Context) error {
	ctx := c.Request().Context()
	owner, e, err := d.ownEndpoint(c)
	if err != nil || site.Waits(ctx, owner) != "" || e.Status == store.EndpointEnded {
		return d.Closed(c, err, "/endpoints/"+e.ID)
	}
	here := d.Href("/endpoints/" + e.ID)
	v := view.SetupView{Href: here, Kind: site.KindLabel(ctx, e.Kind), Tests: tested(e.Kind), Edit: e.Kind == store.EndpointWebhook, NotActive: e.Status != store.EndpointActive}
	if err := d.fillSetupOutcome(c, e, &v); err != nil {
		return err
	}
	if v.Check, err = d.pages.lastCheck(ctx, e, here); err != nil {
		return err
	}
	if v.Previous, err = d.pages.previousAddress(ctx, e, here+"/edit"); err != nil {
		return err
	}
	v.Address = e.URL
	if v.Next, err = d.nextSteps(c, e, v.Test == view.SetupWorks); err != nil {
		return err
	}
	page := d.PageFrame(c, i18n.T(ctx, "partners.setup.title", e.Name), d.crumbsToEndpoints(ctx, e)...)
	return d.Render(c, http.StatusOK, view.SetupPage(page, v))
}

// fillSetupOutcome shows what came of the test event that the address names. It waits a little for one that was not tried yet.
func (d ownerPages) fillSetupOutcome(c echo.Context, e store.Endpoint, v *view.SetupView) error {
	ctx := c.Request().Context()
	id := site.Clean(c.QueryParam("delivery"))
	if id == "" || !v.Tests {
		return nil
	}
	row, err := d.DB.Delivery(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.EndpointID != e.ID {
		return nil
	}
	if err != nil {
		return err
	}
	if row.Attempts == 0 {
		if err := d.pages.awaitAttempt(ctx, id); err != nil {
			return err
		}
		if row, err = d.DB.Delivery(ctx, id); err != nil {
			return err
		}
	}
	switch {
	case row.Status == store.DeliveryDelivered:
		v.Test = view.SetupWorks
	case row.Attempts == 0:
		v.Test = view.SetupWaits
	default:
		v.Test = view.SetupFails
		if v.Cause = registry.IssueCause(row.Cause).In(ctx); row.Cause == "" {
			v.Cause = site.ReasonOf(row.Reason).Label.In(ctx)
		}
		v.Advice = registry.IssueAdvice(row.Cause, false).In(ctx)
	}
	v.Outcome, err = d.testOutcome(c, e, id, d.setupHref(e))
	return err
}

// nextSteps lists what is left to do until events arrive at an endpoint; a receiver that works need not be written.
func (d ownerPages) nextSteps(c echo.Context, e store.Endpoint, works bool) ([]view.Step, error) {
	ctx, here := c.Request().Context(), d.Href("/endpoints/"+e.ID)
	subs, _, err := d.Registry.Subscriptions.List(ctx, registry.ScopeOf(e.PartnerID), store.SubscriptionFilter{PartnerID: e.PartnerID, EndpointID: e.ID})
	if err != nil {
		return nil, err
	}
	subscribe := view.Step{
		Label: i18n.T(ctx, "partners.action.ask-subscription"), Text: i18n.T(ctx, "partners.home.step-subscription-text"), Done: len(subs) > 0,
		ActionLabel: i18n.T(ctx, "partners.home.step-ask"), ActionHref: withTypes(d.Href("/subscriptions/new?endpoint="+url.QueryEscape(e.ID)), c.QueryParams()["types"]),
	}
	look := view.Step{
		Label: i18n.T(ctx, "partners.setup.typed"), Text: i18n.T(ctx, "partners.setup.typed-text"),
		ActionLabel: i18n.T(ctx, "partners.setup.choose-type"), ActionHref: here + "/test",
	}
	switch e.Kind {
	case store.EndpointFiles:
		subscribe.Text, subscribe.ActionHref, subscribe.ActionLabel = i18n.T(ctx, "partners.home.step-dataset-text"), d.datasetsHref(c), i18n.T(ctx, "partners.endpoint.datasets")
		return []view.Step{subscribe}, nil
	case store.EndpointAMQP:
		party := view.Step{
			Label: i18n.T(ctx, "partners.endpoint.party"), Text: i18n.T(ctx, "partners.endpoint.no-party"),
			ActionLabel: i18n.T(ctx, "partners.endpoint.fill-party"), ActionHref: here,
		}
		at, err := d.endpointParty(c, e, true)
		if err != nil {
			return nil, err
		}
		if party.Done = at.Party.Href != ""; !party.Done && at.New != "" {
			party.ActionHref = at.New
		}
		return []view.Step{party, subscribe}, nil
	case store.EndpointPull:
		client, err := d.fetcher(ctx, e)
		if err != nil {
			return nil, err
		}
		return []view.Step{subscribe, client, {
			Label: i18n.T(ctx, "partners.setup.fetch"), Text: i18n.T(ctx, "partners.setup.fetch-text"),
			ActionLabel: i18n.T(ctx, "partners.setup.see-commands"), ActionHref: here,
		}}, nil
	case store.EndpointInbox:
		return []view.Step{{
			Label: i18n.T(ctx, "partners.inbox.see"), Text: i18n.T(ctx, "partners.setup.inbox-text"), ActionLabel: i18n.T(ctx, "partners.inbox.see"), ActionHref: here,
		}, subscribe, look}, nil
	}
	steps := []view.Step{subscribe, look}
	if works {
		return steps, nil
	}
	return append(steps, view.Step{
		Label: i18n.T(ctx, "partners.setup.receiver"), Text: i18n.T(ctx, "partners.setup.receiver-text"),
		ActionLabel: i18n.T(ctx, "partners.setup.see-receivers"), ActionHref: "/docs/receivers",
	}), nil
}

// fetcher is the step that makes a client with which events are fetched.
func (d ownerPages) fetcher(ctx context.Context, e store.Endpoint) (view.Step, error) {
	clients, err := d.Registry.Clients.List(ctx, registry.ScopeOf(e.PartnerID), e.PartnerID)
	if err != nil {
		return view.Step{}, err
	}
	fetches := func(c store.Client) bool {
		return c.Status == store.ClientActive && (slices.Contains(c.Scopes, site.ScopeEventsConsume) || slices.Contains(c.RequestedScopes, site.ScopeEventsConsume))
	}
	return view.Step{
		Label: i18n.T(ctx, "partners.setup.client"), Text: i18n.T(ctx, "partners.setup.client-text"), Done: slices.ContainsFunc(clients, fetches),
		ActionLabel: i18n.T(ctx, "partners.setup.add-client"), ActionHref: d.Href("/clients/new?scopes=" + site.ScopeEventsConsume),
	}, nil
}

// endpointWays are the kinds of endpoint to choose from, of which chosen is one.
func (d ownerPages) endpointWays(ctx context.Context, chosen string, types []string) []view.EndpointWay {
	var ways []view.EndpointWay
	for _, kind := range d.Registry.Endpoints.ServedKinds() {
		if kind == chosen {
			ways = append(ways, view.EndpointWay{Label: site.KindLabel(ctx, kind), Hint: kindText(ctx, kind)})
			continue
		}
		ways = append(ways, view.EndpointWay{Label: otherKind(ctx, kind), Href: withTypes(d.Href("/endpoints/new?kind="+url.QueryEscape(kind)), types)})
	}
	return ways
}

// kindText describes an endpoint of a kind.
func kindText(ctx context.Context, kind string) string {
	switch kind {
	case store.EndpointPull:
		return i18n.T(ctx, "partners.endpoint.form-pull")
	case store.EndpointAMQP:
		return i18n.T(ctx, "partners.endpoint.form-amqp")
	case store.EndpointFiles:
		return i18n.T(ctx, "partners.endpoint.form-files")
	case store.EndpointInbox:
		return i18n.T(ctx, "partners.endpoint.form-inbox")
	}
	return i18n.T(ctx, "site.kind-webhook-hint")
}

// addedMessage confirms a new endpoint and advises the next step.
func addedMessage(made store.Endpoint) i18n.Message {
	switch made.Kind {
	case store.EndpointPull:
		return i18n.M("partners.endpoint.added-pull", made.Name)
	case store.EndpointFiles:
		return i18n.M("partners.endpoint.added-files", made.Name)
	case store.EndpointAMQP:
		return i18n.M("partners.endpoint.added-amqp", made.Name)
	case store.EndpointInbox:
		return "partners.inbox.made"
	}
	return i18n.M("partners.endpoint.added-webhook", made.Name)
}

// otherKind leads to the form for another kind of endpoint.
func otherKind(ctx context.Context, kind string) string {
	switch kind {
	case store.EndpointPull:
		return i18n.T(ctx, "partners.endpoint.instead-pull")
	case store.EndpointFiles:
		return i18n.T(ctx, "partners.endpoint.instead-files")
	case store.EndpointWebhook:
		return i18n.T(ctx, "partners.endpoint.instead-webhook")
	case store.EndpointInbox:
		return i18n.T(ctx, "partners.endpoint.instead-inbox")
	}
	return i18n.T(ctx, "partners.endpoint.instead-other", site.KindLabel(ctx, kind))
}
