package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"schakel/delivery/mutation/format"
)

// pdok is a source as PDOK's DownloadApi.json describes: it has no manifests and no lineage, and its deltas do not say what
// comes before them. Their order is that of the list (MUT-35).
type pdok struct {
	*client
	all   []listed
	asked bool
	types []string
}

// untold stands for the last delta that an initial delivery may have a part of, until the list is seen.
const untold = "*"

// Name is the address.
func (s *pdok) Name() string { return s.base.Redacted() }

// Initial asks for a delivery without a delta id, which is the newest state.
func (s *pdok) Initial(context.Context) (*Delivery, error) {
	s.asked = false
	return &Delivery{Type: format.Initial, Until: untold, Source: s.Name(), Again: true, Open: s.download("")}, nil
}

// Next gives the delta that comes behind the copy's in the list. The list cannot tell what is expired from what is the last
// one by after-delta-id, so the whole of it is read (MUT-33). Deltas that were there when the initial delivery came may be in
// it already, whatever it calls itself: they are brought in as if a part was (MUT-36).
func (s *pdok) Next(ctx context.Context, c Copy) (*Delivery, error) {
	if !s.asked {
		all, err := s.list(ctx, "delta", "", mostPages)
		if err != nil {
			return nil, err
		}
		s.all, s.asked = all, true
	}
	at := slices.IndexFunc(s.all, func(l listed) bool { return l.ID == c.DeltaID })
	if at < 0 && len(s.all) > 0 && c.OverlapUntil != untold {
		return nil, fault(ErrReinitialise, "delta %s is no longer in the list of the source", c.DeltaID)
	}
	if at+1 >= len(s.all) {
		return nil, ErrUpToDate
	}
	item, until := s.all[at+1], c.OverlapUntil
	if until == untold {
		until = s.all[len(s.all)-1].ID
	}
	d := &Delivery{ID: item.ID, Type: format.Delta, Overlap: until != "", Until: until, Source: s.Name(), Again: true, Open: s.download(item.ID)}
	return d, nil
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
		return s.openStream(ctx, u)
	}
}

// custom asks for a delivery and gives the address it can be had from (MUT-51, MUT-52).
func (s *pdok) custom(ctx context.Context, delta string) (*url.URL, error) {
	types, err := s.featureTypes(ctx)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(struct {
		Format       string   `json:"format"`
		FeatureTypes []string `json:"featuretypes"`
		GeoFilter    string   `json:"geofilter,omitempty"`
		DeltaID      string   `json:"deltaId,omitempty"`
	}{"gml", types, s.o.GeoFilter, delta})
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
		return nil, fmt.Errorf("ask for a delivery: %w", err)
	}
	status, err := s.link(a.from, doc.Links.Status.Href)
	if err != nil {
		return nil, err
	}
	return s.made(ctx, status)
}

// made waits until a delivery is made: the source answers 200 while it works and 201 at the end.
func (s *pdok) made(ctx context.Context, status *url.URL) (*url.URL, error) {
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

// featureTypes are those asked for, or all that the source has.
func (s *pdok) featureTypes(ctx context.Context) ([]string, error) {
	if len(s.o.FeatureTypes) > 0 {
		return s.o.FeatureTypes, nil
	}
	if len(s.types) > 0 {
		return s.types, nil
	}
	a, err := s.ask(ctx, http.MethodGet, s.path("dataset"), nil)
	if err != nil {
		return nil, fmt.Errorf("find out the feature types: %w", err)
	}
	var doc struct {
		Timeliness []struct {
			FeatureType string `json:"featuretype"`
		} `json:"timeliness"`
	}
	if err := a.read(&doc); err != nil {
		return nil, fmt.Errorf("find out the feature types: %w", err)
	}
	for _, t := range doc.Timeliness {
		if t.FeatureType != "" && !slices.Contains(s.types, t.FeatureType) {
			s.types = append(s.types, t.FeatureType)
		}
	}
	if len(s.types) == 0 {
		return nil, errors.New("the source does not tell its feature types: say which ones to follow")
	}
	return s.types, nil
}
