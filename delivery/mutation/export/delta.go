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
)

// Options sets when MakeDelta makes a delta.
type Options struct {
	Empty bool // make it also when nothing is new
}

// MakeDelta makes the next delta of a dataset: all groups behind the one before it, up to the last there is now. When there are
// none it answers ErrNothingNew, having noted that the dataset is up to date. store.ErrConflict says that another node was
// faster, or that the history was replaced meanwhile; nothing was stored then.
func (e *Exporter) MakeDelta(ctx context.Context, datasetID string, o Options) (store.MutationDelta, error) {
	until := store.At(e.cfg.Now()) // before the last group is looked up, so that all that came before it are in
	next, err := e.cfg.DB.NextMutationDelta(ctx, datasetID)
	if err != nil {
		return next, fmt.Errorf("find next delta: %w", err)
	}
	set, err := e.cfg.DB.Dataset(ctx, datasetID)
	if err != nil {
		return next, fmt.Errorf("read dataset: %w", err)
	}
	if next.FromSeq == next.ToSeq && !o.Empty {
		return next, e.upToDate(ctx, set, until)
	}
	next.ToAt = until
	if earliest := next.FromAt.Add(time.Microsecond); until.Before(earliest) { // the clock went back
		next.ToAt = store.At(earliest)
	}
	if next.ID, err = newID(); err != nil {
		return next, err
	}
	m, err := e.writeDelta(ctx, set, next)
	if err != nil {
		return next, e.overtaken(ctx, set, fmt.Errorf("write delta: %w", err))
	}
	return next, e.commitDelta(ctx, set, &next, m)
}

// overtaken makes store.ErrConflict of what came to nothing because the history was replaced meanwhile: it may be gone then.
func (e *Exporter) overtaken(ctx context.Context, set store.Dataset, err error) error {
	now, unknown := e.cfg.DB.Dataset(ctx, set.ID)
	if unknown == nil && now.Lineage != set.Lineage {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	return err
}

func (e *Exporter) upToDate(ctx context.Context, set store.Dataset, until store.Time) error {
	if !until.After(set.CheckedAt.Time) {
		return ErrNothingNew
	}
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.CheckDataset(ctx, set.ID, until) })
	if err != nil {
		return fmt.Errorf("note that the dataset is up to date: %w", err)
	}
	return ErrNothingNew
}

// writeDelta writes the groups of a delta, as they stand in the history.
func (e *Exporter) writeDelta(ctx context.Context, set store.Dataset, d store.MutationDelta) (*writtenZip, error) {
	h, err := header(set, d.ID, format.Delta)
	if err != nil {
		return nil, err
	}
	from, as := e.cfg.DB.OpenGroups(d.DatasetID, d.FromSeq, d.ToSeq), newGroups()
	m, err := e.write(ctx, set, h, d.ToAt.Time, func(_ string, out *archive.DeliveryWriter) error {
		for {
			record, err := from.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read groups: %w", err)
			}
			g, err := as.group(record)
			if err != nil {
				return err
			}
			if err := out.WriteGroup(g); err != nil {
				return fmt.Errorf("group %d: %w", record.Seq, err)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if m.manifest.Counts.Groups != d.ToSeq-d.FromSeq {
		return nil, fmt.Errorf("the history has %d groups behind %d, and should have %d", m.manifest.Counts.Groups, d.FromSeq, d.ToSeq-d.FromSeq)
	}
	m.manifest.Lineage, m.manifest.Previous, m.manifest.From, m.manifest.To = d.Lineage, d.PreviousID, d.FromAt.Time, d.ToAt.Time
	return m, nil
}

// commitDelta stores the delta with its zip, and with what its followers want of it.
func (e *Exporter) commitDelta(ctx context.Context, set store.Dataset, d *store.MutationDelta, m *writtenZip) error {
	known, err := e.lineages(ctx, set, d.Lineage)
	if err != nil {
		return err
	}
	return e.commit(ctx, m, func(tx *store.Tx, zip storedZip) error {
		d.FileID, d.Manifest, d.Bytes, d.SHA256 = zip.file, zip.manifest, zip.bytes, zip.sha256
		if err := tx.InsertMutationDelta(ctx, d); err != nil {
			return err
		}
		return e.wantParts(ctx, tx, set, *d, known)
	})
}

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
