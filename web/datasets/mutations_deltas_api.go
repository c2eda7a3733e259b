package datasets

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// Pages of deltas, as PDOK's API has them.
const (
	defaultDeltas = 10
	mostDeltas    = 100
)

// deltaAnswer is a delta in a list: PDOK's members, and ours. What is of the file is that of the file for the caller, and
// absent while that is made.
type deltaAnswer struct {
	ID         string             `json:"id"`
	TimeWindow timeWindow         `json:"timeWindow"`
	Number     int64              `json:"number"`
	PreviousID string             `json:"previousId,omitempty"`
	Lineage    string             `json:"lineage,omitempty"`
	Counts     *archive.Counts    `json:"counts,omitempty"`
	Bytes      int64              `json:"bytes,omitempty"`
	SHA256     string             `json:"sha256,omitempty"`
	ExpiresAt  time.Time          `json:"expiresAt"`
	Links      map[string]HalLink `json:"_links"`
}

func newDeltaAnswer(r datasetReader, o export.Offer) deltaAnswer {
	here := "/deltas/" + o.Name
	a := deltaAnswer{
		ID: o.Name, TimeWindow: timeWindow{utc(o.Delta.FromAt), utc(o.Delta.ToAt)}, Number: o.Delta.Number, PreviousID: o.Previous,
		ExpiresAt: o.ExpiresAt.UTC(),
		Links:     map[string]HalLink{"content": {Href: r.path(here + "/content"), Type: formatZipType}, "manifest": {Href: r.path(here), Type: "application/json"}},
	}
	if o.Ready {
		counts := o.Manifest.Counts
		a.Lineage, a.Counts, a.Bytes, a.SHA256 = o.Manifest.Lineage, &counts, o.Manifest.Bytes, o.Manifest.SHA256
	}
	return a
}

const formatZipType = "application/zip"

// listDeltas lists the deltas behind after-delta-id, or all that are there, oldest first (MUT-35, MUT-50).
func (m *handlers) listDeltas(c echo.Context) error {
	r, err := m.datasetReader(c)
	if err != nil {
		return err
	}
	page, err := site.WholeNumber(c, "page", 1, site.MaxPage)
	if err != nil {
		return err
	}
	count, err := site.WholeNumber(c, "count", defaultDeltas, mostDeltas)
	if err != nil {
		return err
	}
	offers, total, err := m.Exporter.Deltas(c.Request().Context(), r.view, c.QueryParam("after-delta-id"), store.Page{Number: page, Size: count})
	if err != nil {
		return m.deliveryProblem(r.access.Dataset.ID, err)
	}
	answers := make([]deltaAnswer, len(offers))
	for i, o := range offers {
		answers[i] = newDeltaAnswer(r, o)
	}
	return c.JSON(http.StatusOK, map[string]any{"deltas": answers, "_links": deltaLinks(c, page, count, total)})
}

// deltaLinks are relative, as PDOK's are.
func deltaLinks(c echo.Context, page, count, total int) []HalLink {
	to := func(rel string, page int) HalLink {
		q := url.Values{"page": {strconv.Itoa(page)}, "count": {strconv.Itoa(count)}}
		for _, name := range []string{"after-delta-id", "subscriptionId"} {
			if value := c.QueryParam(name); value != "" {
				q.Set(name, value)
			}
		}
		return HalLink{Rel: rel, Href: path.Base(c.Request().URL.Path) + "?" + q.Encode(), Type: "application/json"}
	}
	links := []HalLink{}
	if page > 1 {
		links = append(links, to("prev", page-1))
	}
	if page*count < total {
		links = append(links, to("next", page+1))
	}
	return links
}

// deltaOffer finds the delta of the address as the caller gets it.
func (m *handlers) deltaOffer(c echo.Context) (datasetReader, export.Offer, error) {
	r, err := m.datasetReader(c)
	if err != nil {
		return r, export.Offer{}, err
	}
	o, err := m.Exporter.Delta(c.Request().Context(), r.view, c.Param("deltaId"))
	if err != nil {
		return r, o, m.deliveryProblem(r.access.Dataset.ID, err)
	}
	return r, o, readyOrWait(o)
}

// showDelta answers the manifest of a delta (MUT-65).
func (m *handlers) showDelta(c echo.Context) error {
	_, o, err := m.deltaOffer(c)
	if err != nil {
		return err
	}
	return serveManifest(c, o.Manifest)
}

func serveManifest(c echo.Context, manifest archive.Manifest) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.JSON(http.StatusOK, manifest)
}

// showDeltaContent sends the zip of a delta. Sent to its end, the caller's subscription is as far as this delta.
func (m *handlers) showDeltaContent(c echo.Context) error {
	r, o, err := m.deltaOffer(c)
	if err != nil {
		return err
	}
	return m.serveMutationFile(c, mutationFile{offer: o, id: o.FileID, name: r.access.Dataset.ID + "-delta-" + strconv.FormatInt(o.Delta.Number, 10) + ".zip", reader: r})
}

// redirectDelta leads to the zip of a delta, or to the newest initial state when none is named (MUT-53).
func (m *handlers) redirectDelta(c echo.Context) error {
	id := c.QueryParam("delta-id")
	if id == "" {
		return m.redirectFull(c)
	}
	r, err := m.predefined(c)
	if err != nil {
		return err
	}
	if _, err := m.Exporter.Delta(c.Request().Context(), r.view, id); err != nil {
		return m.deliveryProblem(r.access.Dataset.ID, err)
	}
	return m.redirectTo(c, r.path("/deltas/"+url.PathEscape(id)+"/content"))
}

// redirectFull leads to the zip of the newest initial state (MUT-53).
func (m *handlers) redirectFull(c echo.Context) error {
	r, err := m.predefined(c)
	if err != nil {
		return err
	}
	o, err := m.Exporter.Latest(c.Request().Context(), r.view)
	if err != nil {
		return m.deliveryProblem(r.access.Dataset.ID, err)
	}
	return m.redirectTo(c, r.path("/snapshots/"+o.Snapshot.ID+"/content"))
}

// predefined wants the name of a zip of the dataset, such as bgt-gml-nl.zip.
func (m *handlers) predefined(c echo.Context) (datasetReader, error) {
	r, err := m.datasetReader(c)
	if err != nil {
		return r, err
	}
	rest, ok := strings.CutPrefix(c.Param("name"), r.access.Dataset.ID)
	if !ok || !strings.HasSuffix(rest, ".zip") || rest != ".zip" && rest[0] != '-' {
		return r, site.NewProblem(http.StatusNotFound, "not-found", i18n.M("datasets.api.file-unknown", r.access.Dataset.ID))
	}
	return r, nil
}

func (m *handlers) redirectTo(c echo.Context, path string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusTemporaryRedirect, path)
}

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
			return r, o, site.NewProblem(http.StatusNotFound, "no-snapshot", i18n.M("datasets.api.snapshot-unknown", m.App.Absolute(here+latestSnapshot)))
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
