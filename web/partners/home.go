package partners

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/account"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// How much of each kind the overview of a partner shows.
const (
	shownFailures = 5
	shownChanges  = 5
)

// approvalStep is the last step of a registration, counted from 0.
const approvalStep = 4

// homeData lists the subscriptions, endpoints and clients of an organisation, for its overview.
type homeData struct {
	owner      store.Partner
	endpoints  []store.Endpoint
	clients    []store.Client
	subs       []store.Subscription
	deliveries map[string]int // by status
	queues     []view.EndpointQueue
	failures   []store.Delivery
	failed     int // attempts of the last 24 hours, whatever became of their deliveries
	refused    int // held until somebody decides
	paused     int // held because something is paused or suspended
	changes    []store.Audit
}

// partnerHome shows a partner where it stands: its registration, what is to be
// done next, what waits and what fails.
func (d ownerPages) partnerHome(c echo.Context) error {
	h, err := d.readOverview(c)
	if err != nil {
		return err
	}
	now := d.Cfg.Now()
	v := view.PartnerHomeView{
		State: h.owner.Status, StateText: site.Waits(c.Request().Context(), h.owner), Reason: i18n.Message(h.owner.StatusReason).In(c.Request().Context()), Working: h.owner.Status == store.PartnerApproved,
		Tiles: d.tiles(c.Request().Context(), h), Steps: d.steps(c.Request().Context(), h), Queues: h.queues, Failures: d.failures(c.Request().Context(), h), NoFailures: h.noFailures(c.Request().Context()), Waiting: d.waitingFor(c.Request().Context(), h), Now: now,
	}
	switch h.owner.Status {
	case store.PartnerRequested:
		v.Registration = account.RegisterSteps(c.Request().Context(), approvalStep)
	case store.PartnerRejected:
		v.Registration = account.RegisterSteps(c.Request().Context(), approvalStep)
		v.Registration[approvalStep].State = ui.StepFailed
	}
	for _, a := range h.changes {
		v.Recent = append(v.Recent, ui.Moment{At: a.At.Time, Kind: ui.KindNeutral, Title: site.AuditSentence(c.Request().Context(), a)})
	}
	page := d.Page(c, h.owner.Name)
	page.Badge = ui.State(h.owner.Status)
	if v.Working {
		page.Lead = h.summary(c.Request().Context())
	}
	page.Actions = ui.LinkButton(ui.Secondary, i18n.T(c.Request().Context(), "partners.home.organisation"), d.Href("/organisation"))
	return d.Render(c, http.StatusOK, view.PartnerHomePage(page, v))
}

// readOverview reads what the overview shows.
func (d ownerPages) readOverview(c echo.Context) (h homeData, err error) {
	ctx := c.Request().Context()
	if h.owner, err = d.Owner(c); err != nil {
		return h, err
	}
	scope := registry.ScopeOf(h.owner.ID)
	if h.endpoints, err = d.Registry.Endpoints.List(ctx, scope, h.owner.ID); err != nil {
		return h, err
	}
	if h.clients, err = d.Registry.Clients.List(ctx, scope, h.owner.ID); err != nil {
		return h, err
	}
	if h.subs, _, err = d.Registry.Subscriptions.List(ctx, scope, store.SubscriptionFilter{PartnerID: h.owner.ID}); err != nil {
		return h, err
	}
	return h, d.readDeliveries(c, &h)
}

func (d ownerPages) readDeliveries(c echo.Context, h *homeData) (err error) {
	ctx := c.Request().Context()
	h.deliveries = map[string]int{}
	if h.deliveries[store.DeliveryDead], err = d.CountOn(ctx, d.Waiting(c, h.owner.ID).DeadLetters, site.DeadLetters(h.owner.ID)); err != nil {
		return err
	}
	for _, status := range []string{store.DeliveryDelivered, store.DeliveryRetrying} {
		if h.deliveries[status], err = d.DB.CountListed(ctx, store.DeliveryFilter{PartnerID: h.owner.ID, Statuses: []string{status}}); err != nil {
			return err
		}
	}
	if h.queues, err = d.queues(ctx, h.endpoints); err != nil {
		return err
	}
	if h.failures, err = d.readFailures(ctx, h.owner.ID); err != nil {
		return err
	}
	moved, err := d.DB.TrafficOfPartners(ctx, []string{h.owner.ID}, store.At(d.Cfg.Now()))
	if err != nil {
		return err
	}
	h.failed = int(store.SumTraffic(moved[h.owner.ID]).Failed)
	if h.refused, err = d.DB.CountListed(ctx, site.InErrorQueue(h.owner.ID)); err != nil {
		return err
	}
	if h.paused, err = d.DB.CountListed(ctx, store.DeliveryFilter{PartnerID: h.owner.ID, Statuses: []string{store.DeliveryHeld}, Reasons: site.StoppedReasons()}); err != nil {
		return err
	}
	h.changes, err = d.Registry.Audit.Newest(ctx, registry.ScopeOf(h.owner.ID), store.AuditFilter{PartnerID: h.owner.ID}, shownChanges)
	return err
}

// readFailures lists the latest deliveries that failed. What is held because somebody paused or suspended something did not.
func (d ownerPages) readFailures(ctx context.Context, partnerID string) ([]store.Delivery, error) {
	rows, err := d.DB.NewestDeliveries(ctx, store.DeliveryFilter{PartnerID: partnerID, Statuses: []string{store.DeliveryDead, store.DeliveryRetrying}}, shownFailures)
	if err != nil {
		return nil, err
	}
	held, err := d.DB.NewestDeliveries(ctx, site.InErrorQueue(partnerID), shownFailures)
	if err != nil {
		return nil, err
	}
	rows = append(rows, held...)
	sorted.By(rows, func(a, b store.Delivery) int { return strings.Compare(b.ID, a.ID) })
	return rows[:min(shownFailures, len(rows))], nil
}

func (d ownerPages) tiles(ctx context.Context, h homeData) []ui.Tile {
	tile := func(label, query, hint string, count int, kind ui.Kind) ui.Tile {
		t := ui.Tile{Label: label, Value: i18n.CountUpTo(ctx, count, store.ListBound), Hint: hint, Href: d.Deliveries + "?status=" + query}
		if count > 0 {
			t.Kind = kind
		}
		return t
	}
	tiles := []ui.Tile{
		tile(i18n.T(ctx, "partners.home.delivered"), store.DeliveryDelivered, i18n.T(ctx, "partners.home.delivered-hint"), h.deliveries[store.DeliveryDelivered], ""),
		tile(i18n.T(ctx, "partners.home.retrying"), store.DeliveryRetrying, i18n.T(ctx, "partners.home.retrying-hint"), h.deliveries[store.DeliveryRetrying], ui.KindWarning),
		tile(i18n.T(ctx, "partners.home.held"), "held&show="+site.ShowRejected, i18n.T(ctx, "partners.home.held-hint"), h.refused, ui.KindWarning),
		tile(i18n.T(ctx, "partners.home.dead"), store.DeliveryDead, i18n.T(ctx, "partners.home.dead-hint"), h.deliveries[store.DeliveryDead], ui.KindError),
	}
	if h.paused > 0 {
		tiles = append(tiles, tile(i18n.T(ctx, "partners.home.paused"), "held&show="+site.ShowStopped, i18n.T(ctx, "partners.home.paused-hint"), h.paused, ui.KindWarning))
	}
	return tiles
}

// summary counts what a partner has.
func (h homeData) summary(ctx context.Context) string {
	approved := 0
	for _, s := range h.subs {
		if s.Status == store.SubscriptionApproved {
			approved++
		}
	}
	return i18n.T(ctx, "partners.home.summary", i18n.M("partners.count.endpoint", len(h.endpoints)),
		i18n.M("partners.count.approved-subscription", approved), i18n.M("partners.count.client", len(h.clients)))
}

// steps is the way to receiving the first event.
func (d ownerPages) steps(ctx context.Context, h homeData) []view.Step {
	endpoint := view.Step{
		Label: i18n.T(ctx, "partners.action.add-endpoint"), Text: i18n.T(ctx, "partners.home.step-endpoint-text"),
		Done: slices.ContainsFunc(h.endpoints, func(e store.Endpoint) bool { return e.Status != store.EndpointEnded }), ActionLabel: i18n.T(ctx, "partners.home.step-add"), ActionHref: d.Href("/endpoints/new"),
	}
	subscription := view.Step{
		Label: i18n.T(ctx, "partners.action.ask-subscription"), Text: i18n.T(ctx, "partners.home.step-subscription-text"), Done: len(h.subs) > 0,
	}
	if endpoint.Done && !subscription.Done {
		subscription.ActionLabel, subscription.ActionHref = i18n.T(ctx, "partners.home.step-ask"), d.Href("/subscriptions/new")
	}
	test := view.Step{
		Label: i18n.T(ctx, "partners.action.send-test"), Text: i18n.T(ctx, "partners.home.step-test-text"),
		Done: h.deliveries[store.DeliveryDelivered] > 0,
	}
	tried, party := d.triable(ctx, h)
	if tried != nil && !test.Done {
		test.ActionLabel, test.ActionHref = i18n.T(ctx, "partners.home.step-test"), d.Href("/endpoints/"+tried.ID)
		if tried.Kind != store.EndpointPull {
			test.ActionHref += "/test"
		}
	}
	if endpoint.Done {
		endpoint.ActionHref = ""
	} else if slices.Contains(d.Registry.Endpoints.ServedKinds(), store.EndpointInbox) {
		endpoint.PostLabel, endpoint.PostHref = i18n.T(ctx, "partners.inbox.make"), d.Href("/endpoints/inbox")
	}
	switch {
	case !endpoint.Done || tried != nil:
		return []view.Step{endpoint, test, subscription}
	case party != nil:
		return []view.Step{endpoint, *party, subscription}
	}
	if subscription.Text = i18n.T(ctx, "partners.home.step-dataset-text"); subscription.ActionHref != "" { // files are fetched, and nothing else comes
		subscription.ActionHref = d.Href("/datasets")
	}
	return []view.Step{endpoint, subscription}
}

// triable finds the first endpoint whose working can be seen before a real event comes. Where there is none, party is the step of the first at a
// broker that has no party yet, or whose health party takes no test events.
func (d ownerPages) triable(ctx context.Context, h homeData) (tried *store.Endpoint, party *view.Step) {
	for i, e := range h.endpoints {
		if e.Status == store.EndpointEnded {
			continue
		}
		if e.Kind == store.EndpointPull || d.takesTests(ctx, e) {
			return &h.endpoints[i], nil
		}
		if e.Kind == store.EndpointAMQP && party == nil {
			party = d.partyStep(ctx, e)
		}
	}
	return nil, party
}

// partyStep is the step that fills in the party of an endpoint at a broker.
func (d ownerPages) partyStep(ctx context.Context, e store.Endpoint) *view.Step {
	step := &view.Step{Label: i18n.T(ctx, "partners.endpoint.party"), Text: i18n.T(ctx, "partners.endpoint.no-party")}
	if _, err := d.Registry.AMQP.PartyOfEndpoint(ctx, registry.ScopeOf(e.PartnerID), e.ID); err == nil {
		step.Done, step.Text = true, i18n.T(ctx, "partners.endpoint.test-health")
		return step
	}
	step.ActionLabel, step.ActionHref = i18n.T(ctx, "partners.endpoint.fill-party"), d.Href("/amqp/parties/new?endpoint="+url.QueryEscape(e.ID))
	return step
}

// noFailures says that no delivery is failing, and how many attempts failed before.
func (h homeData) noFailures(ctx context.Context) string {
	if h.failed == 0 {
		return i18n.T(ctx, "partners.home.no-failures")
	}
	return i18n.T(ctx, "partners.home.failed-before", h.failed)
}

func (d ownerPages) failures(ctx context.Context, h homeData) []view.FailureRow {
	var rows []view.FailureRow
	for _, f := range h.failures {
		text := site.ReasonOf(f.Reason).Label.In(ctx)
		if f.Reason == "" {
			text = registry.IssueCause(f.Cause).In(ctx)
		}
		if detail := site.DetailText(ctx, false, f.Reason, f.Detail); detail != "" {
			text += ": " + detail
		}
		rows = append(rows, view.FailureRow{
			EventType: f.EventType, Href: d.Deliveries + "/" + f.ID, State: site.DeliveryState(f.Status, f.Reason), Text: site.FirstLine(text, 200), At: f.UpdatedAt.Time,
		})
	}
	return rows
}

func (d ownerPages) waitingFor(ctx context.Context, h homeData) []view.WaitingRow {
	var rows []view.WaitingRow
	for _, s := range h.subs {
		if s.Status == store.SubscriptionRequested {
			rows = append(rows, view.WaitingRow{
				What: site.FirstLine(s.Purpose, 120), Label: i18n.T(ctx, "partners.home.subscription-named", site.SubscriptionLabel(ctx, s)), Href: d.Href("/subscriptions/" + s.ID), Since: s.CreatedAt.Time,
			})
		}
	}
	for _, client := range h.clients {
		if client.Waiting() {
			what := strings.Join(append(append([]string{}, client.RequestedScopes...), client.RequestedTypes...), ", ")
			if keys := identity.RequestedKeys(client); keys != "" {
				what = strings.TrimPrefix(what+", "+keys.In(ctx), ", ")
			}
			rows = append(rows, view.WaitingRow{What: what, Label: i18n.T(ctx, "partners.home.client-named", client.Name), Href: d.Href("/clients/" + client.ID), Since: client.UpdatedAt.Time})
		}
	}
	return rows
}
