package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// selection is the requested part of a dataset. A copy is made with one and keeps it: deltas of another would not fit it
// (MUT-49).
type selection struct {
	Predefined   string   `json:"predefined,omitempty"`
	Format       string   `json:"format,omitempty"` // empty: not settled yet
	FeatureTypes []string `json:"featuretypes,omitempty"`
	GeoFilter    string   `json:"geofilter,omitempty"`
}

// formerFormat was requested before there was a choice. Copies of that time remember none.
const formerFormat = "gml"

// String gives the selection as a copy remembers it.
func (s selection) String() string {
	if s.Format == formerFormat {
		s.Format = ""
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(raw)
}

// readSelection reads what a copy remembers; known is false when it remembers nothing.
func readSelection(text string) (s selection, known bool) {
	if text == "" || json.Unmarshal([]byte(text), &s) != nil {
		return selection{}, false
	}
	if s.Format == "" && s.Predefined == "" {
		s.Format = formerFormat
	}
	return s, true
}

// choose settles what is asked for: what the options say; of what they leave open, what the copy was made with, or else all
// feature types that the source has. A format that nobody named is settled by the first request.
func (s *pdok) choose(ctx context.Context, before string) error {
	s.chosen = selection{Predefined: s.o.Predefined}
	if s.o.Predefined != "" {
		return nil
	}
	made, _ := readSelection(before)
	s.chosen.GeoFilter = s.o.GeoFilter
	s.chosen.Format = cmp.Or(s.o.Format, made.Format)
	s.chosen.FeatureTypes = slices.Clone(s.o.FeatureTypes)
	if len(s.o.FeatureTypes) == 0 {
		s.chosen.FeatureTypes = made.FeatureTypes
	}
	var err error
	if len(s.chosen.FeatureTypes) == 0 {
		s.chosen.FeatureTypes, err = s.featureTypes(ctx)
	}
	slices.Sort(s.chosen.FeatureTypes)
	s.chosen.FeatureTypes = slices.Compact(s.chosen.FeatureTypes)
	return err
}

// featureTypes lists those that the source describes for deltas, or else those of GET /dataset. The latter may have types of
// full downloads, which PDOK refuses in deltas.
func (s *pdok) featureTypes(ctx context.Context) (types []string, err error) {
	api, err := s.describe(ctx)
	if err != nil || len(api.featureTypes) > 0 {
		return slices.Clone(api.featureTypes), err
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
		if t.FeatureType != "" {
			types = append(types, t.FeatureType)
		}
	}
	if len(types) == 0 {
		return nil, errors.New("the source does not tell its feature types: say which ones to follow (--featuretypes)")
	}
	return types, nil
}
