package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/export"
	"schakel/registry/partners"
	"schakel/store"
)

// maxAreaBytes bounds a request with an area: 100,000 vertices as GeoJSON.
const maxAreaBytes = 10 << 20

// datasetSubscriptionAnswer is a subscription to a dataset as its partner sees it.
type datasetSubscriptionAnswer struct {
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
	Links        map[string]halLink `json:"_links"`
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

func (m *machineAPI) datasetSubscriptionAnswer(ctx context.Context, s store.Subscription) (datasetSubscriptionAnswer, error) {
	f, err := m.DB.MutationFollower(ctx, s.ID)
	if err != nil {
		return datasetSubscriptionAnswer{}, err
	}
	a := datasetSubscriptionAnswer{
		ID: s.ID, Dataset: s.DatasetID, Name: s.Name, EndpointID: s.EndpointID, ObjectTypes: notNil(f.ObjectTypes), AreaID: f.AreaID,
		Purpose: s.Purpose, Status: s.Status, StatusReason: s.StatusReason, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, DecidedAt: s.DecidedAt,
		Links: map[string]halLink{"dataset": {Href: datasetPath(s.DatasetID)}},
	}
	if f.AreaID != "" {
		a.Links["area"] = halLink{Href: datasetPath(s.DatasetID) + "/areas/" + f.AreaID}
	}
	reads := f.Reading()
	if f.Reads {
		a.Reads = &readsAnswer{notNil(reads.ObjectTypes), reads.AreaID}
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
func (m *machineAPI) listDatasetSubscriptions(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	paging, err := apiPaging(c)
	if err != nil {
		return err
	}
	status, err := apiChoice(c, "status", subscriptionStatuses())
	if err != nil {
		return err
	}
	rows, total, err := m.Registry.Subscriptions.List(c.Request().Context(), who.scope(), store.SubscriptionFilter{
		OfDatasets: true, DatasetID: c.QueryParam("dataset"), Status: status, Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	})
	if err != nil {
		return err
	}
	answers := make([]datasetSubscriptionAnswer, len(rows))
	for i, s := range rows {
		if answers[i], err = m.datasetSubscriptionAnswer(c.Request().Context(), s); err != nil {
			return err
		}
	}
	m.app.setPagingHeaders(c, paging, total)
	return c.JSON(http.StatusOK, map[string]any{"subscriptions": answers})
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
		err = renameField(err, from, strings.TrimPrefix(below+"/"+to, "/"))
	}
	return renameField(err, "endpoint", "endpointId")
}

// postDatasetSubscription asks for a subscription to a dataset; it starts when an administrator approves it.
func (m *machineAPI) postDatasetSubscription(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	var in datasetSubscriptionRequest
	if err := readJSON(c, &in); err != nil {
		return err
	}
	made, err := m.Registry.Subscriptions.RequestDataset(c.Request().Context(), who.actor(), partners.DatasetRequest{
		Dataset: in.Dataset, EndpointID: in.EndpointID, Name: in.Name, Purpose: in.Purpose, ObjectTypes: in.ObjectTypes, Area: in.Area.input(),
	})
	if err != nil {
		return areaFields(err, "area")
	}
	answer, err := m.datasetSubscriptionAnswer(c.Request().Context(), made)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", mutationsBase+"/subscriptions/"+made.ID)
	return c.JSON(http.StatusCreated, answer)
}

// datasetSubscription finds the subscription of the address; another partner's, and one to event types, is 404.
func (m *machineAPI) datasetSubscription(c echo.Context) (caller, store.Subscription, error) {
	who, err := m.caller(c)
	if err != nil {
		return who, store.Subscription{}, err
	}
	s, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.scope(), c.Param("subscriptionId"))
	if err == nil && s.DatasetID == "" {
		err = store.ErrNotFound
	}
	return who, s, err
}

// showDatasetSubscription answers one subscription, with how far its copy is.
func (m *machineAPI) showDatasetSubscription(c echo.Context) error {
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
func (m *machineAPI) deleteDatasetSubscription(c echo.Context) error {
	who, s, err := m.datasetSubscription(c)
	if err != nil {
		return err
	}
	if s.Status != store.SubscriptionEnded {
		if err := m.Registry.Subscriptions.End(c.Request().Context(), who.actor(), s.ID, ""); err != nil {
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
func (m *machineAPI) putSubscriptionArea(c echo.Context) error {
	who, s, err := m.datasetSubscription(c)
	if err != nil {
		return err
	}
	var in areaChangeRequest
	if err := readJSON(c, &in); err != nil {
		return err
	}
	changed, err := m.Registry.Subscriptions.ChangeArea(c.Request().Context(), who.actor(), s.ID, partners.AreaChange{
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
