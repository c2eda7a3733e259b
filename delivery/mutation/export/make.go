package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store"
	"schakel/templates/i18n"
)

// Work makes the download that waits longest, if any, and reports whether there was one. While it does, no other node makes it;
// when the program stops it is released, unless that was in the middle of the claim. What fails for a reason that stays has
// failed; for another it is tried again when its lease is over.
func (e *Exporter) Work(ctx context.Context) (bool, error) {
	var row store.MutationDownload
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		row, err = tx.ClaimMutationDownload(ctx, e.cfg.Node, store.At(tx.Now.Add(e.cfg.Lease)))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim download: %w", err)
	}
	err = e.make(ctx, &row)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrLeaseLost):
		e.cfg.Log.WarnContext(ctx, "another node has taken a download over", slog.String("download", row.ID))
		return true, nil
	case ctx.Err() != nil:
		return true, e.lastWord(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.LetGoOfMutationDownload(ctx, row.ID, e.cfg.Node)
		})
	case stays(err):
		row.Status, row.Error = store.MutationFailed, string(failureText(err))
		return true, errors.Join(err, e.lastWord(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.EndMutationDownload(ctx, &row) }))
	}
	return true, fmt.Errorf("make download %s: %w", row.ID, err)
}

// lastWord writes what became of work, also when the program is stopping.
func (e *Exporter) lastWord(ctx context.Context, write func(context.Context, *store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return write(ctx, tx) })
}

// stays reports whether trying again is of no use.
func stays(err error) bool {
	for _, kind := range []error{
		store.ErrNotFound, ErrDeltaExpired, ErrNoSnapshot, ErrGeofilter, area.ErrArea, archive.ErrZip, archive.ErrTruncated, archive.ErrLimit, archive.ErrOrder,
		archive.ErrMixed, archive.ErrName, archive.ErrUnsupported, format.ErrFormat, format.ErrLimit, format.ErrInvalid, format.ErrTruncated,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// failureText writes a failure that stays, to be stored: as a message for its reader, with what was found in English.
func failureText(err error) i18n.Message {
	switch {
	case errors.Is(err, ErrDeltaExpired):
		return "datasets.failed.delta-expired"
	case errors.Is(err, ErrNoSnapshot):
		return "datasets.failed.no-snapshot"
	case errors.Is(err, ErrGeofilter), errors.Is(err, area.ErrArea):
		return i18n.M("datasets.failed.area", err.Error())
	case errors.Is(err, store.ErrNotFound):
		return i18n.M("datasets.failed.gone", err.Error())
	}
	return i18n.M("datasets.failed.file", err.Error())
}

func (e *Exporter) make(ctx context.Context, row *store.MutationDownload) error {
	set, err := e.cfg.DB.Dataset(ctx, row.DatasetID)
	if err != nil {
		return fmt.Errorf("find dataset: %w", err)
	}
	of, err := e.sourceOf(ctx, row)
	if err != nil {
		return err
	}
	wants, err := partOf(ctx, e.cfg.DB, set, row.AreaID, row.Geofilter, row.ObjectTypes)
	if err != nil {
		return err
	}
	shared, err := e.share(ctx, of, wants, row)
	if err != nil || shared {
		return err
	}
	return e.copyPart(ctx, set, of, wants, row)
}

// sourceOf finds what a download is a part of.
func (e *Exporter) sourceOf(ctx context.Context, row *store.MutationDownload) (whole, error) {
	if row.DeltaID != "" {
		d, err := e.cfg.DB.MutationDelta(ctx, row.DeltaID)
		if err == nil && !d.GoneAt.IsZero() {
			err = ErrDeltaExpired
		}
		return wholeDelta(d), err
	}
	s, err := e.cfg.DB.MutationSnapshot(ctx, row.SnapshotID)
	if err == nil && !s.GoneAt.IsZero() {
		err = ErrNoSnapshot
	}
	return wholeSnapshot(s), err
}

// share completes a download with a file that is there, when one has its bytes.
func (e *Exporter) share(ctx context.Context, of whole, wants part, row *store.MutationDownload) (shared bool, err error) {
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if shared, err = findSame(ctx, tx, of, wants, row); err != nil || !shared {
			return err
		}
		row.Status = store.MutationCompleted
		return tx.EndMutationDownload(ctx, row)
	})
	return shared, err
}

// findSame fills in the file of a download when one is there with its bytes.
func findSame(ctx context.Context, tx *store.Tx, of whole, wants part, row *store.MutationDownload) (bool, error) {
	if wants.all() {
		m, err := Manifest(of.manifest)
		row.FileID, row.Manifest, row.Bytes, row.SHA256 = of.fileID, of.manifest, m.Bytes, m.SHA256
		if err == nil {
			err = tx.HoldMutationFile(ctx, of.fileID)
		}
		return err == nil, err
	}
	same, err := tx.SameMutationDownload(ctx, store.MutationDownloadKey{DeltaID: of.deltaID, SnapshotID: of.snapshotID, Lineage: row.Lineage, Mark: row.Mark})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = tx.HoldMutationFile(ctx, same.FileID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // it ended at this moment
	}
	row.FileID, row.Manifest, row.Bytes, row.SHA256 = same.FileID, same.Manifest, same.Bytes, same.SHA256
	return err == nil, err
}

// copyPart writes the part of the zip of a delta or snapshot that is wanted.
func (e *Exporter) copyPart(ctx context.Context, set store.Dataset, of whole, wants part, row *store.MutationDownload) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	manifest, err := Manifest(of.manifest)
	if err != nil {
		return err
	}
	filter, err := wants.filter(set)
	if err != nil {
		return err
	}
	file, err := e.cfg.DB.MutationFile(ctx, of.fileID)
	if err != nil {
		return fmt.Errorf("find file: %w", err)
	}
	h, err := header(set, NameOf(manifest.DeliveryID, row.Mark), manifest.Type)
	if err != nil {
		return err
	}
	h.Area = wants.text()
	if len(wants.types) > 0 {
		h.ObjectTypes = wants.types
	}
	b, raw := &beats{total: manifest.Counts.Groups}, &storedBytes{from: e.cfg.DB.OpenMutationFile(ctx, file)}
	var beating sync.WaitGroup
	m, err := e.write(ctx, set, h, manifest.To, func(fileID string, out *archive.DeliveryWriter) error {
		b.fileID = fileID
		beating.Go(func() { e.beat(ctx, row, b, cancel) })
		in := archive.NewDeliveryReader(raw, unbounded, format.Limits{})
		err := area.Copy(ctx, in, out, filter, b.done.Store)
		return cmp.Or(raw.away, err)
	})
	lost := context.Cause(ctx)
	cancel(nil)
	beating.Wait()
	if errors.Is(lost, store.ErrLeaseLost) {
		return store.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("write part: %w", err)
	}
	if n := filter.Unreadable(); n > 0 {
		e.cfg.Log.WarnContext(ctx, "states whose geometry cannot be read count as inside an area", slog.String("dataset", set.ID), slog.String("download", row.ID), slog.Int64("states", n))
	}
	m.manifest.Lineage, m.manifest.Previous, m.manifest.Includes = row.Lineage, NameOf(manifest.Previous, row.Mark), NameOf(manifest.Includes, row.Mark)
	m.manifest.From, m.manifest.To, m.manifest.Located = manifest.From, manifest.To, wants.located(set)
	return e.commitPart(context.WithoutCancel(ctx), row, m)
}

// storedBytes reads a file, and knows when the database was away: the zip seems to end in the middle then.
type storedBytes struct {
	from *store.ObjectReader
	away error
}

// Read implements io.Reader.
func (k *storedBytes) Read(p []byte) (int, error) {
	n, err := k.from.Read(p)
	if store.Away(err) && err != io.ErrUnexpectedEOF { //nolint:errorlint // alone it says that a piece is too short
		k.away = err
	}
	return n, err
}

// unbounded takes our own zips as they are.
var unbounded = archive.Limits{Entries: -1, Entry: -1, Total: -1, Ratio: -1}

func (e *Exporter) commitPart(ctx context.Context, row *store.MutationDownload, m *writtenZip) error {
	return e.commit(ctx, m, func(tx *store.Tx, zip storedZip) error {
		row.Status, row.FileID, row.Manifest, row.Bytes, row.SHA256 = store.MutationCompleted, zip.file, zip.manifest, zip.bytes, zip.sha256
		return tx.EndMutationDownload(ctx, row)
	})
}

// beats counts the progress of a download.
type beats struct {
	fileID string
	total  int64 // groups to look at
	done   atomic.Int64
}

func (b *beats) progress() int64 { return min(99, b.done.Load()*100/max(b.total, 1)) }

// beat renews the lease of a download while it is made, and writes its progress. When the lease is lost it ends the work.
func (e *Exporter) beat(ctx context.Context, row *store.MutationDownload, b *beats, end context.CancelCauseFunc) {
	tick := time.NewTicker(max(e.cfg.Lease/12, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			if err := tx.KeepMutationDownload(ctx, row.ID, e.cfg.Node, store.At(tx.Now.Add(e.cfg.Lease)), b.progress()); err != nil {
				return err
			}
			return tx.TouchMutationFile(ctx, b.fileID) // a small part of much gets no piece for hours
		})
		if errors.Is(err, store.ErrLeaseLost) {
			end(store.ErrLeaseLost)
			return
		}
	}
}
