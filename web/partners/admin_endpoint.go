package partners

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminEndpoint shows an endpoint with its health.
func (p *pages) adminEndpoint(c echo.Context) error { return p.showEndpoint(c, site.Refusal{}) }

// showEndpoint shows an endpoint, with why a step with it was refused.
func (p *pages) showEndpoint(c echo.Context, r site.Refusal) error {
	ctx, who := c.Request().Context(), site.Actor(c)
	endpoint, err := p.Registry.Endpoints.Get(ctx, who.Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	partner, err := p.Registry.Partners.Get(ctx, who.Scope(), endpoint.PartnerID)
	if err != nil {
		return err
	}
	v := endpointView(ctx, endpoint, partner, p.Cfg.Now())
	v.Now, v.Message, v.Closing = p.Cfg.Now(), r.Message, site.ClosedText(ctx, endpoint, p.Cfg.Now())
	v.Acts = site.Acts(ctx, p.endpointSteps(), "/admin/endpoints/"+endpoint.ID, endpoint.Status, r)
	v.Acts.Title = i18n.T(ctx, "partners.endpoint.admin-acts")
	if err := p.fillEndpoint(ctx, who, endpoint, &v); err != nil {
		return err
	}
	if v.Unready, err = p.Readiness(true).OfEndpoint(ctx, endpoint); err != nil {
		return err
	}
	page := p.Frame(c, endpoint.Name, ui.Crumb{Label: i18n.T(ctx, "partners.label.endpoints"), Href: "/admin/endpoints"})
	page.Badge, page.Invalid = ui.BadgeOr(endpoint.Status, v.Unready), r.Status != 0
	if err := p.noteMove(ctx, &page, endpoint, "/admin/endpoints/"+endpoint.ID); err != nil {
		return err
	}
	if err := p.NoteProbe(c, &page, endpoint.ID, site.AdministratorArea()); err != nil {
		return err
	}
	return p.Render(c, r.Code(), view.AdminEndpoint(page, v))
}

// fetches reports whether the owner of an endpoint fetches from us: then nothing is sent.
func fetches(e store.Endpoint) bool {
	return e.Kind == store.EndpointPull || e.Kind == store.EndpointFiles
}

func endpointView(ctx context.Context, e store.Endpoint, partner store.Partner, now time.Time) view.AdminEndpointView {
	v := view.AdminEndpointView{
		ID: e.ID, Kind: site.KindLabel(ctx, e.Kind), URL: e.URL, ContentMode: i18n.Of(ctx, "amqp.content-mode", cmp.Or(e.ContentMode, registry.ModeStructured)), Status: e.Status, Reason: i18n.Message(e.StatusReason).In(ctx),
		Partner: ui.Named{Name: partner.Name, Href: "/admin/partners/" + partner.ID}, PartnerStatus: partner.Status,
		TokenURL: e.TokenURL, TokenClientID: e.TokenClientID, TokenScope: e.TokenScope, TokenMethod: e.TokenAuthMethod,
		Rate: int(e.RatePerSecond), Concurrency: int(e.MaxConcurrency), Timeout: time.Duration(e.TimeoutMS) * time.Millisecond,
		Circuit: e.Circuit, Failures: int(e.CircuitFailures), OpenedAt: e.CircuitOpenedAt.Time, ProbeAt: e.CircuitProbeAt.Time, WaitUntil: e.WaitUntil.Time, Unasked: e.UnaskedAt.Time, Waits: e.WaitsAt(now),
		Pull: fetches(e), When: site.WindowWords(ctx, e), Batches: batchWords(ctx, e), Contract: receiverContract(e),
		Created: e.CreatedAt.Time, DeliveriesHref: "/admin/deliveries?endpoint=" + e.ID,
	}
	if e.Status != store.EndpointEnded && !fetches(e) && partner.Status == store.PartnerApproved {
		v.TestAction = "/admin/endpoints/" + e.ID + "/test"
	}
	if site.MayProbe(e, now) {
		v.ProbeAction = "/admin/endpoints/" + e.ID + "/probe"
	}
	if partner.Own {
		v.EditHref = "/admin/own/endpoints/" + e.ID
	}
	return v
}

// fillEndpoint adds what waits at the endpoint, what sends to it and what happened.
func (p *pages) fillEndpoint(ctx context.Context, who registry.Actor, e store.Endpoint, v *view.AdminEndpointView) error {
	waiting, err := p.Backlogs(ctx)
	if err != nil {
		return err
	}
	if e.Kind == store.EndpointAMQP {
		if err := p.fillAdminParty(ctx, e, v); err != nil {
			return err
		}
	}
	if v.Check, err = p.lastCheck(ctx, e, "/admin/endpoints/"+e.ID); err != nil {
		return err
	}
	edit := ""
	if v.EditHref != "" {
		edit = v.EditHref + "/edit"
	}
	if v.Previous, err = p.previousAddress(ctx, e, edit); err != nil {
		return err
	}
	v.IssuesHref = "/admin/issues?state=unresolved&endpoint=" + e.ID
	if v.Issues, err = unresolvedIssues(ctx, p.DB, e.ID); err != nil {
		return err
	}
	if e.Kind != store.EndpointFiles {
		moved, err := p.EndpointTraffic(ctx, e, "/admin/traffic?endpoint="+url.QueryEscape(e.ID))
		if err != nil {
			return err
		}
		v.Traffic = &moved
	}
	if e.Status == store.EndpointActive {
		queued, err := p.DB.QueuedAt(ctx, e.ID)
		if err != nil {
			return err
		}
		if v.Stopped, err = stoppedSubscriptions(ctx, p.DB, e.ID, queued); err != nil {
			return err
		}
	}
	v.Waiting, v.Oldest = waiting[e.ID].Waiting, waiting[e.ID].OldestDue.Time
	subs, _, err := p.Registry.Subscriptions.List(ctx, who.Scope(), store.SubscriptionFilter{EndpointID: e.ID})
	if err != nil {
		return err
	}
	if v.TestAction != "" && sendsAnything(subs) {
		v.ReplayHref, v.AgainHref = "/admin/replays?endpoint="+e.ID, "/admin/jobs/new?endpoint="+e.ID
	}
	if v.Subscriptions, err = subscriptionRows(ctx, p.AdminNames(), p.Readiness(true), subs); err != nil {
		return err
	}
	v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "endpoint", ObjectID: e.ID}, "")
	return err
}

// endpointSteps lists the actions of an administrator on an endpoint.
func (p *pages) endpointSteps() []site.Step {
	endpoints := p.Registry.Endpoints
	return []site.Step{
		{
			Verb: "resume", Proof: true, Needs: registry.OperateEndpoints, Do: site.ByIDAlone(endpoints.Resume), From: []string{store.EndpointPaused, store.EndpointSuspended}, Kind: ui.Primary,
			Label: "partners.endpoint.resume", Done: "partners.endpoint.resumed-admin",
		},
		{
			Verb: "pause", Needs: registry.OperateEndpoints, Do: site.ByID(endpoints.Pause), From: []string{store.EndpointActive}, Reason: true,
			Label:   "partners.endpoint.pause-title",
			Explain: "partners.endpoint.pause-admin-text",
			Done:    "partners.endpoint.paused",
		},
		{
			Verb: "suspend", Needs: registry.ChangeEndpoints, Do: site.ByID(endpoints.Suspend), From: []string{store.EndpointActive, store.EndpointPaused}, Reason: true,
			Label:   "partners.endpoint.suspend-title",
			Explain: "partners.endpoint.suspend-text",
			Done:    "partners.endpoint.suspended", Mails: true,
		},
		{
			Verb: "end", Needs: registry.ChangeEndpoints, Do: site.ByID(endpoints.End), From: []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}, Reason: true,
			Label:   "partners.endpoint.end-good",
			Explain: "partners.endpoint.end-good-text",
			Done:    "partners.endpoint.ended",
		},
	}
}

// adminEndpointTest sends a test event and shows what comes of it.
func (p *pages) adminEndpointTest(c echo.Context) error {
	delivery, err := p.sendTest(c, c.Param("id"))
	if errors.Is(err, outbox.ErrNothingSent) {
		p.Flash(c, ui.KindWarning, site.Sentence(err))
		return c.Redirect(http.StatusSeeOther, "/admin/endpoints/"+c.Param("id"))
	}
	if err != nil {
		return err
	}
	return p.Done(c, "/admin/deliveries/"+delivery, "partners.endpoint.test-sent-admin")
}
