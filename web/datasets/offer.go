package datasets

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

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
	paging := site.PagePaging(c)
	offers, total, err := d.Exporter.Deltas(c.Request().Context(), reading, "", store.Page{Number: paging.Page, Size: paging.PerPage})
	if err != nil {
		return d.pages.notThere(c, err, d.Dataset(set.ID))
	}
	v := view.DatasetListView{Now: d.Cfg.Now(), Total: total, Pager: site.Pager(c, paging, total), Empty: ui.Empty{Text: "There is no delta yet."}}
	v.Deltas = offerRows(set, offers, v.Now, d.Dataset(set.ID)+"/subscriptions/"+c.Param("id"))
	page := d.PageFrame(c, "Deltas", ui.Crumb{Label: "Datasets", Href: d.Href("/datasets")}, ui.Crumb{Label: set.Title, Href: d.Dataset(set.ID)})
	page.Lead = "What you can fetch, oldest first: the order in which a copy takes them."
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
