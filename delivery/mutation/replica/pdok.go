package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"schakel/delivery/mutation/format"
)

// pdok is a source as PDOK's DownloadApi.json describes: it has no manifests and no lineage, and its deltas do not name what
// comes before them. Their order is that of the list (MUT-35).
type pdok struct {
	*client
	all       []listed
	asked     bool
	chosen    selection
	described *described // nil: not asked for yet
}

// unknownDelta stands for the last delta that an initial delivery may have a part of, until the list is seen.
const unknownDelta = "*"

// Name is the address.
func (s *pdok) Name() string { return s.base.Redacted() }

// Initial asks for a delivery without a delta id, which is the newest state.
func (s *pdok) Initial(ctx context.Context) (*Delivery, error) {
	s.asked = false
	if err := s.choose(ctx, ""); err != nil {
		return nil, err
	}
	d := &Delivery{Type: format.Initial, Until: unknownDelta, Selection: s.selected, Source: s.Name(), Again: true, Open: s.download("")}
	return d, nil
}

// Next gives the delta that comes behind the copy's in the list. The list does not separate an expired delta from the last
// one by after-delta-id, so the whole of it is read (MUT-33). Deltas that were there when the initial delivery came may be in
// it already, whatever it calls itself: they are brought in as if a part was (MUT-36).
func (s *pdok) Next(ctx context.Context, c Copy) (*Delivery, error) {
	if err := s.choose(ctx, c.Settings.Selection); err != nil {
		return nil, err
	}
	if err := c.checkSelection(s.chosen.String()); err != nil {
		return nil, err
	}
	if !s.asked {
		all, err := s.whole(ctx, "delta")
		if err != nil {
			return nil, err
		}
		s.all, s.asked = all, true
	}
	at := s.index(c.DeltaID)
	if at < 0 && len(s.all) > 0 && (c.OverlapUntil != unknownDelta || s.all[0].TimeWindow.From.After(c.UpdatedAt)) {
		return nil, fault(ErrReinitialise, "delta %s is no longer in the list of the source, which begins with %s", short(c.DeltaID), short(s.all[0].ID))
	}
	if at+1 >= len(s.all) {
		return nil, ErrUpToDate
	}
	item, until := s.all[at+1], c.OverlapUntil
	if until == unknownDelta {
		until = s.all[len(s.all)-1].ID
	}
	d := &Delivery{
		ID: item.ID, Type: format.Delta, Overlap: until != "", Until: until, Selection: s.selected, Source: s.Name(), Again: true,
		Open: s.download(item.ID), Accept: func(h format.Header) error { return s.accept(item.ID, h.DeliveryID) },
	}
	return d, nil
}

func (s *pdok) index(delta string) int {
	return slices.IndexFunc(s.all, func(l listed) bool { return l.ID == delta })
}

// accept refuses files of another delta than was asked for (MUT-21). Files may name themselves by something that is no delta.
func (s *pdok) accept(asked, got string) error {
	if got != asked && s.index(got) >= 0 {
		return fault(ErrRefused, "delta %s was asked for, and its files are of delta %s", short(asked), short(got))
	}
	return nil
}

// download gives what opens the predefined delivery of a delta, or asks for a custom one and waits until it is made.
func (s *pdok) download(delta string) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		u := s.path("delta", "predefined", s.o.Predefined+".zip")
		if delta != "" {
			u.RawQuery = url.Values{"delta-id": {delta}}.Encode()
		}
		if s.o.Predefined == "" {
			var err error
			if u, err = s.custom(ctx, delta); err != nil {
				return nil, err
			}
		}
		return s.openStream(ctx, u, s.o.Predefined == "")
	}
}

// selected describes the request. The format is in it once a request was accepted.
func (s *pdok) selected() string { return s.chosen.String() }

// custom asks for a delivery and gives the address it can be had from (MUT-51, MUT-52).
func (s *pdok) custom(ctx context.Context, delta string) (*url.URL, error) {
	status, err := s.accepted(ctx, delta)
	if err != nil {
		return nil, err
	}
	return s.waitReady(ctx, status)
}

// request asks for a delivery in a format, and gives the address of its progress.
func (s *pdok) request(ctx context.Context, delta, as string) (*url.URL, error) {
	body, err := json.Marshal(struct {
		Format       string   `json:"format"`
		FeatureTypes []string `json:"featuretypes"`
		GeoFilter    string   `json:"geofilter,omitempty"`
		DeltaID      string   `json:"deltaId,omitempty"`
	}{as, s.chosen.FeatureTypes, s.chosen.GeoFilter, delta})
	if err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, http.MethodPost, s.path("delta", "custom"), body)
	if err != nil {
		return nil, fmt.Errorf("ask for a delivery: %w", err)
	}
	var doc struct {
		Links struct {
			Status link `json:"status"`
		} `json:"_links"`
	}
	if err := a.read(&doc); err != nil {
		return nil, fmt.Errorf("ask for a delivery of %s as %s: %w%s", s.chosen, as, err, s.hint(a.status))
	}
	return s.link(a.from, doc.Links.Status.Href)
}

// hint suggests a remedy when a source refuses to deliver all the feature types that it names itself, as some do.
func (s *pdok) hint(status int) string {
	if status != http.StatusBadRequest || len(s.o.FeatureTypes) > 0 {
		return ""
	}
	return "; say which feature types it may give (--featuretypes)"
}

// waitReady waits until a delivery is ready: the source answers 200 while it works and 201 at the end.
func (s *pdok) waitReady(ctx context.Context, status *url.URL) (*url.URL, error) {
	start := s.o.Now()
	for try := 1; ; try++ {
		a, err := s.ask(ctx, http.MethodGet, status, nil)
		if err != nil {
			return nil, fmt.Errorf("wait for a delivery: %w", err)
		}
		var doc struct {
			Status   string `json:"status"`
			Progress int    `json:"progress"`
			Links    struct {
				Download link `json:"download"`
			} `json:"_links"`
		}
		if err := a.read(&doc); err != nil {
			return nil, fmt.Errorf("wait for a delivery: %w", err)
		}
		switch doc.Status {
		case "COMPLETED":
			return s.link(a.from, doc.Links.Download.Href)
		case "PENDING", "RUNNING":
		default:
			return nil, fmt.Errorf("wait for a delivery: its status is %.40q", doc.Status)
		}
		if s.o.Now().Sub(start) > s.o.Poll {
			return nil, fmt.Errorf("wait for a delivery: after %s it is at %d%%", s.o.Poll, doc.Progress)
		}
		s.o.Log.InfoContext(ctx, "the source makes a delivery", "progress", doc.Progress)
		if err := s.o.Wait(ctx, max(backoff(try), retryAfter(a.header, s.o.Now()))); err != nil {
			return nil, err
		}
	}
}
