package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// described holds what a source's own API document declares of custom downloads of deltas; what it leaves open is empty.
type described struct{ formats, featureTypes []string }

// describe reads the API document that stands beside the API, openapi.json. Few sources have one there: none, or one that cannot
// be read, describes nothing.
func (s *pdok) describe(ctx context.Context) (described, error) {
	if s.described != nil {
		return *s.described, nil
	}
	a, err := s.ask(ctx, http.MethodGet, s.path("openapi.json"), nil)
	if errors.Is(err, ErrAccess) || ctx.Err() != nil {
		return described{}, err
	}
	s.described = &described{}
	var doc any
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &doc) != nil {
		return *s.described, nil
	}
	root := apiNode{root: doc, at: doc}
	paths, _ := root.to("paths").at.(map[string]any)
	for path := range paths {
		if !strings.HasSuffix(path, "/delta/custom") {
			continue
		}
		body := root.to("paths", path, "post", "requestBody", "content", "application/json", "schema", "properties")
		s.described.formats = body.to("format", "enum").texts()
		s.described.featureTypes = body.to("featuretypes", "items", "enum").texts()
	}
	return *s.described, nil
}

// apiNode is a place in an API document.
type apiNode struct{ root, at any }

// to goes down by names of members; references within the document are followed, a few times at most. What is not there is nil.
func (n apiNode) to(names ...string) apiNode {
	for _, name := range names {
		n = n.resolved()
		members, _ := n.at.(map[string]any)
		n.at = members[name]
	}
	return n.resolved()
}

func (n apiNode) resolved() apiNode {
	for range 8 {
		members, _ := n.at.(map[string]any)
		ref, _ := members["$ref"].(string)
		path, local := strings.CutPrefix(ref, "#/")
		if !local {
			return n
		}
		n.at = n.root
		for name := range strings.SplitSeq(path, "/") {
			inner, _ := n.at.(map[string]any)
			n.at = inner[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	return apiNode{root: n.root}
}

func (n apiNode) texts() (out []string) {
	list, _ := n.at.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// knownFormats are the names in PDOK's API documents for the form of what is delivered, in the order in which a source is tried
// that does not describe its own: BGT delivers deltas as citygml, the cadastral map as gml. Those without ended versions come
// last (MUT-32).
func knownFormats() []string { return []string{"citygml", "gml", "gmllight", "stufgeo"} }

// accepted asks for a delivery in the format that is settled, or in the first one that the source takes, which is settled then.
func (s *pdok) accepted(ctx context.Context, delta string) (*url.URL, error) {
	if s.chosen.Format != "" {
		return s.request(ctx, delta, s.chosen.Format)
	}
	left, err := s.formats(ctx)
	if err != nil {
		return nil, err
	}
	var refusals []error
	for len(left) > 0 {
		as := left[0]
		status, err := s.request(ctx, delta, as)
		if err == nil {
			s.chosen.Format = as
		}
		if code, _ := statusOf(err); code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
			return status, err
		}
		refusals = append(refusals, err)
		left = mentionedFirst(left[1:], err)
	}
	return nil, fmt.Errorf("the source refuses each format that was tried; say which one it has (--format): %w", errors.Join(refusals...))
}

// formats lists what to ask for, likeliest first: what the source describes, or else all known ones.
func (s *pdok) formats(ctx context.Context) ([]string, error) {
	api, err := s.describe(ctx)
	if err != nil || len(api.formats) == 0 {
		return knownFormats(), err
	}
	var list []string
	for _, name := range knownFormats() {
		if slices.Contains(api.formats, name) {
			list = append(list, name)
		}
	}
	for _, name := range api.formats {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// mentionedFirst puts a format in front that a refusal names, as an answer that lists the allowed values does.
func mentionedFirst(list []string, refusal error) []string {
	text := refusal.Error()
	if e, ok := errors.AsType[*statusError](refusal); ok {
		text = e.text
	}
	sorted.Stable(list, func(a, b string) int {
		in := func(name string) int {
			if strings.Contains(text, `"`+name+`"`) {
				return 0
			}
			return 1
		}
		return in(a) - in(b)
	})
	return list
}

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
