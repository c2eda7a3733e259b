package datasets

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// timeWindow is from when until when a delta holds the changes.
type timeWindow struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to"`
}

// timeliness is until when the changes of an object type are in deltas, as PDOK's API has it.
type timeliness struct {
	FeatureType string    `json:"featuretype"`
	DatetimeTo  time.Time `json:"datetimeTo"`
}

// DatasetAnswer is a dataset as the caller sees it. What comes of reading it is there only for who may.
type DatasetAnswer struct {
	ID            string                    `json:"id"`
	Title         string                    `json:"title"`
	Description   string                    `json:"description,omitempty"`
	Status        string                    `json:"status"`
	ObjectTypes   []string                  `json:"objectTypes"`
	CRS           int64                     `json:"crs,omitempty"`
	AreaKind      string                    `json:"areaKind"`
	Formats       []string                  `json:"formats"`
	RetentionDays int                       `json:"retentionDays"`
	Timeliness    []timeliness              `json:"timeliness"`
	Lineage       string                    `json:"lineage,omitempty"`
	LatestDelta   *datasetDelta             `json:"latestDelta,omitempty"`
	Snapshot      *datasetSnapshot          `json:"latestSnapshot,omitempty"`
	Subscription  *datasetSubscriptionBrief `json:"subscription,omitempty"`
	Ended         *endAnswer                `json:"ended,omitempty"`
	Links         map[string]HalLink        `json:"_links"`
}

type datasetDelta struct {
	ID         string     `json:"id"`
	Number     int64      `json:"number"`
	TimeWindow timeWindow `json:"timeWindow"`
}

type datasetSnapshot struct {
	ID       string `json:"id"`
	Includes string `json:"includesDeltaId"`
}

type datasetSubscriptionBrief struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	AreaID string `json:"areaId,omitempty"`
}

// listDatasets lists the datasets that are delivered here, and those that ended which the caller still follows, by id.
func (m *handlers) listDatasets(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "datasets", func(page store.Page) ([]DatasetAnswer, int, error) {
		ctx := c.Request().Context()
		rows, total, err := m.Registry.Datasets.List(ctx, store.DatasetFilter{Status: store.DatasetActive, FollowedBy: who.Partner.ID, Page: page})
		answers := make([]DatasetAnswer, len(rows))
		for i := 0; i < len(rows) && err == nil; i++ {
			answers[i], err = m.datasetAnswer(ctx, who, rows[i], "")
		}
		return answers, total, err
	})
}

// showDataset answers one dataset, as it is read by the subscription that is named.
func (m *handlers) showDataset(c echo.Context, who api.Caller) error {
	row, err := m.Registry.Datasets.Get(c.Request().Context(), c.Param("datasetId"))
	if err != nil {
		return err
	}
	answer, err := m.datasetAnswer(c.Request().Context(), who, row, c.QueryParam("subscriptionId"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// showTimeliness answers until when the changes are in deltas, as PDOK's API does.
func (m *handlers) showTimeliness(c echo.Context) error {
	row, err := m.Registry.Datasets.Get(c.Request().Context(), c.Param("datasetId"))
	if err != nil {
		return err
	}
	list, err := m.timeliness(c.Request().Context(), row)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"timeliness": list})
}

// timeliness is the end of the last delta, or the later time at which nothing new was found.
func (m *handlers) timeliness(ctx context.Context, row store.Dataset) ([]timeliness, error) {
	until := row.CheckedAt.Time
	last, err := lastDelta(ctx, m.DB, row.ID)
	if err != nil {
		return nil, err
	}
	if last.ToAt.After(until) {
		until = last.ToAt.Time
	}
	list := make([]timeliness, 0, len(row.ObjectTypes))
	for _, name := range row.ObjectTypes {
		if !until.IsZero() {
			list = append(list, timeliness{FeatureType: name, DatetimeTo: until.UTC()})
		}
	}
	return list, nil
}

func (m *handlers) datasetAnswer(ctx context.Context, who api.Caller, row store.Dataset, named string) (DatasetAnswer, error) {
	a := DatasetAnswer{
		ID: row.ID, Title: row.Title, Description: row.Description, Status: row.Status, ObjectTypes: row.ObjectTypes, CRS: row.CRS,
		AreaKind: row.AreaKind, Formats: datasetFormats(row), RetentionDays: int(export.Retention / (24 * time.Hour)), Links: datasetLinks(datasetReader{named: named, access: datasets.DatasetAccess{Dataset: row}}),
	}
	var err error
	if a.Timeliness, err = m.timeliness(ctx, row); err != nil {
		return a, err
	}
	if a.Ended, err = m.ended(ctx, row); err != nil {
		return a, err
	}
	followers, err := m.Registry.Datasets.Followers(ctx, registry.ScopeOf(who.Partner.ID), row.ID)
	if err != nil {
		return a, err
	}
	if i := slices.IndexFunc(followers, func(f registry.DatasetFollower) bool { return named == "" || f.Subscription.ID == named }); i >= 0 {
		f := followers[i]
		a.Subscription = &datasetSubscriptionBrief{ID: f.Subscription.ID, Status: f.Subscription.Status, AreaID: f.Follower.Reading().AreaID}
	}
	access, err := m.Registry.Datasets.Access(ctx, who.Partner, row.ID, named)
	if refused, ok := errors.AsType[*registry.Error](err); ok && refused.Code == registry.CodeForbidden {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	return a, m.addDeliveries(ctx, newDatasetReader(who, access), &a)
}

// addDeliveries adds what only who may read the dataset sees.
func (m *handlers) addDeliveries(ctx context.Context, r datasetReader, a *DatasetAnswer) (err error) {
	if a.Lineage, err = m.Exporter.Lineage(ctx, r.view); err != nil && !errors.Is(err, export.ErrUnreadable) {
		return err // who cannot read its area still sees what there is
	}
	names, err := m.Exporter.Names(ctx, r.view)
	if err != nil {
		return err
	}
	last, err := lastDelta(ctx, m.DB, a.ID)
	if err != nil {
		return err
	}
	if a.Ended != nil {
		a.Ended.LastDeltaID = names.Of(a.Ended.LastDeltaID)
	}
	if last.Lineage == r.access.Dataset.Lineage { // one of a replaced history leads nowhere
		a.LatestDelta = &datasetDelta{names.Of(last.ID), last.Number, timeWindow{utc(last.FromAt), utc(last.ToAt)}}
	}
	snapshot, err := m.DB.LatestMutationSnapshot(ctx, a.ID)
	switch {
	case err == nil:
		a.Snapshot = &datasetSnapshot{snapshot.ID, names.Of(snapshot.DeltaID)}
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return nil
}

func datasetLinks(r datasetReader) map[string]HalLink {
	return map[string]HalLink{
		"self": {Href: r.path("")}, "deltas": {Href: r.path("/deltas")}, "latestSnapshot": {Href: r.path("/snapshots/latest")},
		"subscriptions": {Href: site.MutationsBase + "/subscriptions"},
	}
}
