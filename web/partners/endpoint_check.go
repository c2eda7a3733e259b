package partners

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/endpointcheck"
	"schakel/delivery/outbox"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// checkPatience bounds the wait for a report before the page is shown without it.
const checkPatience = 6 * time.Second

// endpointCheck shows the owner of an endpoint the report of a check.
func (d ownerPages) endpointCheck(c echo.Context) error {
	owner, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	may := site.Waits(c.Request().Context(), owner) == ""
	return d.pages.showCheck(c, e, d.Href("/endpoints/"+e.ID), may, d.crumbsToEndpoints(c.Request().Context(), e))
}

// startCheck checks an endpoint of the owner.
func (d ownerPages) startCheck(c echo.Context) error {
	_, e, err := d.ownEndpoint(c)
	if err != nil {
		return err
	}
	return d.pages.startCheck(c, e, d.Href("/endpoints/"+e.ID))
}

// adminEndpointCheck shows an administrator the same.
func (p *pages) adminEndpointCheck(c echo.Context) error {
	e, err := p.Registry.Endpoints.Get(c.Request().Context(), site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	ctx, here := c.Request().Context(), "/admin/endpoints/"+e.ID
	return p.showCheck(c, e, here, true, []ui.Crumb{{Label: i18n.T(ctx, "partners.label.endpoints"), Href: "/admin/endpoints"}, {Label: e.Name, Href: here}})
}

// adminStartCheck checks any endpoint.
func (p *pages) adminStartCheck(c echo.Context) error {
	e, err := p.Registry.Endpoints.Get(c.Request().Context(), site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	return p.startCheck(c, e, "/admin/endpoints/"+e.ID)
}

// checks reports whether an endpoint can be checked here.
func (p *pages) checks(e store.Endpoint) bool {
	return p.Checks != nil && e.Kind == store.EndpointWebhook
}

// startCheck begins a check and waits a little for its report, so that it is on the page without JavaScript.
func (p *pages) startCheck(c echo.Context, e store.Endpoint, here string) error {
	if !p.checks(e) {
		return store.ErrNotFound
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	made, err := p.beginCheck(ctx, site.EngineActor(c), e, form.Get("type"))
	if text := outbox.RefusalText(err); text != "" {
		p.Flash(c, ui.KindWarning, text)
		return c.Redirect(http.StatusSeeOther, here+"/check")
	}
	if err != nil {
		return err
	}
	if _, err := p.Checks.Wait(ctx, made, checkPatience); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, here+"/check?"+url.Values{"check": {made.ID}}.Encode())
}

// beginCheck begins a check with test events, or with an example of a type that is subscribed to at the endpoint.
func (p *pages) beginCheck(ctx context.Context, by outbox.Actor, e store.Endpoint, eventType string) (store.EndpointCheck, error) {
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return store.EndpointCheck{}, err
	}
	var example []byte
	if eventType != "" {
		if example, err = p.checkExample(ctx, e, eventType, testSource(own)); err != nil {
			return store.EndpointCheck{}, err
		}
	}
	return p.Checks.Start(ctx, by, e.ID, testSource(own), example)
}

// checkExample makes an example of a type that is subscribed to at an endpoint; nothing of any other type.
func (p *pages) checkExample(ctx context.Context, e store.Endpoint, eventType, source string) ([]byte, error) {
	types, err := subscribedTypes(ctx, p.DB, e)
	if err != nil || !slices.Contains(types, eventType) {
		return nil, err
	}
	versions, err := p.versionsAt(ctx, e, eventType)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	return []byte(exampleEvent(versions[0], source, nil, p.Cfg.Now())), nil
}

// subscribedTypes lists the event types that are subscribed to, or asked for, at an endpoint.
func subscribedTypes(ctx context.Context, db *store.DB, e store.Endpoint) ([]string, error) {
	subs, _, err := db.Subscriptions(ctx, store.SubscriptionFilter{PartnerID: e.PartnerID, EndpointID: e.ID})
	var types []string
	for _, s := range subs {
		if s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected {
			types = append(types, s.Types...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types), err
}

// showCheck shows the report of the check that the address names, or of the last one.
func (p *pages) showCheck(c echo.Context, e store.Endpoint, here string, may bool, crumbs []ui.Crumb) error {
	if !p.checks(e) {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	all, err := p.DB.EndpointChecks(ctx, e.ID)
	if err != nil {
		return err
	}
	v := view.CheckView{Here: here + "/check", Now: p.Cfg.Now(), CanStart: may && e.Status != store.EndpointEnded}
	for _, row := range all {
		v.Earlier = append(v.Earlier, p.checkSummary(ctx, e, row, here))
	}
	id := site.Clean(c.QueryParam("check"))
	if id == "" && len(all) > 0 {
		id = all[0].ID
	}
	if id != "" {
		row, err := p.DB.EndpointCheck(ctx, e.ID, id)
		if err != nil {
			return err
		}
		if v.Report, err = p.checkReport(ctx, e, row, here); err != nil {
			return err
		}
		v.CanStart = v.CanStart && !row.Runs(v.Now)
	}
	types, err := subscribedTypes(ctx, p.DB, e)
	if err != nil {
		return err
	}
	for _, name := range types {
		v.Types = append(v.Types, ui.Option{Value: name, Label: name})
	}
	title := i18n.T(ctx, "check.page.title")
	page := p.Page(c, title)
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: title})
	page.Lead = i18n.T(ctx, "check.page.lead", e.Name)
	return p.Render(c, http.StatusOK, view.CheckPage(page, v))
}

// checkSummary describes a check in a line.
func (p *pages) checkSummary(ctx context.Context, e store.Endpoint, row store.EndpointCheck, here string) view.CheckSummary {
	s := view.CheckSummary{
		Href: here + "/check?" + url.Values{"check": {row.ID}}.Encode(), Result: row.Result, At: row.StartedAt.Time, By: row.StartedBy,
		Stale: row.ConfigVersion != e.ConfigVersion,
	}
	switch {
	case row.Runs(p.Cfg.Now()):
		s.Kind, s.Text = ui.KindInfo, i18n.T(ctx, "check.state.runs")
	case row.Result == store.CheckRuns, row.Result == store.CheckStopped:
		s.Kind, s.Text = ui.KindWarning, i18n.T(ctx, "check.state.stopped")
	case row.Faults > 0 && row.Advice > 0:
		s.Kind, s.Text = ui.KindError, i18n.T(ctx, "check.state.both", i18n.M("check.state.faults", row.Faults), i18n.M("check.state.advice", row.Advice))
	case row.Faults > 0:
		s.Kind, s.Text = ui.KindError, i18n.T(ctx, "check.state.faults", row.Faults)
	case row.Advice > 0:
		s.Kind, s.Text = ui.KindWarning, i18n.T(ctx, "check.state.advice", row.Advice)
	default:
		s.Kind, s.Text = ui.KindOK, i18n.T(ctx, "check.state.pass")
	}
	return s
}

// lastCheck describes the last check of an endpoint; nil for an endpoint that cannot be checked.
func (p *pages) lastCheck(ctx context.Context, e store.Endpoint, here string) (*view.CheckState, error) {
	if !p.checks(e) {
		return nil, nil
	}
	all, err := p.DB.EndpointChecks(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	s := view.CheckState{Href: here + "/check", Now: p.Cfg.Now()}
	if len(all) > 0 {
		last := p.checkSummary(ctx, e, all[0], here)
		s.Last = &last
	}
	return &s, nil
}

func (p *pages) checkReport(ctx context.Context, e store.Endpoint, row store.EndpointCheck, here string) (*view.CheckReport, error) {
	report, err := endpointcheck.ReadReport(row)
	if err != nil {
		return nil, err
	}
	r := view.CheckReport{CheckSummary: p.checkSummary(ctx, e, row, here), Runs: row.Runs(p.Cfg.Now())}
	for _, f := range report.Findings {
		rule := endpointcheck.RuleOf(f.Code)
		r.Findings = append(r.Findings, view.CheckFinding{
			Title: endpointcheck.Title(f.Code).In(ctx), Result: string(f.Result), Level: string(f.Level), Text: f.Text.In(ctx), Remedy: f.Remedy.In(ctx),
			Sent: f.Sent, Received: f.Received, Rule: rule,
		})
	}
	order := []endpointcheck.Result{endpointcheck.Fault, endpointcheck.Advice, endpointcheck.Pass, endpointcheck.Untested}
	sorted.Stable(r.Findings, func(a, b view.CheckFinding) int {
		return slices.Index(order, endpointcheck.Result(a.Result)) - slices.Index(order, endpointcheck.Result(b.Result))
	})
	return &r, nil
}

// checkNew begins the check of a new endpoint. Where that cannot be, there is none yet.
func (d ownerPages) checkNew(c echo.Context, made store.Endpoint) error {
	if !d.pages.checks(made) {
		return nil
	}
	_, err := d.pages.beginCheck(c.Request().Context(), site.EngineActor(c), made, "")
	if outbox.RefusalText(err) != "" {
		return nil
	}
	return err
}
