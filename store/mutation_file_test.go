package store_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"schakel/store"
)

// writeFile writes a file in odd pieces and closes it.
func (w *world) writeFile(data []byte) *store.FileWriter {
	w.t.Helper()
	f, err := w.db.CreateMutationFile(w.ctx, "panden")
	same(w.t, err, nil, nil)
	for rest := data; len(rest) > 0; {
		n, err := f.Write(rest[:min(len(rest), 100_003)])
		same(w.t, err, nil, nil)
		rest = rest[n:]
	}
	same(w.t, f.Close(), nil, nil)
	return f
}

func (w *world) finish(f *store.FileWriter) (made store.MutationFile) {
	w.t.Helper()
	w.write(func(tx *store.Tx) (err error) { made, err = f.Finish(w.ctx, tx); return err })
	return made
}

func (w *world) pruneFiles(limit int) int64 {
	w.t.Helper()
	return w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
		return tx.PruneMutationFiles(w.ctx, tx.Now, cursor, limit)
	}, limit+1)
}

// The bytes of a file come back as they were written, whole or in parts, whatever its size.
func TestMutationFile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, n := range []int{0, 1, store.ObjectChunk - 1, store.ObjectChunk, 2*store.ObjectChunk + 17} {
			data := bytes.Repeat([]byte("abcdefg"), n/7+1)[:n]
			f := w.writeFile(data)
			made := w.finish(f)
			sum := sha256.Sum256(data)
			if made.ID != f.ID || made.Size != int64(n) || !bytes.Equal(made.Digest, sum[:]) || made.FinishedAt != w.now() || made.DatasetID != "panden" {
				t.Fatalf("%d bytes: %+v", n, made)
			}
			gives(t, made)(w.db.MutationFile(w.ctx, f.ID))
			if err := iotest.TestReader(w.db.OpenMutationFile(w.ctx, made), data); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			if _, err := f.Write([]byte("more")); err == nil {
				t.Error("written to after its end")
			}
		}
		open, err := w.db.CreateMutationFile(w.ctx, "panden")
		same(t, err, nil, nil)
		if err := w.db.Write(w.ctx, func(tx *store.Tx) error { _, err := open.Finish(w.ctx, tx); return err }); err == nil {
			t.Error("finished without its end")
		}
		_, err = w.db.MutationFile(w.ctx, "none")
		missing(t)(err, err)
	})
}

// A file that nobody works at any more goes after an hour, and one that was dropped at once, in small steps; others stay.
func TestPruneMutationFiles(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		big := bytes.Repeat([]byte("x"), 40*store.ObjectChunk)
		orphan, kept, dropped := w.writeFile(big), w.finish(w.writeFile(big[:10])), w.finish(w.writeFile(big[:10]))
		w.clock.Advance(59 * time.Minute)
		slow, err := w.db.CreateMutationFile(w.ctx, "panden")
		same(t, err, nil, nil)
		same(t, w.pruneFiles(500), nil, int64(0))
		w.write(func(tx *store.Tx) error { return tx.HoldMutationFile(w.ctx, dropped.ID) })
		w.write(func(tx *store.Tx) error { return tx.DropMutationFile(w.ctx, dropped.ID) })
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.HoldMutationFile(w.ctx, dropped.ID) })
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DropMutationFile(w.ctx, dropped.ID) })
		w.clock.Advance(time.Minute)
		same(t, w.pruneFiles(7), nil, int64(40+1+1+1))
		for _, id := range []string{orphan.ID, dropped.ID} {
			missing(t)(w.db.MutationFile(w.ctx, id))
		}
		_, err = io.Copy(io.Discard, w.db.OpenMutationFile(w.ctx, dropped))
		missing(t)(err, err)
		got, err := io.ReadAll(w.db.OpenMutationFile(w.ctx, kept))
		same(t, len(got), err, 10)
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { _, err := orphan.Finish(w.ctx, tx); return err })

		// The first piece of a slow one comes too late.
		w.clock.Advance(time.Hour)
		same(t, w.pruneFiles(500), nil, int64(1))
		if _, err := slow.Write(big[:store.ObjectChunk]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a removed file takes more: %v", err)
		}
		if err := slow.Close(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a removed file is closed: %v", err)
		}
	})
}
