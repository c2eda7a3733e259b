package site

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/ui"
)

// Bounds of a list: how many rows a page holds, and the last page that can be asked for.
const (
	DefaultPerPage = 25
	maxPerPage     = 100
	MaxPage        = 1_000_000
)

// Paging is the part of a list that was asked for; pages count from 1.
type Paging struct {
	Page, PerPage int
}

// Offset is the number of rows before the page.
func (p Paging) Offset() int { return (p.Page - 1) * p.PerPage }

// Limit is the most rows on the page.
func (p Paging) Limit() int { return p.PerPage }

// APIPaging reads page and perPage; wrong values are a 400 (NL API Design Rules).
func APIPaging(c echo.Context) (Paging, error) {
	page, err := WholeNumber(c, "page", 1, MaxPage)
	if err != nil {
		return Paging{}, err
	}
	perPage, err := WholeNumber(c, "perPage", DefaultPerPage, maxPerPage)
	if err != nil {
		return Paging{}, err
	}
	return Paging{page, perPage}, nil
}

// PagePaging reads page and perPage for the portal; wrong values become the default.
func PagePaging(c echo.Context) Paging {
	p := Paging{1, DefaultPerPage}
	if n, err := WholeNumber(c, "page", 1, MaxPage); err == nil {
		p.Page = n
	}
	if n, err := WholeNumber(c, "perPage", DefaultPerPage, maxPerPage); err == nil {
		p.PerPage = n
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
		return 0, echo.NewHTTPError(http.StatusBadRequest, fmt.Sprintf("%s must be a whole number from 1 to %d.", name, most))
	}
	return n, nil
}

// SetPagingHeaders sets Link (first, prev, next, last) and Total-Count. The links
// keep the other query keys.
func (a *App) SetPagingHeaders(c echo.Context, p Paging, total int) {
	a.setLinks(c, p, max(1, (total+p.PerPage-1)/p.PerPage), true)
	c.Response().Header().Set("Total-Count", strconv.Itoa(total))
}

// setLongPagingHeaders is setPagingHeaders for a list that is not counted beyond
// store.ListBound: then it omits the total and the last page. rows counts those
// on this page; after a full one comes another.
func (a *App) setLongPagingHeaders(c echo.Context, p Paging, total, rows int) {
	if total <= store.ListBound {
		a.SetPagingHeaders(c, p, total)
		return
	}
	last := p.Page
	if rows == p.PerPage {
		last++
	}
	a.setLinks(c, p, last, false)
}

func (a *App) setLinks(c echo.Context, p Paging, last int, known bool) {
	var links []string
	add := func(rel string, page int) {
		links = append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", strconv.Itoa(page))), rel))
	}
	add("first", 1)
	if p.Page > 1 {
		add("prev", min(p.Page-1, last))
	}
	if p.Page < last {
		add("next", p.Page+1)
	}
	if known {
		add("last", last)
	}
	c.Response().Header().Set("Link", strings.Join(links, ", "))
}

// OlderThan is the delivery behind which the list goes on after this page, when page numbers do not lead there: they count to
// store.ListBound, and a search stops at store.SearchBound. It is empty when they do, or when this is the end.
func OlderThan(p Paging, l store.DeliveryList) string {
	switch {
	case l.Total > store.ListBound && p.Offset()+p.PerPage >= store.ListBound && len(l.Rows) == p.PerPage:
		return l.Rows[len(l.Rows)-1].ID
	case p.Offset()+p.PerPage >= l.Total:
		return l.Older
	}
	return ""
}

// WithBefore is the first page of the part of a list that is older than a delivery.
func WithBefore(u *url.URL, before string) string {
	q := u.Query()
	q.Set("before", before)
	q.Del("page")
	return u.EscapedPath() + "?" + q.Encode()
}

// SetDeliveryPaging sets Link, and Total-Count when the list was counted to its end.
func (a *App) SetDeliveryPaging(c echo.Context, p Paging, l store.DeliveryList) {
	before := OlderThan(p, l)
	if before == "" && l.Older == "" {
		a.setLongPagingHeaders(c, p, l.Total, len(l.Rows))
		return
	}
	next := WithBefore(c.Request().URL, before)
	if before == "" {
		next = WithQuery(c.Request().URL, "page", strconv.Itoa(p.Page+1))
	}
	links := []string{fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", "1")), "first")}
	if p.Page > 1 {
		links = append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(WithQuery(c.Request().URL, "page", strconv.Itoa(p.Page-1))), "prev"))
	}
	c.Response().Header().Set("Link", strings.Join(append(links, fmt.Sprintf("<%s>; rel=%q", a.Absolute(next), "next")), ", "))
}

// Pager makes the pager below a list in the portal.
func Pager(c echo.Context, p Paging, total int) *ui.Pager {
	here := *c.Request().URL
	return &ui.Pager{
		Page: p.Page, PerPage: p.PerPage, Total: total,
		URL: func(page int) string { return WithQuery(&here, "page", strconv.Itoa(page)) },
	}
}

// LongPager is pager for a list that is not counted beyond store.ListBound.
func LongPager(c echo.Context, p Paging, total int) *ui.Pager {
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
