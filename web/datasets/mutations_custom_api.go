package datasets

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// fullCustomRequest asks for a download of what is there now.
type fullCustomRequest struct {
	Format       string   `json:"format"`
	FeatureTypes []string `json:"featuretypes"`
	Geofilter    string   `json:"geofilter"`
}

// deltaCustomRequest asks for a download of a delta, or without deltaId of the newest initial state (MUT-51).
type deltaCustomRequest struct {
	Format       string   `json:"format"`
	FeatureTypes []string `json:"featuretypes"`
	Geofilter    string   `json:"geofilter"`
	DeltaID      string   `json:"deltaId"`
}

// postDeltaCustom asks for a download with other bounds than the subscription has, within those (MUT-51).
func (m *handlers) postDeltaCustom(c echo.Context) error {
	var in deltaCustomRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	return m.requestCustom(c, in)
}

// postFullCustom asks for a download of what is there now: the newest initial state.
func (m *handlers) postFullCustom(c echo.Context) error {
	var in fullCustomRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	return m.requestCustom(c, deltaCustomRequest{Format: in.Format, FeatureTypes: in.FeatureTypes, Geofilter: in.Geofilter})
}

func (m *handlers) requestCustom(c echo.Context, in deltaCustomRequest) error {
	r, err := m.datasetReader(c)
	if err != nil {
		return err
	}
	types, err := in.check(r.access.Dataset)
	if err != nil {
		return err
	}
	row, err := m.Exporter.Request(c.Request().Context(), r.view, export.Request{
		By: r.Client.ID, ObjectTypes: types, Geofilter: in.Geofilter, DeltaID: in.DeltaID,
	})
	if full, ok := errors.AsType[*export.RoomError](err); ok {
		return site.RetryLater(http.StatusTooManyRequests, "too-large-downloads", i18n.M("datasets.api.downloads-large",
			full.Most>>20, full.Until.UTC().Format(time.RFC3339)), full.Until.Sub(m.App.Cfg.Now()))
	}
	switch {
	case errors.Is(err, export.ErrGeofilter):
		return site.FieldProblem("geofilter", i18n.Raw(strings.ReplaceAll(err.Error(), "\n", ": ")))
	case errors.Is(err, export.ErrTooMany):
		return site.RetryLater(http.StatusTooManyRequests, "too-many-downloads", i18n.M("datasets.api.downloads-many", export.MostWaiting), notReadyAfter)
	case errors.Is(err, export.ErrObjectType):
		return site.FieldProblem("featuretypes", i18n.Raw(err.Error()))
	case err != nil:
		return m.deliveryProblem(r.access.Dataset.ID, err)
	}
	status := strings.TrimSuffix(c.Request().URL.Path, "/") + "/" + row.ID + "/status"
	return c.JSON(http.StatusAccepted, map[string]any{
		"downloadRequestId": row.ID, "_links": map[string]HalLink{"status": {Href: r.same(status)}},
	})
}

// check wants a format and at least one object type of the dataset, each once; case does not count.
func (in deltaCustomRequest) check(d store.Dataset) ([]string, error) {
	if formats := datasetFormats(d); !slices.Contains(formats, in.Format) {
		return nil, site.FieldProblem("format", i18n.M("datasets.api.format", strings.Join(formats, ", ")))
	}
	if len(in.FeatureTypes) == 0 {
		return nil, site.FieldProblem("featuretypes", i18n.M("datasets.api.name-a-type", strings.Join(d.ObjectTypes, ", ")))
	}
	seen := make(map[string]bool, len(in.FeatureTypes))
	var types []string
	for i, name := range in.FeatureTypes {
		at := "featuretypes/" + strconv.Itoa(i)
		known, ok := registry.DatasetObjectType(d, name)
		switch {
		case !ok:
			return nil, site.FieldProblem(at, i18n.M("datasets.api.type-unknown", name, strings.Join(d.ObjectTypes, ", ")))
		case seen[known]:
			return nil, site.FieldProblem(at, i18n.M("datasets.api.type-twice", name))
		}
		seen[known] = true
		types = append(types, known)
	}
	return types, nil
}

// showCustomStatus reports the progress of a download: 200 while it is made, 201 when it is there (MUT-52).
func (m *handlers) showCustomStatus(c echo.Context) error {
	r, row, err := m.custom(c, c.Param("downloadRequestId"))
	if err != nil {
		return err
	}
	switch row.Status {
	case store.MutationCompleted:
		href := r.path("/downloads/" + row.ID + "/content")
		return c.JSON(http.StatusCreated, map[string]any{
			"status": "COMPLETED", "progress": 100, "_links": map[string]HalLink{"download": {Href: href}},
		})
	case store.MutationFailed:
		return downloadFailed(row)
	}
	status := "PENDING"
	if row.Status == store.MutationRunning {
		status = "RUNNING"
	}
	c.Response().Header().Set("Retry-After", strconv.Itoa(int(notReadyAfter/time.Second)))
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, map[string]any{
		"status": status, "progress": row.Progress, "_links": map[string]HalLink{"self": {Href: r.same(c.Request().URL.Path)}},
	})
}

// custom finds a download that was asked for; another partner's is 404 (guarantee G7).
func (m *handlers) custom(c echo.Context, id string) (datasetReader, store.MutationDownload, error) {
	r, err := m.datasetReader(c)
	if err != nil {
		return r, store.MutationDownload{}, err
	}
	row, err := m.Exporter.Custom(c.Request().Context(), r.view, id)
	if err != nil {
		return r, row, m.deliveryProblem(r.access.Dataset.ID, err)
	}
	return r, row, nil
}

// completed is custom for a download that must be there.
func (m *handlers) completed(c echo.Context) (datasetReader, store.MutationDownload, error) {
	r, row, err := m.custom(c, c.Param("downloadId"))
	if err != nil || row.Status == store.MutationCompleted {
		return r, row, err
	}
	if row.Status == store.MutationFailed {
		return r, row, downloadFailed(row)
	}
	return r, row, site.RetryLater(http.StatusServiceUnavailable, "not-ready", "datasets.api.download-making", notReadyAfter)
}

func downloadFailed(row store.MutationDownload) error {
	return site.NewProblem(http.StatusInternalServerError, "download-failed", i18n.M("datasets.api.download-failed", i18n.Message(row.Error)))
}

// showDownload answers the manifest of a download.
func (m *handlers) showDownload(c echo.Context) error {
	_, row, err := m.completed(c)
	if err != nil {
		return err
	}
	manifest, err := export.Manifest(row.Manifest)
	if err != nil {
		return fmt.Errorf("read manifest of download: %w", err)
	}
	return serveManifest(c, manifest)
}

// showDownloadContent sends the zip of a download. It says nothing of how far the subscription is: its bounds may be others.
func (m *handlers) showDownloadContent(c echo.Context) error {
	r, row, err := m.completed(c)
	if err != nil {
		return err
	}
	return m.serveMutationFile(c, mutationFile{id: row.FileID, name: r.access.Dataset.ID + "-download.zip", reader: r})
}
