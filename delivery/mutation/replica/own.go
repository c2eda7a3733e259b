package replica

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// own is a source that tells lineage, previous deltas and manifests.
type own struct {
	*client
	coming []listed // deltas that were listed and are not asked for yet
	given  string   // the last one that was given
	behind string   // what it came behind
}

// Name is the address.
func (s *own) Name() string { return s.base.Redacted() }

// snapshot holds the description of an initial delivery by its source; its manifest stands among it.
type snapshot struct {
	ID       string `json:"id"`
	Includes string `json:"includesDeltaId"`
	Lineage  string `json:"lineage"`
	Number   int64  `json:"number"`
	Links    struct {
		Content link `json:"content"`
	} `json:"_links"`
}

// Initial gives the latest snapshot (MUT-34).
func (s *own) Initial(ctx context.Context) (*Delivery, error) {
	a, err := s.ready(ctx, s.path("snapshots", "latest"))
	if err != nil {
		return nil, fmt.Errorf("find the latest snapshot: %w", err)
	}
	var doc snapshot
	if err := a.read(&doc); err != nil {
		return nil, fmt.Errorf("find the latest snapshot: %w", err)
	}
	content, err := s.link(a.from, doc.Links.Content.Href)
	if err != nil {
		return nil, err
	}
	s.coming = nil
	return &Delivery{
		ID: doc.ID, Type: format.Initial, Lineage: doc.Lineage, Includes: doc.Includes, Number: doc.Number, Manifest: manifestIn(a.body),
		Again: true, Source: s.Name(), Open: s.opened(content),
	}, nil
}

// ready asks for a description until the bytes it describes are there: a part of a dataset is made when it is asked for.
func (s *own) ready(ctx context.Context, u *url.URL) (answer, error) {
	start := s.o.Now()
	for try := 0; ; try++ {
		a, err := s.ask(ctx, http.MethodGet, u, nil)
		if status, _ := statusOf(err); status != http.StatusServiceUnavailable {
			return a, err
		}
		if s.o.Now().Sub(start) > s.o.Poll {
			return a, err
		}
	}
}

// manifestIn gives the manifest in an answer, when there is a whole one.
func manifestIn(body []byte) *archive.Manifest {
	m, err := archive.ReadManifest(bytes.NewReader(body))
	if err != nil || m.Files == 0 {
		return nil
	}
	return &m
}

// Next gives the delta after the last one of the copy.
func (s *own) Next(ctx context.Context, c Copy) (*Delivery, error) {
	if len(s.coming) > 0 && (s.coming[0].Previous == nil || *s.coming[0].Previous != c.DeltaID) {
		s.coming = nil
	}
	if len(s.coming) == 0 {
		var err error
		if s.coming, _, err = s.page(ctx, s.first("deltas", c.DeltaID)); err != nil {
			return nil, expired(err)
		}
	}
	if len(s.coming) == 0 {
		return nil, ErrUpToDate
	}
	item := s.coming[0]
	if item.ID == s.given && c.DeltaID == s.behind {
		return nil, fault(ErrRefused, "the source gives delta %s again behind %s, and it is in the copy", short(item.ID), short(c.DeltaID))
	}
	s.given, s.behind = item.ID, c.DeltaID
	s.coming = s.coming[1:]
	return s.delta(ctx, item)
}

func (s *own) delta(ctx context.Context, item listed) (*Delivery, error) {
	content, err := s.link(item.from, item.Links.Content.Href)
	if err != nil {
		return nil, err
	}
	about, err := s.link(item.from, item.Links.Manifest.Href)
	if err != nil {
		return nil, err
	}
	a, err := s.ready(ctx, about)
	if err == nil && (a.status < 200 || a.status > 299) {
		err = a.problem()
	}
	if err != nil {
		return nil, expired(fmt.Errorf("get the manifest of delta %s: %w", item.ID, err))
	}
	m := manifestIn(a.body)
	if m == nil {
		return nil, fmt.Errorf("get the manifest of delta %s: it is not whole", item.ID)
	}
	d := &Delivery{
		ID: item.ID, Type: format.Delta, Number: item.Number, Chained: true, Previous: m.Previous, Lineage: m.Lineage, Manifest: m,
		Again: true, Source: s.Name(), Open: s.opened(content),
	}
	if item.Previous != nil {
		d.Previous = *item.Previous
	}
	d.Lineage = cmp.Or(d.Lineage, item.Lineage)
	return d, nil
}

// listed is a delta in a list. What PDOK's API does not tell is empty.
type listed struct {
	ID         string `json:"id"`
	TimeWindow struct {
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	} `json:"timeWindow"`
	Number   int64   `json:"number"`
	Previous *string `json:"previousId"`
	Lineage  string  `json:"lineage"`
	Links    struct {
		Content  link `json:"content"`
		Manifest link `json:"manifest"`
	} `json:"_links"`

	from *url.URL // of the list, which links may be relative to
}

type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// perPage counts the deltas of one request, and mostPages bounds the requests.
const (
	perPage   = 100
	mostPages = 10_000
)

// first is the address of the first page of a list: of the deltas after one, or of all.
func (c *client) first(path, after string) *url.URL {
	u := c.path(path)
	query := u.Query()
	query.Set("page", "1")
	query.Set("count", strconv.Itoa(perPage))
	if after != "" {
		query.Set("after-delta-id", after)
	}
	u.RawQuery = query.Encode()
	return u
}

// page gets one page of deltas, oldest first, and the address of the next one (MUT-50).
func (c *client) page(ctx context.Context, u *url.URL) (page []listed, next *url.URL, err error) {
	a, err := c.ask(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("list deltas: %w", err)
	}
	return c.pageIn(a)
}

func (c *client) pageIn(a answer) (page []listed, next *url.URL, err error) {
	var doc struct {
		Deltas []listed `json:"deltas"`
		Links  []link   `json:"_links"`
	}
	if err := a.read(&doc); err != nil {
		return nil, nil, fmt.Errorf("list deltas: %w", err)
	}
	for i := range doc.Deltas {
		if doc.Deltas[i].from = a.from; doc.Deltas[i].ID == "" {
			return nil, nil, fmt.Errorf("list deltas: delta %d of %s has no id", i+1, a.from.Path)
		}
	}
	for _, l := range doc.Links {
		if l.Rel == "next" {
			next, err = c.link(a.from, l.Href)
			return doc.Deltas, next, err
		}
	}
	return doc.Deltas, nil, nil
}

// listing puts a list together of its pages.
type listing struct {
	all  []listed
	seen map[string]bool
}

// add takes the deltas of a page that were not on one before, and counts them.
func (l *listing) add(page []listed) (int, error) {
	before := len(l.all)
	for _, d := range page {
		if l.seen[d.ID] {
			continue
		}
		if n := len(l.all); n > 0 && d.TimeWindow.To.Before(l.all[n-1].TimeWindow.To) && !d.TimeWindow.To.IsZero() {
			return 0, fmt.Errorf("list deltas: %s ends before %s, which stands before it: they must be listed oldest first", short(d.ID), short(l.all[n-1].ID))
		}
		l.seen[d.ID] = true
		l.all = append(l.all, d)
	}
	return len(l.all) - before, nil
}

// whole gets the list of all deltas over as many pages as there are. While pages are read the oldest delta may expire, which
// moves all others: one at the edge of a page would be missed (MUT-35). So it is read again when the first one is another.
func (c *client) whole(ctx context.Context, path string) ([]listed, error) {
	for try := 1; ; try++ {
		list, pages, err := c.pages(ctx, path)
		if err != nil || pages < 2 {
			return list, err
		}
		again, _, err := c.page(ctx, c.first(path, ""))
		if err != nil || len(again) > 0 && again[0].ID == list[0].ID {
			return list, err
		}
		if try == tries {
			return nil, fmt.Errorf("list deltas: %s changed each of %d times while it was read", path, tries)
		}
	}
}

// pages goes through the pages of a list, with their number. A source that leads to no next page is asked for one all the
// same, since it may give fewer at a time than it was asked for; how it says that there is none differs.
func (c *client) pages(ctx context.Context, path string) (all []listed, pages int, err error) {
	list, u := listing{seen: map[string]bool{}}, c.first(path, "")
	for u != nil && pages < mostPages {
		page, next, err := c.page(ctx, u)
		if err != nil {
			return nil, pages, err
		}
		added, err := list.add(page)
		if err == nil && added == 0 && len(page) > 0 {
			err = fmt.Errorf("list deltas: the list leads to %s, where nothing new stands", u)
		}
		if err != nil {
			return nil, pages, err
		}
		if pages++; next == nil && len(page) > 0 {
			next = c.unlinked(ctx, path, pages+1, &list)
		}
		u = next
	}
	if u != nil {
		return nil, pages, fmt.Errorf("list deltas: there are more than %d pages", mostPages)
	}
	return list.all, pages, nil
}

// unlinked gives the address of a page that nothing leads to, when there is something new on it.
func (c *client) unlinked(ctx context.Context, path string, number int, list *listing) *url.URL {
	u := c.first(path, "")
	query := u.Query()
	query.Set("page", strconv.Itoa(number))
	u.RawQuery = query.Encode()
	a, err := c.once(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil
	}
	page, _, err := c.pageIn(a)
	if err != nil || !slices.ContainsFunc(page, func(d listed) bool { return !list.seen[d.ID] }) {
		return nil
	}
	return u
}
