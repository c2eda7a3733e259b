package partners

import (
	"context"

	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// What a preview shows: filters are tried on the most recent events, and some of
// those are listed.
const (
	previewEvents = 200
	previewRows   = 50
)

// preview tries filters on the recent events that the owner may know of, of these
// types in the lines of versions given for them. The filters must be right.
func (d ownerPages) preview(ctx context.Context, owner store.Partner, types []string, lines map[string]string, filters string) (*ui.PreviewView, error) {
	compiled, err := filter.Parse([]byte(filters))
	if err != nil {
		return nil, err
	}
	events, withheld, err := d.Registry.Subscriptions.Recent(ctx, owner, types, lines, previewEvents)
	if err != nil {
		return nil, err
	}
	v := &ui.PreviewView{Withheld: withheld, Now: d.Cfg.Now(), Total: len(events)}
	var others []ui.PreviewRow
	for _, e := range events {
		row := ui.PreviewRow{ID: site.Shown(e.CEID), Type: e.CEType, Subject: site.Shown(e.CESubject), Accepted: e.AcceptedAt.Time}
		row.OtherVersion = !store.FitsLine(e.ContractVersions, lines[e.CEType])
		if parsed, err := event.FromParts(e.Attributes, event.DataKind(e.DataKind), nil); err == nil && !row.OtherVersion {
			row.Match = compiled.Match(parsed.Extension)
		}
		if row.Match {
			v.Rows = append(v.Rows, row)
		} else {
			others = append(others, row)
		}
	}
	v.Matching = len(v.Rows)
	v.Rows = append(v.Rows, others...)
	v.Rows = v.Rows[:min(len(v.Rows), previewRows)]
	return v, nil
}
