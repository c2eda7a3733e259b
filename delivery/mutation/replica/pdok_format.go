package replica

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

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
	slices.SortStableFunc(list, func(a, b string) int {
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
