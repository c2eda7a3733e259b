package contracts

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

// EventTypeAnswer is an event type with the contract version that defines it (CE-15).
type EventTypeAnswer struct {
	Name            string `json:"name"`
	Title           string `json:"title,omitempty"`
	Summary         string `json:"summary,omitempty"`
	Description     string `json:"description,omitempty"`
	Status          string `json:"status"`
	ContractID      string `json:"contractId"`
	ContractVersion string `json:"contractVersion"`
	ContractURL     string `json:"contractUrl"`
	// Versions are all in which it can be used, those of the line that a new subscription gets first (EDU-08).
	Versions    []eventTypeVersion `json:"versions"`
	ContentType string             `json:"contentType,omitempty"`
	DataSchema  json.RawMessage    `json:"dataSchema,omitempty"`
	Example     json.RawMessage    `json:"example,omitempty"`
}

// eventTypeVersion is a version in which an event type can be used.
type eventTypeVersion struct {
	Line            string `json:"line"`
	ContractVersion string `json:"contractVersion"`
	Status          string `json:"status"`
	ContractURL     string `json:"contractUrl"`
}

func (m *handlers) newEventTypeAnswer(t store.EventType, lines []registry.VersionLineOf) EventTypeAnswer {
	versions := []eventTypeVersion{}
	for _, line := range lines {
		for _, v := range line.Versions {
			versions = append(versions, eventTypeVersion{line.Line, v.ContractVersion, v.Status, m.App.Absolute(versionPath(v.ContractID, v.ContractVersion))})
		}
	}
	return EventTypeAnswer{
		Versions: versions,
		Name:     t.Name, Title: t.Title, Summary: t.Summary, Description: t.Description, Status: t.Status,
		ContractID: t.ContractID, ContractVersion: t.ContractVersion,
		ContractURL: m.App.Absolute(versionPath(t.ContractID, t.ContractVersion)),
		ContentType: t.ContentType, DataSchema: rawJSON(t.DataSchema), Example: rawJSON(t.Example),
	}
}

// rawJSON passes stored JSON on, and leaves out what is none.
func rawJSON(text string) json.RawMessage {
	if text == "" || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// listEventTypes lists the catalogue as the caller's partner sees it.
func (m *handlers) listEventTypes(c echo.Context) error {
	reader, err := m.callerReader(c)
	if err != nil {
		return err
	}
	paging, err := site.APIPaging(c)
	if err != nil {
		return err
	}
	rows, err := m.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	wanted := strings.ToLower(c.QueryParam("q"))
	var found []store.EventType
	for _, t := range rows {
		if strings.Contains(strings.ToLower(t.Name+" "+t.Title), wanted) {
			found = append(found, t)
		}
	}
	m.App.SetPagingHeaders(c, paging, len(found))
	shown := site.OnPage(found, paging)
	lines, err := m.Registry.EventTypes.LinesOf(c.Request().Context(), site.TypeNames(shown)...)
	if err != nil {
		return err
	}
	answer := []EventTypeAnswer{}
	for _, t := range shown {
		answer = append(answer, m.newEventTypeAnswer(t, lines[t.Name]))
	}
	return c.JSON(http.StatusOK, map[string]any{"eventTypes": answer})
}

// showEventType answers one event type.
func (m *handlers) showEventType(c echo.Context) error {
	reader, err := m.callerReader(c)
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return store.ErrNotFound
	}
	found, err := m.Registry.EventTypes.Get(c.Request().Context(), reader, name)
	if err != nil {
		return err
	}
	lines, err := m.Registry.EventTypes.LinesOf(c.Request().Context(), found.Name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, m.newEventTypeAnswer(found, lines[found.Name]))
}

// callerReader returns the caller's partner as a reader of the register.
func (m *handlers) callerReader(c echo.Context) (registry.Reader, error) {
	who, err := m.Caller(c)
	if err != nil {
		return registry.Reader{}, err
	}
	return m.Registry.Contracts.Reader(c.Request().Context(), who.Actor())
}
