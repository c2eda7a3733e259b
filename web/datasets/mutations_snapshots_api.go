package datasets

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/web/site"
)

// latestSnapshot names the newest one in an address.
const latestSnapshot = "latest"

// snapshotAnswer is an initial state as the caller gets it: its manifest, and where it stands.
type snapshotAnswer struct {
	ID        string    `json:"id"`
	Includes  string    `json:"includesDeltaId"`
	CreatedAt time.Time `json:"createdAt"`
	archive.Manifest
	Links map[string]HalLink `json:"_links"`
}

// snapshotOffer finds the snapshot of the address as the caller gets it.
func (m *handlers) snapshotOffer(c echo.Context) (datasetReader, export.Offer, error) {
	r, err := m.datasetReader(c)
	if err != nil {
		return r, export.Offer{}, err
	}
	ctx := c.Request().Context()
	var o export.Offer
	if id := c.Param("snapshotId"); id == latestSnapshot {
		o, err = m.Exporter.Latest(ctx, r.view)
	} else {
		o, err = m.Exporter.SnapshotOf(ctx, r.view, id)
		if errors.Is(err, export.ErrNoSnapshot) {
			here := datasetPath(r.access.Dataset.ID) + "/snapshots/"
			return r, o, site.NewProblem(http.StatusNotFound, "no-snapshot", "There is no such snapshot, or newer ones came in its place. The newest is at "+m.App.Absolute(here+latestSnapshot)+".")
		}
	}
	if err != nil {
		return r, o, m.deliveryProblem(r.access.Dataset.ID, err)
	}
	return r, o, readyOrWait(o)
}

// showSnapshot answers an initial state, and which delta it includes: a copy goes on after that (MUT-34).
func (m *handlers) showSnapshot(c echo.Context) error {
	r, o, err := m.snapshotOffer(c)
	if err != nil {
		return err
	}
	here := "/snapshots/" + o.Snapshot.ID
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.JSON(http.StatusOK, snapshotAnswer{
		ID: o.Snapshot.ID, Includes: o.Includes, CreatedAt: utc(o.Snapshot.CreatedAt), Manifest: o.Manifest,
		Links: map[string]HalLink{"self": {Href: r.path(here)}, "content": {Href: r.path(here + "/content"), Type: formatZipType}},
	})
}

// showSnapshotContent sends the zip of an initial state. Sent to its end, the caller's subscription is as far as the delta
// that it includes.
func (m *handlers) showSnapshotContent(c echo.Context) error {
	r, o, err := m.snapshotOffer(c)
	if err != nil {
		return err
	}
	return m.serveMutationFile(c, mutationFile{offer: o, id: o.FileID, name: r.access.Dataset.ID + "-initial.zip", reader: r})
}
