package web

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// maxFeedEntries is how many versions a feed tells of, newest first.
const maxFeedEntries = 50

// atomFeed is a feed of versions (RFC 4287).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string       `xml:"id"`
	Title     string       `xml:"title"`
	Published string       `xml:"published"`
	Updated   string       `xml:"updated"`
	Category  atomCategory `xml:"category"`
	Summary   string       `xml:"summary"`
	Links     []atomLink   `xml:"link"`
	changed   time.Time
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

// contractFeed answers the versions of one public contract.
func (p *portal) contractFeed(c echo.Context) error {
	ctx := c.Request().Context()
	about, err := p.Registry.Contracts.Get(ctx, registry.Reader{}, c.Param("id"))
	if err != nil {
		return err
	}
	versions, err := p.Registry.Contracts.Versions(ctx, registry.Reader{}, about.ID)
	if err != nil {
		return err
	}
	feed := p.feed("Versions of "+about.Title, about.Owner, contractHref(about.ID), contractHref(about.ID)+"/feed.atom")
	for _, v := range versions {
		feed.Entries = append(feed.Entries, p.feedEntry(about, v))
	}
	return p.writeFeed(c, feed, about.CreatedAt.Time)
}

// registerFeed answers the latest version of each public contract.
func (p *portal) registerFeed(c echo.Context) error {
	list, _, err := p.Registry.Contracts.List(c.Request().Context(), registry.Reader{}, store.ContractFilter{})
	if err != nil {
		return err
	}
	own, err := p.Registry.Partners.Own(c.Request().Context())
	if err != nil {
		return err
	}
	feed := p.feed("Contracts of "+own.Name, own.Name, "/contracts", registerFeedHref)
	for _, s := range list {
		if s.Latest.ID != "" {
			feed.Entries = append(feed.Entries, p.feedEntry(s.Contract, s.Latest))
		}
	}
	return p.writeFeed(c, feed, own.CreatedAt.Time)
}

const registerFeedHref = "/contracts/feed.atom"

func (p *portal) feed(title, author, page, self string) atomFeed {
	return atomFeed{ID: p.absolute(self), Title: title, Author: author, Links: []atomLink{
		{Rel: "self", Type: "application/atom+xml", Href: p.absolute(self)}, {Rel: "alternate", Type: "text/html", Href: p.absolute(page)},
	}}
}

func (p *portal) feedEntry(about store.Contract, v store.ContractVersion) atomEntry {
	here := p.absolute(contractVersionHref(about.ID, v.Version))
	entry := atomEntry{
		ID: here, Title: about.Title + " " + v.Version, Published: atomTime(v.PublishedAt.Time), Category: atomCategory{v.Status},
		Summary: "Version " + v.Version + " is published.", changed: v.PublishedAt.Time,
		Links: []atomLink{{Rel: "alternate", Type: "text/html", Href: here}, {Rel: "related", Type: "text/html", Href: here + "/changes"}},
	}
	if v.Status == store.VersionDeprecated {
		entry.Summary, entry.changed = "Version "+v.Version+" is deprecated. "+v.StatusReason, v.DeprecatedAt.Time
		if !v.SunsetAt.IsZero() {
			entry.Summary += " It can be used until " + v.SunsetAt.Format(time.DateOnly) + "."
		}
	}
	entry.Updated = atomTime(entry.changed)
	return entry
}

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// writeFeed answers a feed, newest first; made is when the feed began.
func (p *portal) writeFeed(c echo.Context, feed atomFeed, made time.Time) error {
	slices.SortStableFunc(feed.Entries, func(a, b atomEntry) int {
		return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(a.ID, b.ID))
	})
	feed.Entries = feed.Entries[:min(len(feed.Entries), maxFeedEntries)]
	feed.Updated = atomTime(made)
	if len(feed.Entries) > 0 {
		feed.Updated = feed.Entries[0].Updated
	}
	body, err := xml.MarshalIndent(feed, "", "  ")
	if err != nil {
		return err
	}
	body = append([]byte(xml.Header), append(body, '\n')...)
	header := c.Response().Header()
	header.Set("Content-Security-Policy", dataCSP)
	header.Set("Cache-Control", "public, no-cache")
	if matchesTag(c.Request().Header, setDigests(header, body)) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "application/atom+xml; charset=utf-8", body)
}
