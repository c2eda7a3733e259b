package datasets

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
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
		return site.NewProblem(http.StatusNotFound, "delta-unknown", i18n.Message("Dataset "+dataset+" has no such delta. List them with GET "+datasetPath(dataset)+"/deltas."))
	case errors.Is(err, export.ErrUnreadable):
		return site.NewProblem(http.StatusConflict, "area-unreadable", "The area of your subscription cannot be read, so it is not known what you get. Set it again with PUT "+site.MutationsBase+"/subscriptions/{id}/area, or ask the administrator.")
	case errors.Is(err, export.ErrNoSnapshot):
		return site.NewProblem(http.StatusNotFound, "no-snapshot", i18n.Message("Dataset "+dataset+" has no snapshot yet. Ask the administrator to make one, or try again later."))
	}
	return err
}

// goneProblem reports that something expired, and names the way back (MUT-33, MUT-38).
func (m *handlers) goneProblem(dataset string, gone *export.GoneError) error {
	back := " Fetch the latest snapshot at " + m.App.Absolute(datasetPath(dataset)+"/snapshots/latest") + " into an empty copy, and go on after the delta that it includes (includesDeltaId)."
	switch {
	case errors.Is(gone.Kind, export.ErrLineageChanged):
		reason := "the delta is of an older lineage"
		if gone.Reason != "" {
			reason += ", which ended because: " + gone.Reason
		}
		return site.NewProblem(http.StatusGone, "lineage-changed", i18n.Message("This cannot be gone on from: "+reason+"."+back))
	case errors.Is(gone.Kind, export.ErrDeltaExpired):
		return site.NewProblem(http.StatusGone, "delta-expired", i18n.Message("This delta was kept until 31 days after the end of its window"+untilWhen(gone.ExpiredAt)+", and is gone. A copy that is this far behind begins anew."+back))
	}
	return site.NewProblem(http.StatusGone, "download-gone", i18n.Message("A download is kept for 7 days after it was ready, or until it makes room for a newer one; this one is gone"+strings.Replace(untilWhen(gone.ExpiredAt), ",", " since", 1)+". Ask for it again."))
}

func untilWhen(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", " + t.UTC().Format(time.RFC3339)
}

// readyOrWait refuses what is not there yet, or cannot be made.
func readyOrWait(o export.Offer) error {
	switch {
	case o.Ready:
		return nil
	case o.Failed != "":
		return site.NewProblem(http.StatusInternalServerError, "download-failed", i18n.Message("The file for your area could not be made: "+o.Failed+". The administrator sees this too."))
	}
	return site.RetryLater(http.StatusServiceUnavailable, "not-ready", "The file for your area is being made. Ask again in a moment.", notReadyAfter)
}

// utc writes a time of the database for JSON.
func utc(t store.Time) time.Time { return t.UTC() }
