package site

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Bounds of a list: how many rows a page holds, and the last page that can be asked for.
const (
	DefaultPerPage = 25
	maxPerPage     = 100
	MaxPage        = 1_000_000
)

// APIPaging reads page and perPage; wrong values are a 400 (NL API Design Rules).
func APIPaging(c echo.Context) (store.Page, error) {
	page, err := WholeNumber(c, "page", 1, MaxPage)
	if err != nil {
		return store.Page{}, err
	}
	perPage, err := WholeNumber(c, "perPage", DefaultPerPage, maxPerPage)
	if err != nil {
		return store.Page{}, err
	}
	return store.Page{Number: page, Size: perPage}, nil
}

// PagePaging reads page and perPage for the portal; wrong values become the default.
func PagePaging(c echo.Context) store.Page {
	p := store.Page{Number: 1, Size: DefaultPerPage}
	if n, err := WholeNumber(c, "page", 1, MaxPage); err == nil {
		p.Number = n
	}
	if n, err := WholeNumber(c, "perPage", DefaultPerPage, maxPerPage); err == nil {
		p.Size = n
	}
	return p
}

// WholeNumber reads a whole number from 1 to most from a query; otherwise when it is not there, a 400 when it is something else.
func WholeNumber(c echo.Context, name string, otherwise, most int) (int, error) {
	raw := c.QueryParam(name)
	if raw == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > most {
		return 0, echo.NewHTTPError(http.StatusBadRequest, i18n.M("site.query-number", name, most))
	}
	return n, nil
}

// SetPagingHeaders sets Link (first, prev, next, last) and Total-Count. The links
// keep the other query keys.
func (a *App) SetPagingHeaders(c echo.Context, p store.Page, total int) {
	a.setLinks(c, p, max(1, (total+p.Size-1)/p.Size), true)
	c.Response().Header().Set("Total-Count", strconv.Itoa(total))
}

// setLongPagingHeaders is setPagingHeaders for a list that is not counted beyond
// store.ListBound: then it omits the total and the last page. rows counts those
// on this page; after a full one comes another.
func (a *App) setLongPagingHeaders(c echo.Context, p store.Page, total, rows int) {
	if total <= store.ListBound {
		a.SetPagingHeaders(c, p, total)
		return
	}
	last := p.Number
	if rows == p.Size {
		last++
	}
	a.setLinks(c, p, last, false)
}

func (a *App) setLinks(c echo.Context, p store.Page, last int, known bool) {
	var links []string
	add := func(rel string, page int) {
		links = append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", strconv.Itoa(page))), rel))
	}
	add("first", 1)
	if p.Number > 1 {
		add("prev", min(p.Number-1, last))
	}
	if p.Number < last {
		add("next", p.Number+1)
	}
	if known {
		add("last", last)
	}
	c.Response().Header().Set("Link", strings.Join(links, ", "))
}

// OlderThan is the delivery behind which the list goes on after this page, when page numbers do not lead there: they count to
// store.ListBound, and a search stops at store.SearchBound. It is empty when they do, or when this is the end.
func OlderThan(p store.Page, l store.DeliveryList) string {
	switch {
	case l.Total > store.ListBound && offset(p)+p.Size >= store.ListBound && len(l.Rows) == p.Size:
		return l.Next()
	case offset(p)+p.Size >= l.Total:
		return l.Older
	}
	return ""
}

// Counted is the total of a table and its bound, for a list that counted so many and goes on before older.
func Counted(total int, older string) (shown, most int) {
	if older != "" && total > 0 && total < store.ListBound {
		return total + 1, total
	}
	return total, store.ListBound
}

// WithBefore is the first page of the part of a list that is older than a delivery or event.
func WithBefore(u *url.URL, before string) string {
	q := u.Query()
	q.Set("before", before)
	q.Del("page")
	return u.EscapedPath() + "?" + q.Encode()
}

// SetDeliveryPaging sets Link, and Total-Count when the list was counted to its end.
func (a *App) SetDeliveryPaging(c echo.Context, p store.Page, l store.DeliveryList) {
	before := OlderThan(p, l)
	if before == "" && l.Older == "" {
		a.setLongPagingHeaders(c, p, l.Total, len(l.Rows))
		return
	}
	next := WithBefore(c.Request().URL, before)
	if before == "" {
		next = WithQuery(c.Request().URL, "page", strconv.Itoa(p.Number+1))
	}
	links := []string{fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", "1")), "first")}
	if p.Number > 1 {
		links = append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", strconv.Itoa(p.Number-1))), "prev"))
	}
	c.Response().Header().Set("Link", strings.Join(append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(next), "next")), ", "))
}

// Pager makes the pager below a list in the portal.
func Pager(c echo.Context, p store.Page, total int) *ui.Pager {
	here := *c.Request().URL
	return &ui.Pager{
		Page: p.Number, PerPage: p.Size, Total: total,
		URL: func(page int) string { return WithQuery(&here, "page", strconv.Itoa(page)) },
	}
}

// LongPager is pager for a list that is not counted beyond store.ListBound.
func LongPager(c echo.Context, p store.Page, total int) *ui.Pager {
	list := Pager(c, p, min(total, store.ListBound))
	list.More = total > store.ListBound
	return list
}

// WithQuery is the path and query of u with one key set.
func WithQuery(u *url.URL, name, value string) string {
	q := u.Query()
	q.Set(name, value)
	return u.EscapedPath() + "?" + q.Encode()
}

// offset is the number of rows before a page.
func offset(p store.Page) int { return (p.Number - 1) * p.Size }

// OnPage is the part of a list that is on a page of it.
func OnPage[T any](rows []T, p store.Page) []T {
	from := min(offset(p), len(rows))
	return rows[from:min(from+p.Size, len(rows))]
}

// APIChoice reads a query key of an API that takes a few words; another word is a 400 that names them. Empty when it is
// not there.
func APIChoice(c echo.Context, name string, words []string) (string, error) {
	value := c.QueryParam(name)
	if value == "" || slices.Contains(words, value) {
		return value, nil
	}
	last := len(words) - 1
	return "", FieldProblem(name, i18n.M("site.query-choice", name, strings.Join(words[:last], ", "), words[last]))
}

// PageChoice reads a query key of a page that takes a few words. Another word narrows nothing, so that a list shows all
// and not none under a filter that cannot be seen.
func PageChoice(c echo.Context, name string, words []string) string {
	value := Clean(c.QueryParam(name))
	if slices.Contains(words, value) {
		return value
	}
	return ""
}

// SubscriptionStatuses lists the states of a subscription that a list can be filtered by.
func SubscriptionStatuses() []string {
	return []string{
		store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended,
		store.SubscriptionEnded, store.SubscriptionRejected,
	}
}

// EndpointStatuses lists the states of an endpoint that a list can be filtered by.
func EndpointStatuses() []string {
	return []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}
}

// PartnerStatuses lists the states of a partner that a list can be filtered by.
func PartnerStatuses() []string {
	return []string{store.PartnerRequested, store.PartnerApproved, store.PartnerSuspended, store.PartnerEnded, store.PartnerRejected}
}

// ContractKinds lists the kinds of contracts.
func ContractKinds() []string { return []string{"openapi", "asyncapi"} }

// QuarantineStatuses lists the states of a quarantined message.
func QuarantineStatuses() []string {
	return []string{store.QuarantineOpen, store.QuarantineReleased, store.QuarantineDiscarded}
}
