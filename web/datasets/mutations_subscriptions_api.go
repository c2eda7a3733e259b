package datasets

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/export"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// maxAreaBytes bounds a request with an area: 100,000 vertices as GeoJSON.
const maxAreaBytes = 10 << 20

// DatasetSubscriptionAnswer is a subscription to a dataset as its partner sees it.
type DatasetSubscriptionAnswer struct {
	ID           string             `json:"id"`
	Dataset      string             `json:"dataset"`
	Name         string             `json:"name,omitempty"`
	EndpointID   string             `json:"endpointId"`
	ObjectTypes  []string           `json:"objectTypes"` // empty: all
	AreaID       string             `json:"areaId,omitempty"`
	Reads        *readsAnswer       `json:"reads,omitempty"` // while a change waits for approval
	Purpose      string             `json:"purpose"`
	Status       string             `json:"status"`
	StatusReason string             `json:"statusReason,omitempty"`
	Fetched      *fetchedAnswer     `json:"fetched,omitempty"`
	CreatedAt    store.Time         `json:"createdAt"`
	UpdatedAt    store.Time         `json:"updatedAt"`
	DecidedAt    store.Time         `json:"decidedAt,omitzero"`
	Links        map[string]HalLink `json:"_links"`
}

// readsAnswer describes the part that a subscription reads until a change of it is approved.
type readsAnswer struct {
	ObjectTypes []string `json:"objectTypes"` // empty: all
	AreaID      string   `json:"areaId,omitempty"`
}

// fetchedAnswer is the last that was fetched to its end.
type fetchedAnswer struct {
	DeltaID     string     `json:"deltaId"`
	DeltaNumber int64      `json:"deltaNumber"`
	SnapshotID  string     `json:"snapshotId,omitempty"`
	At          store.Time `json:"at"`
}

func (m *handlers) datasetSubscriptionAnswer(ctx context.Context, s store.Subscription) (DatasetSubscriptionAnswer, error) {
	f, err := m.DB.MutationFollower(ctx, s.ID)
	if err != nil {
		return DatasetSubscriptionAnswer{}, err
	}
	a := DatasetSubscriptionAnswer{
		ID: s.ID, Dataset: s.DatasetID, Name: s.Name, EndpointID: s.EndpointID, ObjectTypes: api.NotNil(f.ObjectTypes), AreaID: f.AreaID,
		Purpose: s.Purpose, Status: s.Status, StatusReason: i18n.Message(s.StatusReason).String(), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, DecidedAt: s.DecidedAt,
		Links: map[string]HalLink{"dataset": {Href: datasetPath(s.DatasetID)}},
	}
	if f.AreaID != "" {
		a.Links["area"] = HalLink{Href: datasetPath(s.DatasetID) + "/areas/" + f.AreaID}
	}
	reads := f.Reading()
	if f.Reads {
		a.Reads = &readsAnswer{api.NotNil(reads.ObjectTypes), reads.AreaID}
	}
	if f.FetchedAt.IsZero() {
		return a, nil
	}
	set, err := m.DB.Dataset(ctx, s.DatasetID)
	if err != nil {
		return a, fmt.Errorf("find dataset: %w", err)
	}
	names, err := m.Exporter.Names(ctx, export.View{Dataset: set, PartnerID: s.PartnerID, Follower: &reads})
	a.Fetched = &fetchedAnswer{names.Of(f.DeltaID), f.DeltaNumber, f.SnapshotID, f.FetchedAt}
	return a, err
}

// listDatasetSubscriptions lists the subscriptions of the caller's partner to datasets, newest first.
func (m *handlers) listDatasetSubscriptions(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "subscriptions", func(page store.Page) ([]DatasetSubscriptionAnswer, int, error) {
		status, err := site.APIChoice(c, "status", site.SubscriptionStatuses())
		if err != nil {
			return nil, 0, err
		}
		ctx := c.Request().Context()
		rows, total, err := m.Registry.Subscriptions.List(ctx, who.Scope(), store.SubscriptionFilter{
			OfDatasets: true, DatasetID: c.QueryParam("dataset"), Status: status, Page: page,
		})
		answers := make([]DatasetSubscriptionAnswer, len(rows))
		for i := 0; i < len(rows) && err == nil; i++ {
			answers[i], err = m.datasetSubscriptionAnswer(ctx, rows[i])
		}
		return answers, total, err
	})
}

// areaRequest bounds a subscription: WKT or GeoJSON, or keys. An absent one selects everything.
type areaRequest struct {
	Name string   `json:"name"`
	Text string   `json:"text"` // WKT, or GeoJSON as a text
	CRS  int64    `json:"crs"`  // of WKT
	Keys []string `json:"keys"`
}

func (a areaRequest) input() partners.AreaInput {
	return partners.AreaInput{Name: a.Name, Text: a.Text, CRS: a.CRS, Keys: a.Keys}
}

// datasetSubscriptionRequest asks for a dataset.
type datasetSubscriptionRequest struct {
	Dataset     string      `json:"dataset"`
	EndpointID  string      `json:"endpointId"`
	Name        string      `json:"name"`
	Purpose     string      `json:"purpose"`
	ObjectTypes []string    `json:"objectTypes"`
	Area        areaRequest `json:"area"`
}

// areaFields gives the fields of a refused area the names they have in our JSON; below is the pointer of the area.
func areaFields(err error, below string) error {
	for from, to := range map[string]string{"areaName": "name", "area": "text", "areaCrs": "crs", "keys": "keys"} {
		err = api.RenameField(err, from, strings.TrimPrefix(below+"/"+to, "/"))
	}
	return api.RenameField(err, "endpoint", "endpointId")
}

// postDatasetSubscription asks for a subscription to a dataset; it starts when an administrator approves it.
func (m *handlers) postDatasetSubscription(c echo.Context, who api.Caller) error {
	var in datasetSubscriptionRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	made, err := m.Registry.Subscriptions.RequestDataset(c.Request().Context(), who.Actor(), partners.DatasetRequest{
		Dataset: in.Dataset, EndpointID: in.EndpointID, Name: in.Name, Purpose: in.Purpose, ObjectTypes: in.ObjectTypes, Area: in.Area.input(),
	})
	if err != nil {
		return areaFields(err, "area")
	}
	answer, err := m.datasetSubscriptionAnswer(c.Request().Context(), made)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", site.MutationsBase+"/subscriptions/"+made.ID)
	return c.JSON(http.StatusCreated, answer)
}

// datasetSubscription finds the subscription of the address; another partner's, and one to event types, is 404.
func (m *handlers) datasetSubscription(c echo.Context) (api.Caller, store.Subscription, error) {
	who, err := m.Caller(c)
	if err != nil {
		return who, store.Subscription{}, err
	}
	s, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.Scope(), c.Param("subscriptionId"))
	if err == nil && s.DatasetID == "" {
		err = store.ErrNotFound
	}
	return who, s, err
}

// showDatasetSubscription answers one subscription, with how far its copy is.
func (m *handlers) showDatasetSubscription(c echo.Context) error {
	_, s, err := m.datasetSubscription(c)
	if err != nil {
		return err
	}
	answer, err := m.datasetSubscriptionAnswer(c.Request().Context(), s)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// deleteDatasetSubscription ends a subscription, or takes the request back. A second time it does nothing (IDEM-05).
func (m *handlers) deleteDatasetSubscription(c echo.Context) error {
	who, s, err := m.datasetSubscription(c)
	if err != nil {
		return err
	}
	if s.Status != store.SubscriptionEnded {
		if err := m.Registry.Subscriptions.End(c.Request().Context(), who.Actor(), s.ID, ""); err != nil {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// areaChangeRequest holds the new area and types of a subscription.
type areaChangeRequest struct {
	Name        string   `json:"name"`
	Text        string   `json:"text"`
	CRS         int64    `json:"crs"`
	Keys        []string `json:"keys"`
	ObjectTypes []string `json:"objectTypes"`
}

// putSubscriptionArea replaces the area and object types of a subscription. That waits for approval again, and starts a
// lineage of its own (MUT-49).
func (m *handlers) putSubscriptionArea(c echo.Context) error {
	who, s, err := m.datasetSubscription(c)
	if err != nil {
		return err
	}
	var in areaChangeRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	changed, err := m.Registry.Subscriptions.ChangeArea(c.Request().Context(), who.Actor(), s.ID, partners.AreaChange{
		Area: partners.AreaInput{Name: in.Name, Text: in.Text, CRS: in.CRS, Keys: in.Keys}, ObjectTypes: in.ObjectTypes,
	})
	if err != nil {
		return areaFields(err, "")
	}
	answer, err := m.datasetSubscriptionAnswer(c.Request().Context(), changed)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}
