package contracts

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts/outline"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/web/site"
)

// Bounds of what is on a page: a document beyond the first two is read a page for each group, which are split beyond the third.
const (
	maxWholeEntries = 40
	maxWholeBytes   = 50_000
	entriesPerPage  = 10
	maxGroupsShown  = 300
)

// reading draws one page of a document.
type reading struct {
	ctx         context.Context
	o           *outline.Outline
	here, since string
	pages       [][2]int // the entries of each page, from and behind
	page        int
	changes     *readingChanges
}

// ReadingView builds the reading view of a document from its bytes.
func ReadingView(c echo.Context, about store.Contract, version store.ContractVersion, content []byte) (view.ReadingView, error) {
	o, err := outlineOf(content)
	if err != nil {
		return view.ReadingView{}, err
	}
	return readingView(c, about, version, o, &readingSince{}), nil
}

func readingView(c echo.Context, about store.Contract, version store.ContractVersion, o *outline.Outline, since *readingSince) view.ReadingView {
	here := site.ContractVersionHref(about.ID, version.Version)
	r := &reading{ctx: c.Request().Context(), o: o, here: here + "/reading", since: since.version}
	v := view.ReadingView{VersionHref: here, Action: r.here, Version: version.Version, Search: site.Clean(c.QueryParam("q")), Since: r.since, Message: since.message}
	r.split()
	r.choose(c)
	v.Hits = r.hits(v.Search)
	if v.HitsOnly = c.QueryParam("hits") != ""; v.HitsOnly {
		return v
	}
	shown := r.pages[r.page]
	var entries []int
	for i := shown[0]; i < shown[1]; i++ {
		entries = append(entries, i)
	}
	details := o.Page(entries)
	r.compare(since, entries, details)
	for i, d := range details {
		v.Groups = r.add(v.Groups, entries[i], d)
	}
	v.Groups = r.lost(v.Groups)
	if r.page == 0 {
		v.Text, v.Facts = o.Text, r.facts(o.Facts)
		v.Servers, v.Security = r.named(o.Servers), r.named(o.Security)
	}
	v.Total, v.Heavy = len(o.Entries), r.heavy()
	v.Contents = r.contents()
	v.Previous, v.Next = r.near(-1), r.near(1)
	v.Changes = r.summary(since)
	return v
}

// split divides the document into pages: one when it is small, else at least one for each group.
func (r *reading) split() {
	n := len(r.o.Entries)
	if n <= maxWholeEntries && r.o.Size() <= maxWholeBytes {
		r.pages = [][2]int{{0, n}}
		return
	}
	for _, g := range r.o.Groups {
		for from := g.From; from < g.To; from += entriesPerPage {
			r.pages = append(r.pages, [2]int{from, min(from+entriesPerPage, g.To)})
		}
	}
	if len(r.pages) == 0 {
		r.pages = [][2]int{{0, 0}}
	}
}

func (r *reading) heavy() bool { return len(r.pages) > 1 }

// choose finds the page that was asked for: by its number, or by the anchor of a part that it shows.
func (r *reading) choose(c echo.Context) {
	if part := c.QueryParam("part"); part != "" {
		if i, ok := r.o.Named(part); ok {
			r.page = r.pageOf(i)
		}
		return
	}
	r.page = min(site.PagePaging(c).Number, len(r.pages)) - 1
}

func (r *reading) pageOf(entry int) int {
	for i, p := range r.pages {
		if entry >= p[0] && entry < p[1] {
			return i
		}
	}
	return 0
}

// shows reports whether an entry is on this page.
func (r *reading) shows(entry int) bool {
	return entry >= r.pages[r.page][0] && entry < r.pages[r.page][1]
}

// href leads to an anchor in an entry, wherever that is shown.
func (r *reading) href(entry int, anchor string) string {
	if r.shows(entry) && !r.heavy() {
		return "#" + anchor
	}
	return r.link(r.o.Entries[entry].Anchor) + "#" + anchor
}

// link is the page with a part, at an address that stays the same.
func (r *reading) link(part string) string {
	query := url.Values{}
	if r.since != "" {
		query.Set("since", r.since)
	}
	if part != "" && r.heavy() {
		query.Set("part", part)
	}
	if len(query) == 0 {
		return r.here
	}
	return r.here + "?" + query.Encode()
}

// to leads to the part at a pointer; empty when it is in none.
func (r *reading) to(pointer string) string {
	if i, ok := r.o.Find(pointer); ok && pointer != "" {
		return r.href(i, r.o.Entries[i].Anchor)
	}
	return ""
}

// contents is the table of contents: all of it, or of a large document its groups and what this page shows.
func (r *reading) contents() []view.ReadingContents {
	var list []view.ReadingContents
	for i, g := range r.o.Groups {
		if i == maxGroupsShown {
			break
		}
		row := view.ReadingContents{Title: g.Title.In(r.ctx), Count: g.To - g.From, Href: r.href(g.From, g.Anchor)}
		for n := g.From; n < g.To; n++ {
			if r.heavy() && !r.shows(n) {
				continue
			}
			row.Entries = append(row.Entries, r.contentsEntry(n))
		}
		row.Entries = r.lostContents(row.Entries, i)
		list = append(list, row)
	}
	return list
}

func (r *reading) contentsEntry(n int) view.ReadingContentsEntry {
	e := r.o.Entries[n]
	row := view.ReadingContentsEntry{Method: e.Method, Label: e.Name, Href: r.href(n, e.Anchor), Deprecated: e.Deprecated}
	if e.Path != "" {
		row.Label = e.Path
	}
	if e.Summary != "" && e.Kind != outline.KindSchema {
		row.Label, row.Title = e.Summary, e.Name
	}
	row.Level = r.changes.level(n)
	return row
}

// near is the page before or after this one.
func (r *reading) near(step int) *view.ReadingNear {
	i := r.page + step
	if i < 0 || i >= len(r.pages) {
		return nil
	}
	first := r.o.Entries[r.pages[i][0]]
	return &view.ReadingNear{Title: r.o.Groups[first.Group].Title.In(r.ctx), Href: r.link(first.Anchor)}
}

// hits are the places in the document where words were found.
func (r *reading) hits(words string) *view.ReadingHits {
	if words == "" {
		return nil
	}
	found, total := r.o.Search(words)
	hits := &view.ReadingHits{Words: words, Total: total}
	for _, h := range found {
		e := r.o.Entries[h.Entry]
		hits.Rows = append(hits.Rows, view.ReadingHit{
			Kind: e.Kind, Name: e.Name, Way: strings.Join(h.Way, " › "), Text: h.Text, Href: r.hitHref(h),
		})
	}
	return hits
}

// hitHref leads to the place itself where that has an anchor, else to its entry.
func (r *reading) hitHref(h outline.Hit) string {
	e := r.o.Entries[h.Entry]
	anchor := e.Anchor
	if len(h.Way) > 0 {
		detail := r.o.Page([]int{h.Entry})[0]
		if found := detail.Anchor(h.Pointer); found != "" {
			anchor = found
		}
	}
	return r.href(h.Entry, anchor)
}
