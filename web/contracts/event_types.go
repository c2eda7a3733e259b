package contracts

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/api"
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
	return api.AnswerList(m.API, c, "eventTypes", func(page store.Page) ([]EventTypeAnswer, int, error) {
		found, err := m.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
		if err != nil {
			return nil, 0, err
		}
		found = site.SearchTypes(found, c.QueryParam("q"), "")
		shown := site.OnPage(found, page)
		lines, err := m.Registry.EventTypes.LinesOf(c.Request().Context(), site.TypeNames(shown)...)
		return api.Each(shown, func(t store.EventType) EventTypeAnswer { return m.newEventTypeAnswer(t, lines[t.Name]) }), len(found), err
	})
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

// eventTypesPage is the catalogue as its reader may see it.
func (p *pages) eventTypesPage(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	all, err := p.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	v := view.EventTypeListView{Search: site.Clean(c.QueryParam("q")), Status: site.PageChoice(c, "status", []string{store.VersionPublished, store.VersionDeprecated})}
	found := site.SearchTypes(all, v.Search, v.Status)
	paging := site.PagePaging(c)
	v.Total, v.Pager = len(found), site.Pager(c, paging, len(found))
	ctx := c.Request().Context()
	for _, t := range site.OnPage(found, paging) {
		v.Rows = append(v.Rows, view.EventTypeRow{
			Name: t.Name, Href: site.EventTypeHref(t.Name), Title: site.TypeTitle(ctx, t), State: t.Status,
			Contract: t.ContractID, ContractHref: site.ContractHref(t.ContractID), Version: t.ContractVersion,
		})
	}
	page := p.Page(c, i18n.T(ctx, "contracts.word.event-types"))
	page.Lead = i18n.T(ctx, "contracts.type.lead")
	return p.Render(c, http.StatusOK, view.EventTypeListPage(page, v))
}

// eventTypePage shows one event type with its contract and an example.
func (p *pages) eventTypePage(c echo.Context) error {
	return p.showEventType(c, http.StatusOK, &view.EventCheckView{})
}

// showEventType shows an event type, and what came of trying an event.
func (p *pages) showEventType(c echo.Context, status int, check *view.EventCheckView) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, err := p.Registry.EventTypes.Get(ctx, reader, c.Param("name"))
	if err != nil {
		return err
	}
	contract, err := p.DB.Contract(ctx, t.ContractID)
	if err != nil {
		return err
	}
	v := view.EventTypeView{
		Name: t.Name, Title: site.TypeTitle(ctx, t), Summary: t.Summary, Description: paragraphs(t.Description), State: t.Status,
		ContentType: t.ContentType, Message: t.MessageName, Contract: contract.Title, ContractHref: site.ContractHref(t.ContractID),
		Version: t.ContractVersion, VersionHref: site.ContractHref(t.ContractID) + "/versions/" + url.PathEscape(t.ContractVersion),
		Example: site.ReadableJSON(ctx, exampleText(t)), Schema: site.ReadableJSON(ctx, t.DataSchema),
	}
	lines, err := p.Registry.EventTypes.LinesOf(ctx, t.Name)
	if err != nil {
		return err
	}
	v.Versions = p.typeVersionRows(ctx, lines[t.Name])
	if v.Uses, err = p.typeUses(ctx, c, reader, t.Name); err != nil {
		return err
	}
	subscribe := askFor(t.Name)
	switch account := p.CurrentAccount(c); {
	case account == nil:
		v.LogIn = "/login?next=" + url.QueryEscape(subscribe)
	case account.Role == store.RoleManager:
		v.Subscribe = subscribe
	}
	if p.CurrentAccount(c) != nil {
		check.Action = site.EventTypeHref(t.Name)
		v.Check = check
		if err := p.fillCheck(ctx, check, t.Name, lines[t.Name]); err != nil {
			return err
		}
	}
	page := p.Page(c, t.Name)
	page.Invalid = check.Error != ""
	page.Lead, page.Badge = site.TypeTitle(ctx, t), ui.State(t.Status)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "contracts.word.event-types"), Href: "/event-types"}, ui.Crumb{Label: t.Name})
	return p.Render(c, status, view.EventTypePage(page, v))
}

// paragraphs cuts a description at its empty lines; Markdown in it stays text.
func paragraphs(text string) []string {
	var list []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// exampleText is the example of an event type as it goes over the wire: of data that is no JSON, such as XML, the text and not its JSON string.
func exampleText(t store.EventType) string {
	media, _, _ := mime.ParseMediaType(t.ContentType)
	var text string
	if media == "" || media == "application/json" || strings.HasSuffix(media, "+json") || json.Unmarshal([]byte(t.Example), &text) != nil {
		return t.Example
	}
	return text
}
