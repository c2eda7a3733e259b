package amqp

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// silentNode is after how long a node that says nothing of its connection counts as gone.
const silentNode = 2 * time.Minute

// overview shows brokers, connections and parties, and what waits for a person.
func (a AMQPArea) overview(c echo.Context) error {
	ctx := c.Request().Context()
	v := view.AMQPOverviewView{
		Self: a.root(), Messages: a.messages(), NewBroker: a.root() + "/brokers/new", NewParty: a.root() + "/parties/new", Import: a.root() + "/import", Now: a.Cfg.Now(),
	}
	brokers, err := a.Registry.AMQP.Brokers(ctx, site.Actor(c))
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, b := range brokers {
		names[b.ID] = b.Name
		v.Brokers = append(v.Brokers, view.AMQPBrokerRow{Name: b.Name, Href: a.broker(b.ID), URL: b.URL, Dialect: i18n.Of(ctx, "amqp.dialect", b.Dialect), Enabled: b.Enabled})
	}
	if v.Connections, err = a.connectionRows(ctx, names); err != nil {
		return err
	}
	if v.Tiles, err = a.amqpTiles(ctx); err != nil {
		return err
	}
	if err := a.fillParties(c, names, &v); err != nil {
		return err
	}
	if v.Queues, err = a.queueRows(ctx, names, v.Now); err != nil {
		return err
	}
	if v.Orphans, err = a.orphanWarnings(ctx, a.bounds(c), ""); err != nil {
		return err
	}
	v.Clock, v.ClockText = a.clockMark(ctx)
	v.Unfit = a.UnfitRows()
	page := a.Frame(c, "AMQP")
	page.Lead = i18n.T(ctx, "amqp.overview.lead")
	page.Actions = view.AMQPActions(v)
	return a.Render(c, http.StatusOK, view.AMQPOverviewPage(page, v))
}

// clockMark reports whether the clock is right, which synchronous exchange and business times need (AMQP-54, AMQP-56).
func (a AMQPArea) clockMark(ctx context.Context) (view.Mark, string) {
	if a.AMQP == nil {
		return view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.clock.no-bridge")}, a.whyNot("").In(ctx)
	}
	state := a.AMQP.Clock()
	detail := state.Detail.In(ctx)
	switch {
	case state.Synchronised:
		return view.Mark{Kind: ui.KindOK, Text: i18n.T(ctx, "amqp.clock.right")}, detail
	case state.Known:
		return view.Mark{Kind: ui.KindError, Text: i18n.T(ctx, "amqp.clock.wrong")}, detail
	}
	return view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.clock.unknown")}, detail
}

// UnfitRows are the certificates of ours that are not used, because their key usage does not fit (AMQP-69).
func (a AMQPArea) UnfitRows() []view.AMQPUnfitRow {
	if a.AMQP == nil {
		return nil
	}
	var list []view.AMQPUnfitRow
	for _, u := range a.AMQP.Unfit() {
		list = append(list, view.AMQPUnfitRow{Party: u.Party, Href: a.party(u.PartyID), Purpose: u.Purpose, Thumbprint: u.Thumbprint, Detail: u.Detail})
	}
	return list
}

func (a AMQPArea) connectionRows(ctx context.Context, names map[string]string) ([]view.AMQPConnectionRow, error) {
	rows, err := a.DB.AMQPConnections(ctx, "")
	if err != nil {
		return nil, err
	}
	var list []view.AMQPConnectionRow
	for _, r := range rows {
		row := view.AMQPConnectionRow{
			Broker: names[r.BrokerID], Node: r.Node, Detail: i18n.Message(r.Detail).In(ctx), Since: r.Since.Time, Seen: r.SeenAt.Time, Reconnects: int(r.Reconnects), State: connectionState(ctx, r.Phase),
		}
		if a.Cfg.Now().Sub(r.SeenAt.Time) > silentNode {
			row.State = view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.connection.silent")}
			row.Detail = i18n.T(ctx, "amqp.connection.silent-since", r.SeenAt.Time)
		}
		list = append(list, row)
	}
	return list, nil
}

func connectionState(ctx context.Context, phase string) view.Mark {
	switch phase {
	case store.AMQPOpen:
		return view.Mark{Kind: ui.KindOK, Text: i18n.T(ctx, "amqp.connection.open")}
	case store.AMQPConnecting:
		return view.Mark{Kind: ui.KindInfo, Text: i18n.T(ctx, "amqp.connection.connecting")}
	case store.AMQPWaiting:
		return view.Mark{Kind: ui.KindError, Text: i18n.T(ctx, "amqp.connection.waiting")}
	}
	return view.Mark{Kind: ui.KindNeutral, Text: i18n.T(ctx, "amqp.connection.stopped")}
}

// amqpTiles count what waits, with the age of the oldest (AMQP-49, AMQP-53, AMQP-89).
func (a AMQPArea) amqpTiles(ctx context.Context) ([]ui.Tile, error) {
	var tiles []ui.Tile
	for _, t := range []struct {
		label, query string
		filter       store.AMQPFilter
		kind         ui.Kind
	}{
		{"amqp.tile.open", "state=open", store.AMQPFilter{Statuses: []string{store.AMQPOpenMessage}}, ui.KindInfo},
		{"amqp.tile.overdue", "state=overdue", store.AMQPFilter{Overdue: true}, ui.KindWarning},
		{"amqp.tile.rejected", "state=rejected", store.AMQPFilter{Direction: store.AMQPOut, Statuses: []string{store.AMQPRejected}}, ui.KindError},
		{"amqp.tile.failed", "state=failed", store.AMQPFilter{Statuses: []string{store.AMQPFailed}}, ui.KindError},
		{"amqp.tile.dead", "state=dead", store.AMQPFilter{Statuses: []string{store.AMQPDead}}, ui.KindError},
		{"amqp.tile.unchecked", "state=unchecked", store.AMQPFilter{Statuses: []string{store.AMQPUnchecked}}, ui.KindWarning},
		{"amqp.tile.quarantined", "state=quarantined", store.AMQPFilter{Statuses: []string{store.AMQPQuarantined}}, ui.KindError},
		{"amqp.tile.held", "state=held", store.AMQPFilter{Statuses: []string{store.AMQPHeld}}, ui.KindError},
		{"amqp.tile.due", "state=due", store.AMQPFilter{Statuses: []string{store.AMQPDue}}, ui.KindWarning},
	} {
		n, err := a.DB.CountAMQPMessages(ctx, t.filter)
		if err != nil {
			return nil, err
		}
		tile := ui.Tile{
			Label: i18n.T(ctx, t.label), Value: i18n.CountUpTo(ctx, n, store.ListBound), Href: a.messages() + "?" + t.query, Kind: ui.KindNeutral,
			Hint: i18n.T(ctx, "amqp.tile.none"),
		}
		if n > 0 {
			oldest, err := a.DB.OldestAMQPMessage(ctx, t.filter)
			if err != nil {
				return nil, err
			}
			tile.Kind, tile.Hint = t.kind, i18n.T(ctx, "amqp.tile.oldest", i18n.Relative(ctx, oldest.Time, a.Cfg.Now()))
		}
		tiles = append(tiles, tile)
	}
	return tiles, nil
}

// fillParties adds the parties, and the endpoints that have none.
func (a AMQPArea) fillParties(c echo.Context, names map[string]string, v *view.AMQPOverviewView) error {
	ctx := c.Request().Context()
	parties, err := a.Registry.AMQP.Parties(ctx, a.bounds(c), "")
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, p := range parties {
		taken[p.EndpointID] = true
		row := view.AMQPPartyRow{Name: p.Name, Href: a.party(p.ID), Broker: names[p.BrokerID], Own: p.Own, Enabled: p.Enabled}
		if p.HerID > 0 {
			row.Her = strconv.FormatInt(p.HerID, 10)
		}
		if !p.Own {
			if row.Partner, err = a.AdminNames().PartnerLink(ctx, p.PartnerID); err != nil {
				return err
			}
		}
		certificates, err := a.Registry.AMQP.Certificates(ctx, a.bounds(c), p.ID)
		if err != nil {
			return err
		}
		row.Warnings = a.partyWarnings(ctx, p, certificates)
		if p.Kind == store.AMQPHealth && len(certificates) == 0 {
			row.Warnings = []string{i18n.T(ctx, "amqp.party.no-certificates")}
		}
		v.Parties = append(v.Parties, row)
	}
	return a.fillWithout(c, taken, v)
}

func (a AMQPArea) fillWithout(c echo.Context, taken map[string]bool, v *view.AMQPOverviewView) error {
	ctx := c.Request().Context()
	endpoints, err := a.Registry.Endpoints.List(ctx, a.bounds(c), "")
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if e.Kind != store.EndpointAMQP || taken[e.ID] {
			continue
		}
		partner, err := a.AdminNames().PartnerLink(ctx, e.PartnerID)
		if err != nil {
			return err
		}
		v.Without = append(v.Without, ui.Named{Name: i18n.T(ctx, "amqp.overview.endpoint-of", e.Name, partner.Name), Href: a.root() + "/parties/new?endpoint=" + url.QueryEscape(e.ID)})
	}
	return nil
}

// queueRows lists the queues that we read, with the expiry of their messages (INC-22) as far as their broker reports it.
func (a AMQPArea) queueRows(ctx context.Context, brokers map[string]string, now time.Time) ([]view.AMQPQueueRow, error) {
	queues, err := a.DB.AMQPQueues(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]view.AMQPQueueRow, 0, len(queues))
	for _, q := range queues {
		row := view.AMQPQueueRow{Name: q.Name, Broker: brokers[q.BrokerID], Seen: q.SeenAt.Time}
		row.State, row.Detail = queueState(ctx, q, now)
		row.Loses = row.State.Kind == ui.KindError
		if q.PartyID != "" {
			row.Href = a.party(q.PartyID)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func queueState(ctx context.Context, q store.AMQPQueue, now time.Time) (view.Mark, string) {
	if loss := amqp.LossText(q, now).In(ctx); loss != "" {
		return view.Mark{Kind: ui.KindError, Text: i18n.T(ctx, "amqp.queue.expire")}, loss
	}
	if q.Known {
		return view.Mark{Kind: ui.KindInfo, Text: i18n.T(ctx, "amqp.queue.none")}, i18n.T(ctx, "amqp.queue.none-text")
	}
	return view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.queue.unknown")}, i18n.T(ctx, "amqp.queue.unknown-text")
}
