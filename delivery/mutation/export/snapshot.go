package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/store"
	"schakel/templates/i18n"
)

const (
	stepEvery  = 2 * time.Second // time between two reports of its progress
	stepLooks  = 256             // states after which it looks at the time
	baseTries  = 5               // how often a snapshot looks for its delta while others make deltas
	lastWrites = 5 * time.Second // how long a last word may take when the program stops
)

// Snapshot makes a snapshot of a dataset: the states that are there at the end of a delta, each of them added. A delta is made
// first when something is new, or when the lineage has none. Changes go on meanwhile (MUT-34). One that is broken off has
// failed, and is begun again.
func (e *Exporter) Snapshot(ctx context.Context, datasetID string) (store.MutationSnapshot, error) {
	set, delta, err := e.base(ctx, datasetID)
	if err != nil {
		return store.MutationSnapshot{}, fmt.Errorf("find the delta of a snapshot: %w", err)
	}
	row := store.MutationSnapshot{DatasetID: set.ID, DeltaID: delta.ID, DeltaNumber: delta.Number, Seq: delta.ToSeq, Lineage: delta.Lineage}
	if row.ID, err = newID(); err != nil {
		return row, err
	}
	if row.Total, err = e.cfg.DB.CountStates(ctx, set, row.Seq); err != nil {
		return row, fmt.Errorf("count states: %w", err)
	}
	if err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.StartMutationSnapshot(ctx, &row) }); err != nil {
		return row, fmt.Errorf("start snapshot: %w", err)
	}
	m, err := e.writeSnapshot(ctx, set, &row, delta)
	if err == nil {
		err = e.commitSnapshot(ctx, &row, m)
	}
	if err != nil {
		err = e.overtaken(ctx, set, err)
		return row, errors.Join(err, e.failSnapshot(ctx, row.ID, err))
	}
	return row, nil
}

// base gives the delta that a snapshot made now includes, and the dataset as it is with that.
func (e *Exporter) base(ctx context.Context, datasetID string) (set store.Dataset, delta store.MutationDelta, err error) {
	for range baseTries {
		_, err = e.MakeDelta(ctx, datasetID, Options{})
		if err != nil && !errors.Is(err, ErrNothingNew) && !errors.Is(err, store.ErrConflict) {
			return set, delta, err
		}
		if set, err = e.cfg.DB.Dataset(ctx, datasetID); err != nil {
			return set, delta, err
		}
		delta, err = e.cfg.DB.LastMutationDelta(ctx, datasetID)
		if errors.Is(err, store.ErrNotFound) || err == nil && delta.Lineage != set.Lineage {
			delta, err = e.MakeDelta(ctx, datasetID, Options{Empty: true})
		}
		if err == nil && delta.Lineage == set.Lineage {
			return set, delta, nil
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return set, delta, err
		}
	}
	return set, delta, errors.Join(err, store.ErrConflict)
}

func (e *Exporter) writeSnapshot(ctx context.Context, set store.Dataset, row *store.MutationSnapshot, delta store.MutationDelta) (*writtenZip, error) {
	// Who reads no manifest finds in the files themselves which delta to go on behind (MUT-34).
	h, err := header(set, row.DeltaID, format.Initial)
	if err != nil {
		return nil, err
	}
	from, as, reported := e.cfg.DB.OpenStates(set, row.Seq), newGroups(), e.cfg.Now()
	m, err := e.write(ctx, set, h, delta.ToAt.Time, func(_ string, out *archive.DeliveryWriter) error {
		for {
			state, err := from.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read states: %w", err)
			}
			if err := writeState(out, as, &state); err != nil {
				return err
			}
			row.Done++
			if row.Done%stepLooks == 0 && e.cfg.Now().Sub(reported) >= stepEvery {
				reported = e.cfg.Now()
				if err := e.step(ctx, row); err != nil {
					return err
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	m.manifest.Lineage, m.manifest.Includes, m.manifest.To = row.Lineage, row.DeltaID, delta.ToAt.Time
	return m, nil
}

// step writes the progress of a snapshot. It answers store.ErrConflict when another node has begun it again.
func (e *Exporter) step(ctx context.Context, row *store.MutationSnapshot) error {
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.StepMutationSnapshot(ctx, row.ID, row.Done) })
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("tell how far a snapshot is: %w", err)
	}
	return nil
}

func writeState(out *archive.DeliveryWriter, as *groups, state *store.MutationState) error {
	g, err := as.added(state)
	if err != nil {
		return err
	}
	if err := out.WriteGroup(g); err != nil {
		return fmt.Errorf("state %s: %w", state.ID, err)
	}
	return nil
}

func (e *Exporter) commitSnapshot(ctx context.Context, row *store.MutationSnapshot, m *writtenZip) error {
	if row.Done != row.Total { // states come and go behind its delta, but what was there stays so
		return fmt.Errorf("the dataset has %d states, and should have %d", row.Done, row.Total)
	}
	err := e.commit(ctx, m, func(tx *store.Tx, zip storedZip) error {
		row.FileID, row.Manifest, row.Bytes, row.SHA256 = zip.file, zip.manifest, zip.bytes, zip.sha256
		return tx.FinishMutationSnapshot(ctx, row)
	})
	if err != nil {
		return fmt.Errorf("store snapshot: %w", err)
	}
	return nil
}

// failSnapshot writes why a snapshot came to nothing, also when the program is stopping.
func (e *Exporter) failSnapshot(ctx context.Context, id string, why error) error {
	reason := i18n.M("datasets.failed.snapshot", why.Error())
	switch {
	case ctx.Err() != nil:
		reason = "datasets.failed.stopped"
	case errors.Is(why, store.ErrConflict):
		reason = "datasets.failed.overtaken"
	}
	return e.lastWord(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.FailMutationSnapshot(ctx, id, string(reason)) })
}

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
