package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
)

// maxShownJSON bounds an example or schema on a page, in bytes.
const maxShownJSON = 64 << 10

// eventTypesPage is the catalogue as its reader may see it.
func (p *portal) eventTypesPage(c echo.Context) error {
	reader, err := p.reader(c)
	if err != nil {
		return err
	}
	all, err := p.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	v := view.EventTypeListView{Search: clean(c.QueryParam("q")), Status: pageChoice(c, "status", []string{store.VersionPublished, store.VersionDeprecated})}
	found := searchTypes(all, v.Search, v.Status)
	paging := pagePaging(c)
	v.Total, v.Pager = len(found), pager(c, paging, len(found))
	for _, t := range slicePage(found, paging) {
		v.Rows = append(v.Rows, view.EventTypeRow{
			Name: t.Name, Href: eventTypeHref(t.Name), Title: t.Title, State: t.Status,
			Contract: t.ContractID, ContractHref: contractHref(t.ContractID), Version: t.ContractVersion,
		})
	}
	page := p.page(c, "Event types")
	page.Lead = "What you can be told about. Each event type is defined by a contract."
	return p.render(c, http.StatusOK, view.EventTypeListPage(page, v))
}

// eventTypePage shows one event type with its contract and an example.
func (p *portal) eventTypePage(c echo.Context) error {
	return p.showEventType(c, http.StatusOK, &view.EventCheckView{})
}

// showEventType shows an event type, and what came of trying an event.
func (p *portal) showEventType(c echo.Context, status int, check *view.EventCheckView) error {
	reader, err := p.reader(c)
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
		Name: t.Name, Title: t.Title, Summary: t.Summary, Description: paragraphs(t.Description), State: t.Status,
		ContentType: t.ContentType, Message: t.MessageName, Contract: contract.Title, ContractHref: contractHref(t.ContractID),
		Version: t.ContractVersion, VersionHref: contractHref(t.ContractID) + "/versions/" + url.PathEscape(t.ContractVersion),
		Example: readableJSON(t.Example), Schema: readableJSON(t.DataSchema),
	}
	lines, err := p.Registry.EventTypes.LinesOf(ctx, t.Name)
	if err != nil {
		return err
	}
	v.Versions = p.typeVersionRows(lines[t.Name])
	if v.Uses, err = p.typeUses(ctx, c, reader, t.Name); err != nil {
		return err
	}
	subscribe := "/partner/subscriptions/new?types=" + url.QueryEscape(t.Name)
	switch account := p.currentAccount(c); {
	case account == nil:
		v.LogIn = "/login?next=" + url.QueryEscape(subscribe)
	case account.Role == store.RolePartner:
		v.Subscribe = subscribe
	}
	if p.currentAccount(c) != nil {
		check.Action = eventTypeHref(t.Name)
		v.Check = check
		if err := p.fillCheck(check, t.Name, lines[t.Name]); err != nil {
			return err
		}
	}
	page := p.page(c, t.Name)
	page.Invalid = check.Error != ""
	page.Lead, page.Badge = t.Title, ui.State(t.Status)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Event types", Href: "/event-types"}, ui.Crumb{Label: t.Name})
	return p.render(c, status, view.EventTypePage(page, v))
}

// searchTypes keeps the event types that hold all words of a search.
func searchTypes(all []store.EventType, search, status string) []store.EventType {
	words := strings.Fields(strings.ToLower(search))
	var found []store.EventType
	for _, t := range all {
		text := strings.ToLower(t.Name + " " + t.Title + " " + t.Summary + " " + t.ContractID)
		if (status == "" || t.Status == status) && containsAll(text, words) {
			found = append(found, t)
		}
	}
	return found
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func eventTypeHref(name string) string { return "/event-types/" + url.PathEscape(name) }

func contractHref(id string) string { return "/contracts/" + url.PathEscape(id) }

// prettyJSON indents JSON for reading; what is not JSON is shown as it is.
func readableJSON(text string) string {
	var b bytes.Buffer
	if len(text) <= maxShownJSON && shallow(text) && json.Indent(&b, []byte(text), "", "  ") == nil {
		text = b.String()
	}
	if len(text) <= maxShownJSON {
		return text
	}
	cut := maxShownJSON
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "\n… (the rest is in the contract)"
}

// shallow reports whether indenting stays in proportion: a row of ten thousand
// brackets would become a text of hundreds of megabytes.
func shallow(text string) bool {
	depth := 0
	for _, b := range []byte(text) {
		switch b {
		case '{', '[':
			if depth++; depth > 100 {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
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
