package export

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// Expired reports whether a delta can be fetched no more: 31 times 24 hours after its end it still can, later not (MUT-33).
func (e *Exporter) Expired(d store.MutationDelta) bool {
	return !d.GoneAt.IsZero() || e.cfg.Now().After(d.ToAt.Add(Retention))
}

// Deltas lists the deltas behind one, or all that can be fetched when afterID is empty, oldest first, with their total count
// (MUT-35). It answers ErrDeltaUnknown, or a *[GoneError] when the one right behind it can be fetched no more, or the lineage
// changed since. Behind the last there are none. Their manifests do not
// say the area.
func (e *Exporter) Deltas(ctx context.Context, v View, afterID string, p store.Page) ([]Offer, int, error) {
	f := store.MutationDeltaFilter{
		DatasetID: v.Dataset.ID, Lineage: v.Dataset.Lineage, Page: p, Since: store.At(e.cfg.Now().Add(-Retention)),
	}
	wants, names, err := e.reads(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	after := store.MutationDelta{}
	if afterID != "" {
		if after, err = e.after(ctx, v, names, afterID); err != nil {
			return nil, 0, err
		}
		f.After = after.Number
	}
	rows, total, err := e.cfg.DB.MutationDeltas(ctx, f)
	if err != nil {
		return nil, 0, fmt.Errorf("list deltas: %w", err)
	}
	offers := make([]Offer, len(rows))
	for i, d := range rows {
		offers[i] = e.offered(names, d)
		if after.ID != "" && d.PreviousID == after.ID {
			offers[i].Previous = afterID // as the reader knows it
		}
		if err := e.fill(ctx, v, wants, wholeDelta(d), &offers[i], false); err != nil {
			return nil, 0, err
		}
		offers[i].Manifest.Area = "" // it may have megabytes, and is the same in all
	}
	return offers, total, nil
}

func (e *Exporter) offered(names Names, d store.MutationDelta) Offer {
	return Offer{Delta: d, Name: names.Of(d.ID), Previous: names.Of(d.PreviousID), ExpiresAt: d.ToAt.Add(Retention)}
}

// after finds the delta that a reader has, and checks that the one right behind it can be fetched.
func (e *Exporter) after(ctx context.Context, v View, names Names, name string) (store.MutationDelta, error) {
	d, err := e.known(ctx, v, names, name)
	if err != nil {
		return d, err
	}
	next, _, err := e.cfg.DB.MutationDeltas(ctx, store.MutationDeltaFilter{
		DatasetID: v.Dataset.ID, Lineage: d.Lineage, After: d.Number, Page: store.Page{Number: 1, Size: 1},
	})
	if err != nil {
		return d, fmt.Errorf("find the next delta: %w", err)
	}
	if len(next) > 0 && e.Expired(next[0]) {
		return d, e.expired(v, next[0])
	}
	return d, nil
}

// known finds a delta of the lineage of now, by the name that the reader knows it by.
func (e *Exporter) known(ctx context.Context, v View, names Names, name string) (store.MutationDelta, error) {
	id, mark := splitName(name)
	d, err := e.cfg.DB.MutationDelta(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && d.DatasetID != v.Dataset.ID:
		return d, ErrDeltaUnknown
	case err != nil:
		return d, fmt.Errorf("find delta: %w", err)
	case d.Lineage != v.Dataset.Lineage:
		return d, &GoneError{Kind: ErrLineageChanged, DeltaID: d.ID, Lineage: v.Dataset.Lineage, Reason: v.Dataset.LineageReason}
	case !names.fit(v, d, mark):
		return d, &GoneError{Kind: ErrLineageChanged, DeltaID: name, Lineage: v.Dataset.Lineage, Reason: otherPart}
	}
	return d, nil
}

// otherPart says why a delta of another part than a reader gets now is gone to it.
const otherPart = "the area or the object types of the subscription are others now"

// there is known for a delta that must be one that can be fetched.
func (e *Exporter) there(ctx context.Context, v View, names Names, name string) (store.MutationDelta, error) {
	d, err := e.known(ctx, v, names, name)
	if err == nil && e.Expired(d) {
		err = e.expired(v, d)
	}
	return d, err
}

func (e *Exporter) expired(v View, d store.MutationDelta) error {
	return &GoneError{Kind: ErrDeltaExpired, DeltaID: d.ID, Lineage: v.Dataset.Lineage, ExpiredAt: d.ToAt.Add(Retention)}
}

// Delta offers a delta to a reader, and has its part made when nobody asked for that yet. It answers
// ErrDeltaUnknown, or a *[GoneError].
func (e *Exporter) Delta(ctx context.Context, v View, id string) (Offer, error) {
	wants, names, err := e.reads(ctx, v)
	if err != nil {
		return Offer{}, err
	}
	d, err := e.there(ctx, v, names, id)
	if err != nil {
		return Offer{}, err
	}
	o := e.offered(names, d)
	return o, e.fill(ctx, v, wants, wholeDelta(d), &o, true)
}

func wholeDelta(d store.MutationDelta) whole {
	return whole{deltaID: d.ID, lineage: d.Lineage, manifest: d.Manifest, fileID: d.FileID}
}
