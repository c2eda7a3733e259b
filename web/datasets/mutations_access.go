package datasets

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/registry/datasets"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// notReadyAfter is when to ask again for what is being made.
const notReadyAfter = 5 * time.Second

// datasetReader identifies the reader of a dataset: the own organisation, or a partner by its subscription.
type datasetReader struct {
	api.Caller
	access datasets.DatasetAccess
	view   export.View
	named  string // the subscription in the address
}

// datasetReader finds the dataset of the address, and by which subscription the caller reads it: that of the parameter
// subscriptionId, or the oldest that is open.
func (m *handlers) datasetReader(c echo.Context) (datasetReader, error) {
	who, err := m.Caller(c)
	if err != nil {
		return datasetReader{}, err
	}
	access, err := m.Registry.Datasets.Access(c.Request().Context(), who.Partner, c.Param("datasetId"), c.QueryParam("subscriptionId"))
	if err != nil {
		return datasetReader{}, err
	}
	r := newDatasetReader(who, access)
	r.named = c.QueryParam("subscriptionId")
	return r, nil
}

func newDatasetReader(who api.Caller, access datasets.DatasetAccess) datasetReader {
	return datasetReader{Caller: who, access: access, view: viewOf(who.Partner, access)}
}

// viewOf returns the view with which a partner reads a dataset, in the portal and over the API.
func viewOf(who store.Partner, access datasets.DatasetAccess) export.View {
	view := export.View{Dataset: access.Dataset, PartnerID: who.ID}
	if access.Follower != nil {
		reads := access.Follower.Follower.Reading()
		view.Follower = &reads
	}
	return view
}

// path is an address below the dataset, for the same subscription.
func (r datasetReader) path(rest string) string {
	return r.same(datasetPath(r.access.Dataset.ID) + rest)
}

// same names the same subscription in an address.
func (r datasetReader) same(path string) string {
	if r.named != "" {
		path += "?subscriptionId=" + url.QueryEscape(r.named)
	}
	return path
}

// deliveryProblem turns what the making of deltas and snapshots says into answers; the rest stays as it is.
func (m *handlers) deliveryProblem(dataset string, err error) error {
	if gone, ok := errors.AsType[*export.GoneError](err); ok {
		return m.goneProblem(dataset, gone)
	}
	switch {
	case errors.Is(err, export.ErrDeltaUnknown):
		return site.NewProblem(http.StatusNotFound, "delta-unknown", i18n.M("datasets.api.delta-unknown", dataset, datasetPath(dataset)))
	case errors.Is(err, export.ErrUnreadable):
		return site.NewProblem(http.StatusConflict, "area-unreadable", i18n.M("datasets.api.area-unreadable", site.MutationsBase))
	case errors.Is(err, export.ErrNoSnapshot):
		return site.NewProblem(http.StatusNotFound, "no-snapshot", i18n.M("datasets.api.no-snapshot", dataset))
	}
	return err
}

// goneProblem reports that something expired, and names the way back (MUT-33, MUT-38).
func (m *handlers) goneProblem(dataset string, gone *export.GoneError) error {
	newest, at := m.App.Absolute(datasetPath(dataset)+"/snapshots/latest"), gone.ExpiredAt.UTC().Format(time.RFC3339)
	switch {
	case errors.Is(gone.Kind, export.ErrLineageChanged) && gone.Reason != "":
		return site.NewProblem(http.StatusGone, "lineage-changed", i18n.M("datasets.api.lineage-changed-because", gone.Reason, newest))
	case errors.Is(gone.Kind, export.ErrLineageChanged):
		return site.NewProblem(http.StatusGone, "lineage-changed", i18n.M("datasets.api.lineage-changed", newest))
	case errors.Is(gone.Kind, export.ErrDeltaExpired) && gone.ExpiredAt.IsZero():
		return site.NewProblem(http.StatusGone, "delta-expired", i18n.M("datasets.api.delta-expired", newest))
	case errors.Is(gone.Kind, export.ErrDeltaExpired):
		return site.NewProblem(http.StatusGone, "delta-expired", i18n.M("datasets.api.delta-expired-at", at, newest))
	case gone.ExpiredAt.IsZero():
		return site.NewProblem(http.StatusGone, "download-gone", "datasets.api.download-gone")
	}
	return site.NewProblem(http.StatusGone, "download-gone", i18n.M("datasets.api.download-gone-since", at))
}

// readyOrWait refuses what is not there yet, or cannot be made.
func readyOrWait(o export.Offer) error {
	switch {
	case o.Ready:
		return nil
	case o.Failed != "":
		return site.NewProblem(http.StatusInternalServerError, "download-failed", i18n.M("datasets.api.file-failed", i18n.Message(o.Failed)))
	}
	return site.RetryLater(http.StatusServiceUnavailable, "not-ready", "datasets.api.file-making", notReadyAfter)
}

// utc writes a time of the database for JSON.
func utc(t store.Time) time.Time { return t.UTC() }
