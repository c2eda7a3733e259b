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
	"schakel/store"
	view "schakel/templates/admin"
	"schakel/templates/ui"
	"schakel/web/site"
)

// The time that the throughput of the overview is about, and how often it is
// counted again while somebody looks.
const (
	OverviewPeriod = 10 * time.Minute
	overviewEvery  = 5 * time.Second
)

// adminOverview shows what waits, what moves and what is stuck.
func (p *pages) adminOverview(c echo.Context) error {
	ctx := c.Request().Context()
	v := view.AdminOverviewView{
		Waiting: waitingTiles(p.Waiting(c, "")), Period: "in the last " + ui.Duration(OverviewPeriod),
		Now: p.Cfg.Now(), Every: overviewEvery,
	}
	var err error
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
	v.Waiting = append(append(v.Waiting, failed...), failing...)
	if v.Moving, err = p.movingTiles(ctx); err != nil {
		return err
	}
	if v.Endpoints, err = p.troubledEndpoints(ctx); err != nil {
		return err
	}
	if v.History, err = p.History(ctx, store.AuditFilter{}, "/admin/audit"); err != nil {
		return err
	}
	page := p.Page(c, "Overview")
	page.Crumbs = nil
	return p.Render(c, http.StatusOK, view.AdminOverview(page, v))
}

// ownTroubles lists the differences between the register and this program (EDU-N03).
func (p *pages) ownTroubles(ctx context.Context) ([]string, error) {
	troubles, err := p.Registry.OwnContracts.Check(ctx)
	if err != nil {
		return nil, fmt.Errorf("check own contracts: %w", err)
	}
	var texts []string
	for _, t := range troubles {
		texts = append(texts, t.Text.In(ctx)+" Others build on what the register says: tell them, or update the program.")
	}
	return texts, nil
}

// waitingTiles count what waits for an administrator.
func waitingTiles(w site.Waiting) []ui.Tile {
	return []ui.Tile{
		waitingTile("Registrations", w.Registrations, "/admin/partners?status=requested", ui.KindInfo),
		waitingTile("Subscriptions", w.Subscriptions, "/admin/subscriptions?status=requested", ui.KindInfo),
		waitingTile("Client requests", w.Clients, "/admin/clients", ui.KindInfo),
		waitingTile("Publications", w.Publications, "/contracts#requested", ui.KindInfo),
		waitingTile("Error queue", w.Errors, "/admin/errors", ui.KindWarning),
		waitingTile("Dead letters", w.DeadLetters, "/admin/dead-letters", ui.KindError),
	}
}

func waitingTile(label string, count int, href string, kind ui.Kind) ui.Tile {
	t := ui.Tile{Label: label, Value: ui.CountUpTo(count, store.ListBound), Href: href, Kind: ui.KindNeutral, Hint: "nothing waits"}
	if count > 0 {
		t.Kind, t.Hint = kind, "wait for you"
	}
	return t
}

// movingTiles count the deliveries of events that were accepted lately, by what
// became of them. Ids sort by time, so only the newest rows are read.
func (p *pages) movingTiles(ctx context.Context) ([]ui.Tile, error) {
	since := p.Cfg.Now().Add(-OverviewPeriod).UTC().Truncate(time.Second) // as precise as the link says it
	all, tiles := 0, []ui.Tile(nil)
	for _, t := range []struct {
		label, status string
		kind          ui.Kind
	}{
		{"Deliveries started", "", ui.KindNeutral},
		{"Delivered", store.DeliveryDelivered, ui.KindOK},
		{"Pending", store.DeliveryPending, ui.KindInfo},
		{"Retrying", store.DeliveryRetrying, ui.KindWarning},
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
		tile := ui.Tile{Label: t.label, Value: ui.CountUpTo(n, store.ListBound), Href: "/admin/deliveries?" + href.Encode(), Kind: t.kind}
		if t.status == "" {
			all, tile.Hint = n, pace(n)
		} else if tile.Hint = share(n, all); n == 0 {
			tile.Kind = ui.KindNeutral
		}
		tiles = append(tiles, tile)
	}
	return tiles, nil
}

// pace formats n deliveries in the period of the overview as a rate per second.
func pace(n int) string {
	if n > store.ListBound {
		return fmt.Sprintf("more than %.0f a second", float64(store.ListBound)/OverviewPeriod.Seconds())
	}
	return fmt.Sprintf("%.1f a second", float64(n)/OverviewPeriod.Seconds())
}

// share formats n as a part of all, where both were counted to the end.
func share(n, all int) string {
	switch {
	case all == 0:
		return "nothing moved"
	case all > store.ListBound:
		return ""
	}
	return fmt.Sprintf("%.0f%% of them", 100*float64(n)/float64(all))
}

// lateAfter bounds how long a delivery may be due before the overview lists its endpoint.
const lateAfter = time.Minute

// troubledEndpoints lists the endpoints that fail or fall behind, the longest queue first.
func (p *pages) troubledEndpoints(ctx context.Context) ([]ui.EndpointRow, error) {
	rows, err := p.EndpointRows(ctx, registry.Scope{All: true}, "")
	if err != nil {
		return nil, err
	}
	late := p.Cfg.Now().Add(-lateAfter)
	rows = slices.DeleteFunc(rows, func(r ui.EndpointRow) bool {
		behind := r.Waiting > 0 && !r.Oldest.IsZero() && r.Oldest.Before(late)
		return r.Status == store.EndpointActive && r.Circuit == store.CircuitClosed && !behind
	})
	slices.SortFunc(rows, func(a, b ui.EndpointRow) int {
		return cmp.Or(b.Waiting-a.Waiting, cmp.Compare(a.Name, b.Name))
	})
	const most = 20
	return rows[:min(most, len(rows))], nil
}
