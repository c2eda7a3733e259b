package backup

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"schakel/store"
)

// ReadRow reads one encoded row of columns of these kinds, and encodes it again.
func ReadRow(in []byte, kinds ...string) (values []any, again []byte, err error) {
	columns := make([]Column, len(kinds))
	for i, k := range kinds {
		columns[i] = Column{Name: k, Kind: k}
	}
	r := newRowReader(bytes.NewReader(in))
	values, err = r.next(columns)
	return values, r.row, err
}

// WriteRow encodes values as columns of these kinds.
func WriteRow(kinds []string, values ...any) (row []byte, err error) {
	for i, v := range values {
		if row, err = appendValue(row, kinds[i], v); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// SealedBackup makes a file with a good seal around a manifest and entries that may be anything.
func SealedBackup(manifest []byte, entries map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	s := newSealer(&out)
	archive := zip.NewWriter(s)
	entries[manifestName] = manifest
	for name, text := range entries {
		w, err := archive.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.SetComment(sealPlace), archive.Close(), s.close())
	return out.Bytes(), err
}

// Reseal gives changed bytes of a backup a seal that fits.
func Reseal(file []byte) []byte {
	var out bytes.Buffer
	s := newSealer(&out)
	_, _ = s.Write(file)
	_ = s.close()
	return out.Bytes()
}

// Entries takes a backup apart.
func Entries(file []byte) (Manifest, map[string][]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return Manifest{}, nil, err
	}
	entries := make(map[string][]byte)
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			return Manifest{}, nil, err
		}
		if entries[f.Name], err = io.ReadAll(r); err != nil {
			return Manifest{}, nil, err
		}
	}
	var m Manifest
	return m, entries, json.Unmarshal(entries[manifestName], &m)
}

// FillWith restores into a new SQLite file in which a statement was run before the rows came, and returns the error.
func (b *File) FillWith(ctx context.Context, path, statement string) error {
	db, err := store.Open(ctx, "sqlite:"+path, store.Options{})
	if err != nil {
		return err
	}
	err = db.MigrateTo(ctx, b.Manifest.SchemaVersion)
	if err == nil {
		_, err = writer(db).ExecContext(ctx, statement)
	}
	if err == nil {
		err = b.fillOpenSQLite(ctx, db)
	}
	return errors.Join(err, db.Close())
}
