package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Bounds of a saved filter, in bytes of its query and characters of its name.
const (
	MaxSavedQuery = 4000
	MaxSavedName  = 60
)

// notFiltered is the query of a list that asks for no filter, not even the one that it opens with.
const notFiltered = "filter=none"

// FilteredLists are the lists of which filters can be saved, by path. Those that are false open with no filter of their own: the menu counts
// what they list.
func FilteredLists() map[string]bool {
	return map[string]bool{
		"/admin/errors": false, "/admin/dead-letters": false, "/admin/deliveries": true, "/admin/issues": true, "/admin/audit": true, "/admin/amqp/messages": true,
		"/partner/audit": true, "/partner/deliveries": true, "/partner/issues": true, "/partner/amqp/messages": true,
	}
}

// SavedQuery keeps of the query of a list its filter alone.
func SavedQuery(values url.Values) string {
	kept := url.Values{}
	for name, list := range values {
		if !slices.Contains([]string{"page", "perPage", "before", "filter", "format"}, name) && len(list) > 0 && list[0] != "" {
			kept[name] = list[:1]
		}
	}
	if len(kept) == 1 && kept.Has("zone") { // of moments that were not typed
		return ""
	}
	return kept.Encode()
}

// SavedFilters shows the saved filters of a list to the reader. It returns the address to go to instead when the list was asked for without a
// filter and the reader has it open with one; "" to stay.
func (p *Portal) SavedFilters(c echo.Context, path string) (v ui.SavedFiltersView, redirect string, err error) {
	rows, err := p.DB.SavedFilters(c.Request().Context(), AccountOf(c).ID, path)
	if err != nil {
		return v, "", err
	}
	v = ui.SavedFiltersView{List: path, Query: SavedQuery(c.QueryParams()), All: path, CanPreset: FilteredLists()[path]}
	for _, f := range rows {
		preset := f.Preset && v.CanPreset
		if preset {
			v.All = path + "?" + notFiltered
			if c.Request().URL.RawQuery == "" {
				redirect = path + "?" + f.Query
			}
		}
		v.Rows = append(v.Rows, ui.SavedFilter{ID: f.ID, Name: f.Name, Href: path + "?" + f.Query, Current: f.Query == v.Query, Preset: preset})
	}
	return v, redirect, nil
}

// Elsewhere ends a request with an error, or leads to another address.
func Elsewhere(c echo.Context, address string, err error) error {
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, address)
}

// CanSave reports whether a filter can be saved under a name that will do.
func CanSave(f store.SavedFilter) bool {
	_, known := FilteredLists()[f.List]
	return known && f.Query != "" && len(f.Query) <= MaxSavedQuery
}

// ReadSavedFilter reads a filter to save; wrong explains why it cannot be saved.
func ReadSavedFilter(form Form) (f store.SavedFilter, wrong i18n.Message) {
	f = store.SavedFilter{List: form.Get("list"), Name: strings.Join(strings.Fields(form.Get("name")), " ")}
	can, known := FilteredLists()[f.List]
	values, err := url.ParseQuery(form.Get("query"))
	f.Query, f.Preset = SavedQuery(values), can && form.Get("preset") != ""
	switch {
	case err != nil:
		f.Query = ""
		return f, "site.saved-bad"
	case !known || len(f.Query) > MaxSavedQuery:
		return f, "site.saved-bad"
	case f.Query == "":
		return f, "site.saved-empty"
	case f.Name == "":
		return f, "site.saved-nameless"
	case utf8.RuneCountInString(f.Name) > MaxSavedName:
		return f, i18n.M("site.saved-long", MaxSavedName)
	}
	return f, ""
}
