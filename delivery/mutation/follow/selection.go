package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// selection is what of a dataset is asked for. A copy is made with one and keeps it: deltas of another would not fit it
// (MUT-49).
type selection struct {
	Predefined   string   `json:"predefined,omitempty"`
	FeatureTypes []string `json:"featuretypes,omitempty"`
	GeoFilter    string   `json:"geofilter,omitempty"`
}

// String is how a copy remembers it.
func (s selection) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(raw)
}

// choose settles what is asked for: what the options say, and of feature types that they leave open those that the copy was
// made with, or else all that the source has.
func (s *pdok) choose(ctx context.Context, before string) error {
	s.chosen = selection{Predefined: s.o.Predefined}
	if s.o.Predefined != "" {
		return nil
	}
	s.chosen.GeoFilter = s.o.GeoFilter
	s.chosen.FeatureTypes = slices.Clone(s.o.FeatureTypes)
	var made selection
	if before != "" && json.Unmarshal([]byte(before), &made) == nil && len(s.o.FeatureTypes) == 0 {
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

// featureTypes are all that the source has.
func (s *pdok) featureTypes(ctx context.Context) (types []string, err error) {
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
