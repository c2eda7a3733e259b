package partners

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// How much of each kind the overview of a partner shows.
const (
	shownFailures = 5
	shownChanges  = 5
)

// homeData lists the subscriptions, endpoints and clients of an organisation, for its overview.
type homeData struct {
	owner      store.Partner
	endpoints  []store.Endpoint
	clients    []store.Client
	subs       []store.Subscription
	deliveries map[string]int // by status
	queues     []view.EndpointQueue
	failures   []store.Delivery
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
		State: h.owner.Status, StateText: site.Waits(c.Request().Context(), h.owner), Reason: h.owner.StatusReason, Working: h.owner.Status == store.PartnerApproved,
		Tiles: d.tiles(h), Steps: d.steps(h), Queues: h.queues, Failures: d.failures(h), Waiting: d.waitingFor(c.Request().Context(), h), Now: now,
	}
	for _, a := range h.changes {
		v.Recent = append(v.Recent, ui.Moment{At: a.At.Time, Kind: ui.KindNeutral, Title: registry.Sentence(c.Request().Context(), a)})
	}
	page := d.Page(c, h.owner.Name)
	page.Badge = ui.State(h.owner.Status)
	if v.Working {
		page.Lead = h.summary()
	}
	page.Actions = ui.LinkButton(ui.Secondary, "Your organisation", d.Href("/organisation"))
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
	return h, d.readDeliveries(ctx, &h)
}

func (d ownerPages) readDeliveries(ctx context.Context, h *homeData) (err error) {
	if h.deliveries, err = d.DB.CountDeliveriesBy(ctx, h.owner.ID); err != nil {
		return err
	}
	if h.queues, err = d.queues(ctx, h.endpoints); err != nil {
		return err
	}
	h.failures, _, err = d.DB.Deliveries(ctx, store.DeliveryFilter{
		PartnerID: h.owner.ID, Statuses: []string{store.DeliveryDead, store.DeliveryHeld, store.DeliveryRetrying},
		Page: store.Page{Number: 1, Size: shownFailures},
	})
	if err != nil {
		return err
	}
	h.changes, _, err = d.Registry.Audit.List(ctx, registry.ScopeOf(h.owner.ID), store.AuditFilter{
		PartnerID: h.owner.ID, Page: store.Page{Number: 1, Size: shownChanges},
	})
	return err
}

func (d ownerPages) tiles(h homeData) []ui.Tile {
	tile := func(label, status, hint string, kind ui.Kind) ui.Tile {
		t := ui.Tile{Label: label, Value: ui.CountUpTo(h.deliveries[status], store.ListBound), Hint: hint, Href: d.Deliveries + "?status=" + status}
		if h.deliveries[status] > 0 {
			t.Kind = kind
		}
		return t
	}
	return []ui.Tile{
		tile("Delivered", store.DeliveryDelivered, "events you have received", ""),
		tile("Retrying", store.DeliveryRetrying, "tried again by themselves", ui.KindWarning),
		tile("Held", store.DeliveryHeld, "wait for someone to act", ui.KindWarning),
		tile("Dead letters", store.DeliveryDead, "not tried any more; you can resend them", ui.KindError),
	}
}

// summary counts what a partner has.
func (h homeData) summary() string {
	approved := 0
	for _, s := range h.subs {
		if s.Status == store.SubscriptionApproved {
			approved++
		}
	}
	return "You have " + ui.Plural(len(h.endpoints), "endpoint", "endpoints") + ", " +
		ui.Plural(approved, "approved subscription", "approved subscriptions") + " and " +
		ui.Plural(len(h.clients), "client", "clients") + "."
}

// steps is the way to receiving the first event.
func (d ownerPages) steps(h homeData) []view.Step {
	endpoint := view.Step{
		Label: "Add an endpoint", Text: "Where you receive: the address of your webhook and of your token endpoint.",
		Done: len(h.endpoints) > 0, ActionLabel: "Add", ActionHref: d.Href("/endpoints/new"),
	}
	subscription := view.Step{
		Label: "Ask for a subscription", Text: "Choose event types from the catalogue. The administrator approves it.", Done: len(h.subs) > 0,
	}
	if endpoint.Done && !subscription.Done {
		subscription.ActionLabel, subscription.ActionHref = "Ask", d.Href("/subscriptions/new")
	}
	test := view.Step{
		Label: "Send a test event", Text: "See that your endpoint answers before the first real event comes.",
		Done: h.deliveries[store.DeliveryDelivered] > 0,
	}
	sentTo := h.sentTo()
	if sentTo >= 0 && !test.Done {
		test.ActionLabel, test.ActionHref = "Test", d.Href("/endpoints/"+h.endpoints[sentTo].ID)
	}
	if endpoint.Done {
		endpoint.ActionHref = ""
	}
	if endpoint.Done && sentTo < 0 { // files are fetched, and nothing else comes
		if subscription.Text = "Choose a dataset from the catalogue. The administrator approves it."; subscription.ActionHref != "" {
			subscription.ActionHref = d.Href("/datasets")
		}
		return []view.Step{endpoint, subscription}
	}
	return []view.Step{endpoint, test, subscription}
}

// sentTo finds the first endpoint that gets events, and not files of datasets alone; -1 is none.
func (h homeData) sentTo() int {
	return slices.IndexFunc(h.endpoints, func(e store.Endpoint) bool { return e.Kind != store.EndpointFiles })
}

func (d ownerPages) failures(h homeData) []view.FailureRow {
	var rows []view.FailureRow
	for _, f := range h.failures {
		rows = append(rows, view.FailureRow{
			EventType: f.EventType, Href: d.Deliveries + "/" + f.ID, State: f.Status, Text: site.FirstLine(f.Detail, 200), At: f.UpdatedAt.Time,
		})
	}
	return rows
}

func (d ownerPages) waitingFor(ctx context.Context, h homeData) []view.WaitingRow {
	var rows []view.WaitingRow
	for _, s := range h.subs {
		if s.Status == store.SubscriptionRequested {
			rows = append(rows, view.WaitingRow{
				What: site.FirstLine(s.Purpose, 120), Label: "Subscription: " + site.SubscriptionLabel(ctx, s), Href: d.Href("/subscriptions/" + s.ID), Since: s.CreatedAt.Time,
			})
		}
	}
	for _, client := range h.clients {
		if client.Waiting() {
			what := strings.Join(append(append([]string{}, client.RequestedScopes...), client.RequestedTypes...), ", ")
			rows = append(rows, view.WaitingRow{What: what, Label: "Client: " + client.Name, Href: d.Href("/clients/" + client.ID), Since: client.UpdatedAt.Time})
		}
	}
	return rows
}
