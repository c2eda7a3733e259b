package web

import (
	"context"

	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/store"
	"schakel/templates"
)

// previewEvents is how many recent events filters are tried on.
const previewEvents = 200

// preview tries filters on the recent events that the owner may know of. The
// filters must be right.
func (d desk) preview(ctx context.Context, owner store.Partner, types []string, filters string) (*templates.PreviewView, error) {
	compiled, err := filter.Parse([]byte(filters))
	if err != nil {
		return nil, err
	}
	events, withheld, err := d.Registry.Subscriptions.Recent(ctx, owner, types, previewEvents)
	if err != nil {
		return nil, err
	}
	v := &templates.PreviewView{Withheld: withheld, Now: d.cfg.Now()}
	for _, e := range events {
		row := templates.PreviewRow{ID: shown(e.CEID), Type: e.CEType, Subject: shown(e.CESubject), Accepted: e.AcceptedAt.Time}
		if parsed, err := event.FromParts(e.Attributes, event.DataKind(e.DataKind), nil); err == nil {
			row.Match = compiled.Match(parsed.Extension)
		}
		if row.Match {
			v.Matching++
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}
