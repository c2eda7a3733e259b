package datasets

import (
	"cmp"
	"context"
	"errors"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
)

// availableUntil is the last moment at which something of a dataset that ended can be fetched; last is its newest delta.
func availableUntil(d store.Dataset, last store.MutationDelta) time.Time {
	until := d.EndedAt.Time
	if last.ToAt.After(until) {
		until = last.ToAt.Time
	}
	return until.Add(export.Retention)
}

// datasetEnd describes the end of a dataset; nothing for one that has not ended.
func (p *Pages) datasetEnd(ctx context.Context, d store.Dataset) (view.DatasetEnd, error) {
	if d.EndedAt.IsZero() {
		return view.DatasetEnd{}, nil
	}
	last, err := lastDelta(ctx, p.DB, d.ID)
	return view.DatasetEnd{At: d.EndedAt.Time, Reason: d.EndReason, Until: availableUntil(d, last)}, err
}

// shownFailedFiles limits the failed downloads on the page of a dataset.
const shownFailedFiles = 5

// datasetTroubles lists the deltas and snapshots of a dataset that cannot be made now, and the newest files for one follower that failed.
func (p *Pages) datasetTroubles(ctx context.Context, id string) ([]view.DatasetTrouble, error) {
	troubles, err := p.DB.MutationTroubles(ctx, id)
	if err != nil {
		return nil, err
	}
	var list []view.DatasetTrouble
	for _, t := range troubles {
		list = append(list, view.DatasetTrouble{Kind: t.Kind, Error: t.Error, Times: t.Times, Since: t.Since.Time, Last: t.LastAt.Time})
	}
	failed, total, err := p.DB.MutationDownloads(ctx, store.MutationDownloadFilter{
		DatasetID: id, Statuses: []string{store.MutationFailed}, There: true, Page: store.Page{Number: 1, Size: shownFailedFiles},
	})
	for _, d := range failed {
		t := view.DatasetTrouble{Kind: "file", Error: d.Error, Times: 1, Since: d.FinishedAt.Time, More: max(0, total-shownFailedFiles)}
		partner, err := p.DB.Partner(ctx, d.PartnerID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		t.For = ui.Named{Name: cmp.Or(partner.Name, d.PartnerID), Href: "/admin/partners/" + d.PartnerID}
		list, total = append(list, t), 0
	}
	return list, err
}

// endAnswer describes the end of a dataset in the API.
type endAnswer struct {
	At             time.Time `json:"at"`
	Reason         string    `json:"reason,omitempty"`
	Complete       bool      `json:"complete"`              // all its changes are in deltas
	LastDeltaID    string    `json:"lastDeltaId,omitempty"` // when it is complete
	AvailableUntil time.Time `json:"availableUntil"`
}

// ended describes the end of a dataset; nil for one that has not ended.
func (m *handlers) ended(ctx context.Context, d store.Dataset) (*endAnswer, error) {
	if d.EndedAt.IsZero() {
		return nil, nil
	}
	last, err := lastDelta(ctx, m.DB, d.ID)
	if err != nil {
		return nil, err
	}
	a := &endAnswer{At: utc(d.EndedAt), Reason: d.EndReason, Complete: waitingGroups(d, last) <= 0, AvailableUntil: availableUntil(d, last).UTC()}
	if a.Complete {
		a.LastDeltaID = last.ID
	}
	return a, nil
}
