package datasets

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// datasetPage shows a dataset to an organisation: what it is, what it follows of it and how.
func (d ownerPages) datasetPage(c echo.Context) error {
	ctx := c.Request().Context()
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	set, err := d.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return err
	}
	v := view.PartnerDatasetView{
		DatasetFacts: datasetFacts(set), Href: d.Dataset(set.ID), Closed: site.Waits(ctx, owner), Checked: set.CheckedAt.Time, Reason: set.LineageReason,
		LineageAt: set.LineageAt.Time, Now: d.Cfg.Now(), Every: datasetEvery,
	}
	if v.Closed == "" && set.Status == store.DatasetActive {
		v.SubscribeHref = v.Href + "/subscribe"
	}
	if v.Own, err = d.ownFollows(c, owner, set); err != nil {
		return err
	}
	if v.Ended, err = d.pages.datasetEnd(ctx, set); err != nil {
		return err
	}
	page := d.PageFrame(c, set.Title, ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: d.Href("/datasets")})
	if set.Status != store.DatasetActive {
		page.Badge = ui.State(set.Status)
	}
	if len(v.Own) > 0 && v.SubscribeHref != "" {
		page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "datasets.follow.ask-another"), v.SubscribeHref)
	}
	return d.Render(c, http.StatusOK, view.PartnerDatasetPage(page, v))
}

// ownFollows are the organisation's own subscriptions to a dataset.
func (d ownerPages) ownFollows(c echo.Context, owner store.Partner, set store.Dataset) ([]view.OwnFollow, error) {
	ctx := c.Request().Context()
	followers, err := d.Registry.Datasets.Followers(ctx, registry.ScopeOf(owner.ID), set.ID)
	if err != nil {
		return nil, err
	}
	last, err := lastDelta(ctx, d.DB, set.ID)
	if err != nil {
		return nil, err
	}
	var list []view.OwnFollow
	for i, f := range followers {
		row, err := d.pages.followerRow(ctx, set, last, f, d.Base)
		if err != nil {
			return nil, err
		}
		own := view.OwnFollow{Waits: f.Follower.Reads, FollowerRow: row, ID: f.Subscription.ID, DeltasHref: d.follow(f) + "/deltas"}
		if slices.Contains([]string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused}, f.Subscription.Status) && site.Waits(ctx, owner) == "" && set.Status == store.DatasetActive {
			own.ChangeHref = d.follow(f) + "/area"
		}
		if f.Area != nil {
			name := areaName(ctx, *f.Area)
			own.Map = datasetMap(ctx, set, "map-"+string(rune('a'+i%26)), name, []mapArea{{label: name, wkt: f.Area.WKT}})
		}
		if err := d.fillFollow(ctx, owner, f, &own, len(followers) > 1); err != nil {
			return nil, err
		}
		list = append(list, own)
	}
	return list, nil
}

// follow is the address of a subscription among those to its dataset.
func (d ownerPages) follow(f registry.DatasetFollower) string {
	return d.Dataset(f.Subscription.DatasetID) + "/subscriptions/" + f.Subscription.ID
}

// fillFollow adds what can be fetched now, and how; or why nothing can.
func (d ownerPages) fillFollow(ctx context.Context, owner store.Partner, f registry.DatasetFollower, own *view.OwnFollow, several bool) error {
	access, err := d.Registry.Datasets.Access(ctx, owner, f.Subscription.DatasetID, f.Subscription.ID)
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == registry.CodeForbidden {
		own.Notice = e.Message.In(ctx)
		return nil
	}
	if err != nil {
		return err
	}
	clients, err := d.Registry.Clients.List(ctx, registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(clients, func(one store.Client) bool {
		return one.AuthMethod != token.TLSClientAuth && slices.Contains(one.Scopes, identity.ScopeMutationsRead)
	})
	client := store.Client{ID: "YOUR-CLIENT-ID", AuthMethod: token.PrivateKeyJWT}
	if own.Clients, own.ClientsHref = i >= 0, d.Href("/clients"); i >= 0 {
		client = clients[i]
	}
	own.Commands = followCommand(d.App, access.Dataset, client, "")
	if several {
		own.Commands = followCommand(d.App, access.Dataset, client, f.Subscription.ID)
	}
	view := viewOf(owner, access)
	if own.Deltas, own.DeltaTotal, err = d.newestOffers(ctx, view, d.follow(f)); err != nil {
		return err
	}
	o, err := d.Exporter.Latest(ctx, view)
	if errors.Is(err, export.ErrNoSnapshot) {
		return nil
	}
	row := snapshotRow(o.Snapshot, d.follow(f)+"/snapshots/"+o.Snapshot.ID+"/content")
	row.Total, row.Bytes = o.Manifest.Counts.Adds, o.Manifest.Bytes
	if !o.Ready {
		row.State, row.Href = store.MutationPending, ""
	}
	own.Snapshot = &row
	return err
}

// followCommand keeps a copy of a dataset, by one of several subscriptions to it when that is named. schakel reads no private
// key that others can read, as a browser saves it.
func followCommand(app *site.App, set store.Dataset, client store.Client, subscription string) string {
	command, as := "SCHAKEL_CLIENT_SECRET=$("+site.AskSecret+") \\\n  schakel mutations follow", "  --client-id "+site.Quoted(client.ID)
	if client.AuthMethod == token.PrivateKeyJWT {
		key := site.Quoted(site.KeyFile(client))
		command, as = "chmod 600 "+key+"\nschakel mutations follow", as+" --client-key-file "+key
	}
	lines := []string{command, "  --url " + site.Quoted(app.Absolute("/mutations/v1/datasets/"+set.ID)), as}
	copied := set.ID
	if subscription != "" {
		lines = append(lines, "  --subscription "+site.Quoted(subscription))
		copied += "-" + subscription
	}
	return strings.Join(append(lines, "  --database "+site.Quoted("sqlite:"+copied+".db"), "  --every 5m"), " \\\n")
}

// newestOffers are the newest deltas as a reader gets them, oldest first.
func (d ownerPages) newestOffers(ctx context.Context, view export.View, base string) ([]view.DeltaRow, int, error) {
	newest, _, err := d.DB.MutationDeltas(ctx, store.MutationDeltaFilter{
		DatasetID: view.Dataset.ID, Lineage: view.Dataset.Lineage, NewestFirst: true, Page: store.Page{Number: 1, Size: shownDeltas + 1},
	})
	if err != nil {
		return nil, 0, err
	}
	_, total, err := d.Exporter.Deltas(ctx, view, "", store.Page{Number: 1, Size: 1})
	if err != nil {
		return nil, 0, err
	}
	after := ""
	if len(newest) > shownDeltas && total > shownDeltas {
		names, err := d.Exporter.Names(ctx, view)
		if err != nil {
			return nil, 0, err
		}
		after = names.Of(newest[shownDeltas].ID)
	}
	offers, _, err := d.Exporter.Deltas(ctx, view, after, store.Page{Number: 1, Size: shownDeltas})
	rows := offerRows(view.Dataset, offers, d.Cfg.Now(), base)
	slices.Reverse(rows)
	return rows, total, err
}

// offerRows are deltas as a reader gets them.
func offerRows(set store.Dataset, offers []export.Offer, now time.Time, base string) []view.DeltaRow {
	var rows []view.DeltaRow
	for _, o := range offers {
		row := DeltaRow(set, o.Delta, now, "")
		row.Making, row.Failed, row.Bytes, row.DeliveryCounts = !o.Ready && o.Failed == "", o.Failed, 0, view.DeliveryCounts{}
		if !row.Gone && o.Failed == "" {
			row.Href = base + "/deltas/" + o.Name + "/content" // one that is not ready is made when it is asked for
		}
		if o.Ready {
			n := o.Manifest.Counts
			if row.Href != "" {
				row.ChangesHref = base + "/deltas/" + o.Name
			}
			row.Bytes, row.DeliveryCounts = o.Manifest.Bytes, view.DeliveryCounts{Groups: n.Groups, Adds: n.Adds, Changes: n.Changes, Deletes: n.Deletes}
		}
		rows = append(rows, row)
	}
	return rows
}

// ownReading finds one of the organisation's own subscriptions to the dataset of the address, as who reads by it.
func (d ownerPages) ownReading(c echo.Context) (store.Dataset, export.View, error) {
	ctx := c.Request().Context()
	owner, err := d.Owner(c)
	if err != nil {
		return store.Dataset{}, export.View{}, err
	}
	access, err := d.Registry.Datasets.Access(ctx, owner, c.Param("dataset"), c.Param("id"))
	return access.Dataset, viewOf(owner, access), err
}

// ownDeltas lists all deltas that a subscription can fetch.
func (d ownerPages) ownDeltas(c echo.Context) error {
	set, reading, err := d.ownReading(c)
	if err != nil {
		return err
	}
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	offers, total, err := d.Exporter.Deltas(ctx, reading, "", paging)
	if err != nil {
		return d.pages.notThere(c, err, d.Dataset(set.ID))
	}
	v := view.DatasetListView{Now: d.Cfg.Now(), Total: total, Pager: site.Pager(c, paging, total), Empty: ui.Empty{Text: i18n.T(ctx, "datasets.follow.no-delta")}}
	v.Deltas = offerRows(set, offers, v.Now, d.Dataset(set.ID)+"/subscriptions/"+c.Param("id"))
	page := d.PageFrame(c, i18n.T(ctx, "datasets.deltas"), ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: d.Href("/datasets")}, ui.Crumb{Label: set.Title, Href: d.Dataset(set.ID)})
	page.Lead = i18n.T(ctx, "datasets.follow.deltas-lead")
	return d.Render(c, http.StatusOK, view.DatasetDeltasPage(page, v))
}

// ownDeltaFile sends what a subscription gets of a delta. A person who looks at a file is no copy that follows, so it does
// not count as fetched.
func (d ownerPages) ownDeltaFile(c echo.Context) error {
	set, reading, err := d.ownReading(c)
	if err != nil {
		return err
	}
	return d.pages.sendDelta(c, reading, d.Dataset(set.ID))
}

// ownSnapshotFile sends what a subscription gets of a snapshot.
func (d ownerPages) ownSnapshotFile(c echo.Context) error {
	set, reading, err := d.ownReading(c)
	if err != nil {
		return err
	}
	return d.pages.sendSnapshot(c, reading, d.Dataset(set.ID))
}

// ownFollow finds one of the organisation's own open subscriptions to the dataset of the address.
func (d ownerPages) ownFollow(c echo.Context) (store.Partner, store.Dataset, registry.DatasetFollower, error) {
	ctx := c.Request().Context()
	owner, err := d.Owner(c)
	if err != nil {
		return owner, store.Dataset{}, registry.DatasetFollower{}, err
	}
	set, err := d.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return owner, set, registry.DatasetFollower{}, err
	}
	list, err := d.Registry.Datasets.Followers(ctx, registry.ScopeOf(owner.ID), set.ID)
	if err != nil {
		return owner, set, registry.DatasetFollower{}, err
	}
	for _, f := range list {
		if f.Subscription.ID == c.Param("id") {
			return owner, set, f, nil
		}
	}
	return owner, set, registry.DatasetFollower{}, store.ErrNotFound
}
