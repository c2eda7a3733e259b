package partners

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// endpoint shows an endpoint.
func (d ownerPages) endpoint(c echo.Context) error {
	return d.showEndpoint(c, http.StatusOK, func(*view.EndpointView) {})
}

// testSource is the source of test events: the own organisation by its OIN.
func testSource(own store.Partner) string {
	if own.OIN == "" {
		return "urn:schakel"
	}
	return "urn:nld:oin:" + own.OIN + ":schakel"
}

// endpointStateMessage is the word for the state of an endpoint.
func endpointStateMessage(status string) i18n.Message {
	switch status {
	case store.EndpointPaused:
		return "partners.endpoint-state.paused"
	case store.EndpointSuspended:
		return "partners.endpoint-state.suspended"
	case store.EndpointEnded:
		return "partners.endpoint-state.ended"
	}
	return "partners.endpoint-state.active"
}

// notNow goes back to a page with the reason why something was not done.
func (d ownerPages) notNow(c echo.Context, href string, text i18n.Message) error {
	d.Flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, href)
}

// pauseEndpoint stops sending for a time.
func (d ownerPages) pauseEndpoint(c echo.Context) error {
	return d.stopEndpoint(c, d.Registry.Endpoints.Pause, "partners.endpoint.paused",
		func(v *view.EndpointView, reason string, wrong i18n.Message) {
			v.PauseReason, v.PauseError = reason, wrong
		})
}

// endEndpoint ends an endpoint and its subscriptions.
func (d ownerPages) endEndpoint(c echo.Context) error {
	return d.stopEndpoint(c, d.Registry.Endpoints.End, "partners.endpoint.ended",
		func(v *view.EndpointView, reason string, wrong i18n.Message) { v.EndReason, v.EndError = reason, wrong })
}

// stopEndpoint does what needs a reason; show puts a refused one back on the page.
func (d ownerPages) stopEndpoint(c echo.Context, stop func(context.Context, registry.Actor, string, string) error, text i18n.Message,
	show func(v *view.EndpointView, reason string, wrong i18n.Message),
) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		return d.Settled(c, stop(c.Request().Context(), site.Actor(c), e.ID, reason), d.Href("/endpoints/"+e.ID), text)
	}, func(reason string, wrong i18n.Message) error {
		return d.showEndpoint(c, http.StatusUnprocessableEntity, func(v *view.EndpointView) { show(v, reason, wrong) })
	})
}

// resumeEndpoint starts sending again.
func (d ownerPages) resumeEndpoint(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	err = d.Registry.Endpoints.Resume(c.Request().Context(), site.Actor(c), e.ID)
	return d.Settled(c, err, d.Href("/endpoints/"+e.ID), "partners.endpoint.active-again")
}

// probeEndpoint has a delivery go at once while the circuit is open.
func (d ownerPages) probeEndpoint(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return d.Probe(c, e.ID, d.Href("/endpoints/"+e.ID))
}

func (d ownerPages) showEndpoint(c echo.Context, status int, change func(*view.EndpointView)) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	subs, _, err := d.Registry.Subscriptions.List(c.Request().Context(), registry.ScopeOf(owner.ID),
		store.SubscriptionFilter{PartnerID: owner.ID, EndpointID: e.ID})
	if err != nil {
		return err
	}
	v := d.endpointView(c.Request().Context(), owner, e)
	for _, s := range subs {
		v.Subscriptions = append(v.Subscriptions, view.EndpointSubscription{
			Label: site.SubscriptionLabel(c.Request().Context(), s), Href: d.Href("/subscriptions/" + s.ID), State: s.Status, Types: site.GetsText(c.Request().Context(), s),
		})
	}
	if v.CanEnd && sendsAnything(subs) {
		v.ReplayHref, v.AgainHref = d.Replays("endpoint", e.ID), d.Again(e.ID)
	}
	if v.RemovalsHeld, err = d.Registry.Endpoints.HoldsRemovals(c.Request().Context(), site.Actor(c)); err != nil {
		return err
	}
	if v.Check, err = d.pages.lastCheck(c.Request().Context(), e, v.Href); err != nil {
		return err
	}
	edit := ""
	if v.CanEnd {
		edit = v.Href + "/edit"
	}
	if v.Previous, err = d.pages.previousAddress(c.Request().Context(), e, edit); err != nil {
		return err
	}
	ready := d.Readiness(site.Actor(c).Administrator)
	if v.Unready, err = ready.OfEndpoint(c.Request().Context(), e); err != nil {
		return err
	}
	for i, s := range subs {
		if v.Subscriptions[i].Unready, err = ready.OfSubscription(c.Request().Context(), s); err != nil {
			return err
		}
	}
	if v.Queue, err = d.queueOf(c.Request().Context(), e); err != nil {
		return err
	}
	v.IssuesHref = d.issuesHref(e.ID)
	if v.Issues, err = unresolvedIssues(c.Request().Context(), d.DB, e.ID); err != nil {
		return err
	}
	if e.Kind == store.EndpointPull {
		if v.Pull, err = d.pullView(c, e, subs); err != nil {
			return err
		}
		v.Pull.Stopped, v.CanTest = v.Queue.Why, false
	}
	if e.Kind == store.EndpointFiles {
		v.Datasets, v.CanTest, v.ReplayHref, v.AgainHref = d.datasetsHref(c), false, "", ""
		v.NewSubscription = v.Datasets
	}
	if e.Kind == store.EndpointAMQP {
		if v.AMQP, err = d.endpointParty(c, e, v.CanEnd); err != nil {
			return err
		}
		v.CanTest = v.CanTest && d.takesTests(c.Request().Context(), e)
	}
	if e.Kind == store.EndpointInbox {
		if v.Inbox, err = d.inboxView(c.Request().Context(), e, v.CanEnd); err != nil {
			return err
		}
	}
	if e.Kind != store.EndpointFiles {
		href := strings.TrimSuffix(d.Deliveries, "/deliveries") + "/traffic?endpoint=" + url.QueryEscape(e.ID)
		moved, err := d.EndpointTraffic(c.Request().Context(), e, href)
		if err != nil {
			return err
		}
		v.Traffic = &moved
	}
	change(&v)
	page := d.PageFrame(c, e.Name, d.crumbsToEndpoints(c.Request().Context(), store.Endpoint{})...)
	page.Badge, page.Invalid = ui.BadgeOr(e.Status, v.Unready), status != http.StatusOK
	if err := d.pages.noteMove(c.Request().Context(), &page, e, v.Href); err != nil {
		return err
	}
	if err := d.NoteProbe(c, &page, e.ID, site.DeliveryArea{Base: strings.TrimSuffix(d.Deliveries, "/deliveries")}); err != nil {
		return err
	}
	if v.CanEnd {
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(c.Request().Context(), "partners.label.change"), v.Href+"/edit")
	}
	return d.Render(c, status, view.EndpointPage(page, v))
}

// sendsAnything reports whether events may be sent to one of the subscriptions of an endpoint: a replay selects nothing otherwise.
func sendsAnything(subs []store.Subscription) bool {
	return slices.ContainsFunc(subs, func(s store.Subscription) bool { return s.Sending })
}

// datasetsHref returns the address of the datasets that can be subscribed to.
func (d ownerPages) datasetsHref(c echo.Context) string {
	if site.Actor(c).Administrator {
		return "/admin/datasets"
	}
	return "/partner/datasets"
}

func (d ownerPages) endpointView(ctx context.Context, owner store.Partner, e store.Endpoint) view.EndpointView {
	may := site.Waits(ctx, owner) == ""
	v := view.EndpointView{
		Href: d.Href("/endpoints/" + e.ID), State: e.Status, Reason: i18n.Message(e.StatusReason).In(ctx), Kind: site.KindLabel(ctx, e.Kind), URL: e.URL, ContentMode: i18n.Of(ctx, "amqp.content-mode", cmp.Or(e.ContentMode, registry.ModeStructured)),
		Method: e.TokenAuthMethod, TokenURL: e.TokenURL, TokenClientID: e.TokenClientID, TokenScope: e.TokenScope, Secret: i18n.T(ctx, "partners.endpoint.secret-not-needed"),
		Rate: i18n.T(ctx, "partners.endpoint.no-limit"), Concurrency: i18n.Count(ctx, int(e.MaxConcurrency)), Timeout: i18n.Duration(ctx, time.Duration(e.TimeoutMS)*time.Millisecond),
		Circuit: e.Circuit, ID: e.ID, Created: e.CreatedAt.Time, Changed: e.UpdatedAt.Time, Now: d.Cfg.Now(),
		DeliveriesHref: d.Deliveries + "?endpoint=" + url.QueryEscape(e.ID), NewSubscription: d.Href("/subscriptions/new?endpoint=" + url.QueryEscape(e.ID)),
		Closed: site.Waits(ctx, owner), CanTest: may && e.Status == store.EndpointActive, CanPause: may && e.Status == store.EndpointActive,
		CanResume: may && e.Status == store.EndpointPaused && (e.PausedBy == "" || owner.Own), PausedBy: e.PausedBy, CanEnd: may && e.Status != store.EndpointEnded,
	}
	v.When, v.Closing, v.Batches = site.WindowWords(ctx, e), site.ClosedText(ctx, e, d.Cfg.Now()), batchWords(ctx, e)
	contract := receiverContract(e)
	v.Contract, v.ContractHref = contract.Name, contract.Href
	if e.TokenSecret != "" {
		v.Secret = i18n.T(ctx, "partners.endpoint.secret-stored")
	}
	if e.RatePerSecond > 0 {
		v.Rate = i18n.Count(ctx, int(e.RatePerSecond))
	}
	if e.TokenAuthMethod == token.PrivateKeyJWT {
		v.JWKS = d.Absolute("/oauth/jwks")
	}
	if e.Circuit != store.CircuitClosed && !e.CircuitProbeAt.IsZero() {
		v.CircuitText = i18n.Time(ctx, e.CircuitProbeAt.Time)
	}
	if may && site.MayProbe(e, d.Cfg.Now()) {
		v.ProbeAction = v.Href + "/probe"
	}
	v.Certificates = certificateRows(e, d.Cfg.Now())
	v.Unasked, v.Signing = e.UnaskedAt.Time, signText(e.SignScheme).In(ctx)
	if e.WaitsAt(d.Cfg.Now()) {
		v.WaitText = i18n.T(ctx, "partners.endpoint.wait-asked", e.WaitUntil.Time)
	}
	return v
}

// pullView explains how to fetch events from an endpoint, and counts those that wait there.
func (d ownerPages) pullView(c echo.Context, e store.Endpoint, subs []store.Subscription) (*view.PullView, error) {
	backlog, err := d.DB.PullBacklog(c.Request().Context(), e.ID, store.At(d.Cfg.Now()))
	if err != nil {
		return nil, fmt.Errorf("count what waits: %w", err)
	}
	listen, err := d.listenView(c.Request().Context(), e)
	if err != nil {
		return nil, err
	}
	base := d.Absolute("/events/v1/subscriptions/" + pullExampleID(subs))
	return &view.PullView{
		Listen:  listen,
		Waiting: backlog.Waiting, Leased: backlog.Leased, Oldest: backlog.Oldest.Time, Docs: "/events/v1/openapi.yaml",
		Receive:     pullExample(base+"/receive", site.Quoted(`{"maxEvents":100,"maxWaitTime":20}`)) + " > received.json",
		Acknowledge: pullExample(base+"/acknowledge", `"{\"lockTokens\":[$(`+lockTokens+`)]}"`),
	}, nil
}

// pullExampleID is the subscription a command can be tried with: an approved one when there is one.
func pullExampleID(subs []store.Subscription) string {
	id := "SUBSCRIPTION-ID"
	for _, s := range subs {
		if s.Status == store.SubscriptionApproved {
			return s.ID
		}
		if s.Status == store.SubscriptionRequested || s.Status == store.SubscriptionPaused {
			id = s.ID
		}
	}
	return id
}

// lockTokens lists the lock tokens of what was received as JSON strings, without a tool for JSON.
const lockTokens = `grep -oE '"lockToken": ?"[^"]*"' received.json | sed -E 's/.*:[^"]*//' | paste -sd, -` // #nosec G101 -- a command without a secret

// pullExample is a command that calls a verb with a body, which is one word of the shell. The token is in a variable of it.
func pullExample(address, body string) string {
	return "curl --oauth2-bearer \"$TOKEN\" \\\n  --header 'Content-Type: application/json' \\\n  --data " + body + " \\\n  " + site.Quoted(address)
}
