package replica

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

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
