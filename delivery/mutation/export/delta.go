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
