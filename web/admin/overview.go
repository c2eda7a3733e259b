package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// The time that the throughput of the overview is about, and how often it is
// counted again while somebody looks.
const (
	OverviewPeriod = 10 * time.Minute
	overviewEvery  = 5 * time.Second
)

// adminOverview shows the open tasks, the activity, and the endpoints in trouble.
func (p *pages) adminOverview(c echo.Context) error {
	ctx := c.Request().Context()
	waiting, err := p.waiting(c)
	if err != nil {
		return err
	}
	v := view.AdminOverviewView{Tasks: taskTiles(ctx, waiting), Period: i18n.Duration(ctx, OverviewPeriod), Now: p.Cfg.Now(), Every: overviewEvery}
	if v.Warnings, err = p.ownTroubles(ctx); err != nil {
		return err
	}
	failed, err := p.failedDownloads(ctx)
	if err != nil {
		return err
	}
	failing, err := p.failingDatasets(ctx)
	if err != nil {
		return err
	}
	open, err := p.installationTile(ctx)
	if err != nil {
		return err
	}
	v.Tasks = append(append(append(v.Tasks, failed...), failing...), open...)
	if v.Activity, err = p.activityTiles(ctx); err != nil {
		return err
	}
	if v.Endpoints, err = p.troubledEndpoints(ctx); err != nil {
		return err
	}
	if v.History, err = p.History(ctx, store.AuditFilter{}, "/admin/audit"); err != nil {
		return err
	}
	page := p.Page(c, i18n.T(ctx, "admin.overview.title"))
	page.Crumbs = nil
	return p.Render(c, http.StatusOK, view.AdminOverview(page, v))
}

// waiting counts what waits for administrators as far as the lists do.
func (p *pages) waiting(c echo.Context) (w site.Waiting, err error) {
	ctx := c.Request().Context()
	w = p.Waiting(c, "")
	if w.Errors, err = p.CountOn(ctx, w.Errors, site.InErrorQueue("")); err != nil {
		return w, fmt.Errorf("count the error queue: %w", err)
	}
	if w.DeadLetters, err = p.CountOn(ctx, w.DeadLetters, site.DeadLetters("")); err != nil {
		return w, fmt.Errorf("count dead letters: %w", err)
	}
	return w, nil
}

// ownTroubles lists the differences between the register and this program (EDU-N03).
func (p *pages) ownTroubles(ctx context.Context) ([]string, error) {
	troubles, err := p.Registry.OwnContracts.Check(ctx)
	if err != nil {
		return nil, fmt.Errorf("check own contracts: %w", err)
	}
	var texts []string
	for _, t := range troubles {
		texts = append(texts, i18n.T(ctx, "admin.overview.own-trouble", t.Text))
	}
	return texts, nil
}

// taskTiles count the open tasks of an administrator.
func taskTiles(ctx context.Context, w site.Waiting) []ui.Tile {
	tiles := []ui.Tile{
		taskTile(ctx, i18n.T(ctx, "admin.overview.registrations"), w.Registrations, "/admin/partners?status=requested", ui.KindInfo),
		taskTile(ctx, i18n.T(ctx, "admin.overview.subscriptions"), w.Subscriptions, "/admin/subscriptions?status=requested", ui.KindInfo),
		taskTile(ctx, i18n.T(ctx, "admin.overview.clients"), w.Clients, "/admin/clients", ui.KindInfo),
		taskTile(ctx, i18n.T(ctx, "admin.overview.publications"), w.Publications, "/contracts#requested", ui.KindInfo),
		taskTile(ctx, i18n.T(ctx, "admin.overview.errors"), w.Errors, "/admin/errors", ui.KindWarning),
		taskTile(ctx, i18n.T(ctx, "admin.overview.dead-letters"), w.DeadLetters, "/admin/dead-letters", ui.KindError),
	}
	// What few installations have, or only where a setting asks for it, has a tile when there is some.
	for _, t := range []struct {
		label, href string
		count       int
	}{
		{"site.nav.quarantine", "/admin/quarantine?state=open", w.Quarantined},
		{"site.nav.amqp", "/admin/amqp/messages?state=attention", w.AMQP},
		{"site.nav.mirrors", "/admin/mirrors?alarms=open", w.Mirrors},
		{"admin.overview.destinations", "/admin/endpoints", w.Moves},
		{"admin.overview.confirmations", site.ConfirmationsPath + "?status=" + store.ConfirmationWaiting, w.Confirmations},
	} {
		if t.count > 0 {
			tiles = append(tiles, taskTile(ctx, i18n.T(ctx, t.label), t.count, t.href, ui.KindInfo))
		}
	}
	return tiles
}

func taskTile(ctx context.Context, label string, count int, href string, kind ui.Kind) ui.Tile {
	t := ui.Tile{Label: label, Value: i18n.CountUpTo(ctx, count, store.ListBound), Href: href, Kind: ui.KindNeutral, Hint: i18n.T(ctx, "admin.overview.none-open")}
	if count > 0 {
		t.Kind, t.Hint = kind, i18n.T(ctx, "admin.overview.open")
	}
	return t
}

// activityTiles count the deliveries of events that were accepted lately, by what
// became of them. Ids sort by time, so only the newest rows are read.
func (p *pages) activityTiles(ctx context.Context) ([]ui.Tile, error) {
	since := p.Cfg.Now().Add(-OverviewPeriod).UTC().Truncate(time.Second) // as precise as the link says it
	all, tiles := 0, []ui.Tile(nil)
	for _, t := range []struct {
		label, status string
		kind          ui.Kind
	}{
		{i18n.T(ctx, "admin.overview.started"), "", ui.KindNeutral},
		{i18n.T(ctx, "admin.overview.delivered"), store.DeliveryDelivered, ui.KindOK},
		{i18n.T(ctx, "admin.overview.pending"), store.DeliveryPending, ui.KindInfo},
		{i18n.T(ctx, "admin.overview.retrying"), store.DeliveryRetrying, ui.KindWarning},
	} {
		f := store.DeliveryFilter{MadeFrom: store.At(since)}
		href := url.Values{"made": {since.Format(site.MomentLayout)}}
		if t.status != "" {
			f.Statuses = []string{t.status}
			href.Set("status", t.status)
		}
		n, err := p.DB.CountListed(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("count deliveries: %w", err)
		}
		tile := ui.Tile{Label: t.label, Value: i18n.CountUpTo(ctx, n, store.ListBound), Href: "/admin/deliveries?" + href.Encode(), Kind: t.kind}
		if t.status == "" {
			all, tile.Hint = n, pace(ctx, n)
		} else if tile.Hint = share(ctx, n, all); n == 0 {
			tile.Kind = ui.KindNeutral
		}
		tiles = append(tiles, tile)
	}
	return tiles, nil
}

// pace formats n deliveries in the period of the overview as a rate per second.
func pace(ctx context.Context, n int) string {
	if n > store.ListBound {
		return i18n.T(ctx, "admin.overview.pace-more", i18n.From(ctx).Decimal(float64(store.ListBound)/OverviewPeriod.Seconds(), 0))
	}
	return i18n.T(ctx, "admin.overview.pace", i18n.From(ctx).Decimal(float64(n)/OverviewPeriod.Seconds(), 1))
}

// share formats n as a part of all, where both were counted to the end.
func share(ctx context.Context, n, all int) string {
	switch {
	case all == 0:
		return i18n.T(ctx, "admin.overview.no-activity")
	case all > store.ListBound:
		return ""
	}
	return i18n.T(ctx, "admin.overview.share", i18n.From(ctx).Decimal(100*float64(n)/float64(all), 0))
}

// troubledEndpoints lists the endpoints that fail or fall behind, the longest queue first.
func (p *pages) troubledEndpoints(ctx context.Context) ([]ui.EndpointRow, error) {
	rows, err := p.EndpointRows(ctx, registry.Scope{All: true}, "")
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r ui.EndpointRow) bool {
		behind := site.Behind(r.Kind, r.Windows, r.Waiting, r.Oldest, p.Cfg.Now())
		return r.Status == store.EndpointActive && r.Circuit == store.CircuitClosed && r.Unready == nil && !behind
	})
	sorted.By(rows, func(a, b ui.EndpointRow) int {
		return cmp.Or(b.Waiting-a.Waiting, cmp.Compare(a.Name, b.Name))
	})
	const most = 20
	rows = rows[:min(most, len(rows))]
	return rows, p.FillSparks(ctx, rows)
}
