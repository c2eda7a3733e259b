package contracts

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// maxFeedEntries bounds the versions on one page of a feed, newest first.
const maxFeedEntries = 50

// AtomFeed is a feed of versions (RFC 4287).
type AtomFeed struct {
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

// contractFeed answers the versions of one contract.
func (p *pages) contractFeed(c echo.Context) error {
	ctx := c.Request().Context()
	reader, known, err := p.feedReader(c)
	if err != nil {
		return err
	}
	about, err := p.Registry.Contracts.Get(ctx, reader, c.Param("id"))
	if isNotFound(err) && !known {
		return askForKey() // the same for a contract that is not there, so that it tells nothing
	}
	if err != nil {
		return err
	}
	versions, err := p.Registry.Contracts.History(ctx, about)
	if err != nil {
		return err
	}
	feed := p.feed(i18n.T(ctx, "contracts.feed.versions-of", about.Title), about.Owner, site.ContractHref(about.ID), site.ContractHref(about.ID)+"/feed.atom")
	for _, v := range versions {
		feed.add(ctx, p, about, v)
	}
	return p.writeFeed(c, feed, about.CreatedAt.Time, known)
}

// registerFeed answers the versions of each contract that the reader may see.
// With all in the query who sends no key is asked for one: feed readers send it
// only then.
func (p *pages) registerFeed(c echo.Context) error {
	reader, known, err := p.feedReader(c)
	if err != nil {
		return err
	}
	self := registerFeedHref
	if c.QueryParams().Has("all") {
		if self += "?all"; !known {
			return askForKey()
		}
	}
	ctx := c.Request().Context()
	list, _, err := p.Registry.Contracts.List(ctx, reader, store.ContractFilter{})
	if err != nil {
		return err
	}
	own, err := p.Registry.Partners.Own(ctx)
	if err != nil {
		return err
	}
	feed := p.feed(i18n.T(ctx, "contracts.feed.contracts-of", own.Name), own.Name, "/contracts", self)
	for _, s := range list {
		versions, err := p.Registry.Contracts.History(ctx, s.Contract)
		if err != nil {
			return err
		}
		for _, v := range versions {
			feed.add(ctx, p, s.Contract, v)
		}
	}
	return p.writeFeed(c, feed, own.CreatedAt.Time, known)
}

// add appends a version that is published, deprecated or withdrawn.
func (f *AtomFeed) add(ctx context.Context, p *pages, about store.Contract, v store.ContractVersion) {
	f.Entries = append(f.Entries, p.feedEntry(ctx, about, v))
}

const registerFeedHref = "/contracts/feed.atom"

func (p *pages) feed(title, author, page, self string) AtomFeed {
	return AtomFeed{ID: p.Absolute(self), Title: title, Author: author, Links: []atomLink{
		{Rel: "self", Type: "application/atom+xml", Href: p.Absolute(self)}, {Rel: "alternate", Type: "text/html", Href: p.Absolute(page)},
	}}
}

func (p *pages) feedEntry(ctx context.Context, about store.Contract, v store.ContractVersion) atomEntry {
	here := p.Absolute(site.ContractVersionHref(about.ID, v.Version))
	entry := atomEntry{
		ID: here, Title: about.Title + " " + v.Version, Published: atomTime(v.PublishedAt.Time), Category: atomCategory{v.Status},
		Summary: i18n.T(ctx, "contracts.feed.published", v.Version), changed: v.PublishedAt.Time,
		Links: []atomLink{{Rel: "alternate", Type: "text/html", Href: here}, {Rel: "related", Type: "text/html", Href: here + "/changes"}},
	}
	if v.Status == store.VersionDeprecated {
		entry.Summary, entry.changed = i18n.T(ctx, "contracts.feed.deprecated", v.Version)+" "+i18n.Message(v.StatusReason).In(ctx), v.DeprecatedAt.Time
		if !v.SunsetAt.IsZero() {
			entry.Summary += " " + i18n.T(ctx, "contracts.feed.until", v.SunsetAt.Format(time.DateOnly))
		}
	}
	if v.Status == store.VersionWithdrawn {
		entry.Summary, entry.changed = i18n.T(ctx, "contracts.feed.withdrawn", v.Version)+" "+i18n.Message(v.StatusReason).In(ctx), v.WithdrawnAt.Time
		entry.Links = entry.Links[:1]
	}
	entry.Updated = atomTime(entry.changed)
	return entry
}

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// cut leaves one page of a feed, with the links to the others (RFC 5005, 3).
func (f *AtomFeed) cut(asked string) error {
	last := max(1, (len(f.Entries)+maxFeedEntries-1)/maxFeedEntries)
	page := 1
	if asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 1 || n > last {
			return echo.NewHTTPError(http.StatusNotFound, i18n.M("contracts.feed.pages", last))
		}
		page = n
	}
	first := f.Links[0].Href
	at := func(n int) string {
		if n == 1 {
			return first
		}
		sign := "?"
		if strings.Contains(first, "?") {
			sign = "&"
		}
		return first + sign + "page=" + strconv.Itoa(n)
	}
	f.Links[0].Href = at(page)
	for _, l := range []struct {
		rel string
		n   int
	}{{"first", 1}, {"previous", page - 1}, {"next", page + 1}, {"last", last}} {
		if l.n >= 1 && l.n <= last && last > 1 {
			f.Links = append(f.Links, atomLink{Rel: l.rel, Type: "application/atom+xml", Href: at(l.n)})
		}
	}
	f.Entries = f.Entries[(page-1)*maxFeedEntries : min(page*maxFeedEntries, len(f.Entries))]
	return nil
}

// writeFeed answers a feed, newest first; made is when the feed began. One for a
// reader who is known is for nobody else's cache.
func (p *pages) writeFeed(c echo.Context, feed AtomFeed, made time.Time, known bool) error {
	sorted.Stable(feed.Entries, func(a, b atomEntry) int {
		return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(a.ID, b.ID))
	})
	feed.Updated = atomTime(made)
	if len(feed.Entries) > 0 {
		feed.Updated = feed.Entries[0].Updated
	}
	if err := feed.cut(c.QueryParam("page")); err != nil {
		return err
	}
	body, err := xml.MarshalIndent(feed, "", "  ")
	if err != nil {
		return err
	}
	body = append([]byte(xml.Header), append(body, '\n')...)
	header := c.Response().Header()
	header.Set("Content-Security-Policy", site.DataCSP)
	header.Set("Cache-Control", "public, no-cache")
	if known {
		header.Set("Cache-Control", "private, no-cache")
	}
	header.Add("Vary", "Authorization, Cookie")
	if site.MatchesTag(c.Request().Header, site.SetDigests(header, body)) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "application/atom+xml; charset=utf-8", body)
}

// feedReader returns the reader of a feed: with a read-only key its partner, else the
// account that is logged in. A feed reader sends the key as the password of Basic, with any user
// name; never in the address, which ends up in logs. known reports whether the reader
// has a key or an account.
func (p *pages) feedReader(c echo.Context) (reader registry.Reader, known bool, err error) {
	if c.Request().Header.Get("Authorization") == "" {
		reader, err = p.Reader(c)
		return reader, p.CurrentAccount(c) != nil, err
	}
	plain, ok := api.SentReadKey(c.Request())
	if !ok {
		return reader, false, askForKey()
	}
	ctx := c.Request().Context()
	key, partner, err := p.Registry.ReadKeys.Authenticate(ctx, plain)
	if _, refused := errors.AsType[*registry.Error](err); refused {
		return reader, false, askForKey()
	}
	if err != nil {
		return reader, false, err
	}
	reader, err = p.Registry.Contracts.Reader(ctx, registry.Actor{Kind: registry.ActorClient, ID: key.ID, Name: key.Name, PartnerID: partner.ID})
	return reader, true, err
}

// askForKey is the answer with which a feed reader asks its user for the key.
func askForKey() *site.Problem {
	return site.NewProblem(http.StatusUnauthorized, "token-missing", "contracts.feed.ask-for-key").
		With("WWW-Authenticate", `Basic realm="Contracts, with a read-only key", charset="UTF-8"`)
}
