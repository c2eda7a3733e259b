package datasets

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// deltaFile sends the zip of a delta to an administrator.
func (p *Pages) deltaFile(c echo.Context) error {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	return p.sendDelta(c, export.View{Dataset: d}, datasetHref(d.ID))
}

// snapshotFile sends the zip of a snapshot to an administrator.
func (p *Pages) snapshotFile(c echo.Context) error {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return err
	}
	return p.sendSnapshot(c, export.View{Dataset: d}, datasetHref(d.ID))
}

// sendDelta sends what a reader gets of the delta of the address.
func (p *Pages) sendDelta(c echo.Context, v export.View, back string) error {
	o, err := p.Exporter.Delta(c.Request().Context(), v, c.Param("delta"))
	if err != nil {
		return p.notThere(c, err, back)
	}
	return p.sendOffer(c, o, v.Dataset.ID+"-delta-"+strconv.FormatInt(o.Delta.Number, 10)+".zip", back)
}

// sendSnapshot sends what a reader gets of the snapshot of the address.
func (p *Pages) sendSnapshot(c echo.Context, v export.View, back string) error {
	o, err := p.Exporter.SnapshotOf(c.Request().Context(), v, c.Param("snapshot"))
	if err != nil {
		return p.notThere(c, err, back)
	}
	return p.sendOffer(c, o, v.Dataset.ID+"-snapshot-"+strconv.FormatInt(o.Snapshot.DeltaNumber, 10)+".zip", back)
}

// notThere says on the page it was asked from why a file cannot be had.
func (p *Pages) notThere(c echo.Context, err error, back string) error {
	var text i18n.Message
	switch {
	case errors.Is(err, export.ErrDeltaUnknown), errors.Is(err, export.ErrNoSnapshot):
		return store.ErrNotFound
	case errors.Is(err, export.ErrDeltaExpired):
		text = "datasets.download.expired"
	case errors.Is(err, export.ErrLineageChanged):
		text = "datasets.download.old-lineage"
	default:
		return err
	}
	p.Flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, back)
}

// notReady says on the page it was asked from why a file is not there.
func (p *Pages) notReady(c echo.Context, o export.Offer, back string) error {
	text := i18n.Message("datasets.download.making")
	if o.Failed != "" {
		text = i18n.M("datasets.download.failed", i18n.Message(o.Failed))
	}
	p.Flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, back)
}

// sendOffer sends a zip, whole or in part.
func (p *Pages) sendOffer(c echo.Context, o export.Offer, name, back string) error {
	if !o.Ready {
		return p.notReady(c, o, back)
	}
	ctx := c.Request().Context()
	file, err := p.DB.MutationFile(ctx, o.FileID)
	if err != nil {
		return err
	}
	if err := noteFile(ctx, p.Registry, site.Actor(c), name); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", formatZipType)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", site.DataCSP)
	h.Set("Cache-Control", "private, no-cache")
	site.SetDigest(h, file.Digest)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, p.DB.OpenMutationFile(ctx, file))
	return nil
}
