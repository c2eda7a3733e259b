package export

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// Latest offers the newest snapshot to a reader, and has its part made when nobody asked for that yet. It answers
// ErrNoSnapshot when the lineage of now has none.
func (e *Exporter) Latest(ctx context.Context, v View) (Offer, error) {
	s, err := e.latest(ctx, v)
	if err != nil {
		return Offer{}, err
	}
	return e.snapshot(ctx, v, s)
}

func (e *Exporter) latest(ctx context.Context, v View) (store.MutationSnapshot, error) {
	s, err := e.cfg.DB.LatestMutationSnapshot(ctx, v.Dataset.ID)
	if errors.Is(err, store.ErrNotFound) {
		return s, ErrNoSnapshot
	}
	if err != nil {
		return s, fmt.Errorf("find newest snapshot: %w", err)
	}
	return s, nil
}

// SnapshotOf is [Exporter.Latest] of a snapshot by its id. One that is gone is ErrNoSnapshot: there is a newer one. One of an
// old lineage is a *[GoneError].
func (e *Exporter) SnapshotOf(ctx context.Context, v View, id string) (Offer, error) {
	s, err := e.cfg.DB.MutationSnapshot(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (s.DatasetID != v.Dataset.ID || s.Status != store.MutationDone):
		return Offer{}, ErrNoSnapshot
	case err != nil:
		return Offer{}, fmt.Errorf("find snapshot: %w", err)
	case s.Lineage != v.Dataset.Lineage:
		return Offer{}, &GoneError{Kind: ErrLineageChanged, Lineage: v.Dataset.Lineage, Reason: v.Dataset.LineageReason}
	case !s.GoneAt.IsZero():
		return Offer{}, ErrNoSnapshot
	}
	return e.snapshot(ctx, v, s)
}

func (e *Exporter) snapshot(ctx context.Context, v View, s store.MutationSnapshot) (Offer, error) {
	wants, names, err := e.reads(ctx, v)
	if err != nil {
		return Offer{}, err
	}
	o := Offer{Snapshot: s, Includes: names.Of(s.DeltaID)}
	return o, e.fill(ctx, v, wants, wholeSnapshot(s), &o, true)
}

func wholeSnapshot(s store.MutationSnapshot) whole {
	return whole{snapshotID: s.ID, lineage: s.Lineage, manifest: s.Manifest, fileID: s.FileID}
}
