package backup

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// ErrDamaged is returned for a backup that is not what was written: cut off, changed, or no backup at all.
var ErrDamaged = errors.New("the backup is damaged or cut off, or is no backup; use another one")

// ErrOtherVersion is returned when a schema is newer than this program knows.
var ErrOtherVersion = errors.New("made by a newer Schakel: use that version of the program or a newer one")

// maxManifest bounds the manifest, in bytes.
const maxManifest = 16 << 20

const sealPrefix = "sha256:"

// sealSize gives the length of the seal at the end of a backup: "sha256:" and 64 hexadecimal digits.
const sealSize = len(sealPrefix) + 2*sha256.Size

// sealPlace fills the place of the seal.
var sealPlace = strings.Repeat("-", sealSize)

// sealer passes on what is written, but for the last sealSize bytes, which it replaces by the digest of all before.
type sealer struct {
	w    io.Writer
	sum  hash.Hash
	tail []byte
}

func newSealer(w io.Writer) *sealer { return &sealer{w: w, sum: sha256.New()} }

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	s.tail = append(s.tail, p...)
	n := len(s.tail) - sealSize
	if n <= 0 {
		return len(p), nil
	}
	s.sum.Write(s.tail[:n])
	if _, err := s.w.Write(s.tail[:n]); err != nil {
		return 0, err
	}
	s.tail = append(s.tail[:0], s.tail[n:]...)
	return len(p), nil
}

func (s *sealer) close() error {
	_, err := io.WriteString(s.w, seal(s.sum))
	return err
}

func seal(sum hash.Hash) string { return sealPrefix + hex.EncodeToString(sum.Sum(nil)) }

// File reads a backup whose every byte was checked.
type File struct {
	Manifest Manifest
	archive  *zip.Reader
}

// Open reads a whole backup of size bytes. It returns ErrDamaged when one byte is not as it was written.
func Open(ctx context.Context, r io.ReaderAt, size int64) (*File, error) {
	if err := checkSeal(ctx, r, size); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	b := &File{archive: archive}
	if err := b.readManifest(); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrDamaged, err)
	}
	if b.Manifest.Format != backupFormat {
		return nil, fmt.Errorf("%w: backup format %d, this program reads %d", ErrOtherVersion, b.Manifest.Format, backupFormat)
	}
	return b, nil
}

func checkSeal(ctx context.Context, r io.ReaderAt, size int64) error {
	end := size - int64(sealSize)
	if end <= 0 {
		return ErrDamaged
	}
	got := make([]byte, sealSize)
	if _, err := r.ReadAt(got, end); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the end: %w", err)
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, &stoppable{ctx, io.NewSectionReader(r, 0, end)}, make([]byte, 128<<10)); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if string(got) != seal(sum) {
		return ErrDamaged
	}
	return nil
}

// Until reads from r until ctx ends.
func Until(ctx context.Context, r io.Reader) io.Reader { return &stoppable{ctx, r} }

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func (b *File) readManifest() error {
	f, err := b.archive.Open(manifestName)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&b.Manifest)
}

// tableRows reads the rows of one table, and checks them against the manifest at the end.
type tableRows struct {
	table   Table
	file    io.Closer
	in      *rowReader
	counted tally
}

// open starts to read a table; whoever calls it closes the file.
func (b *File) open(ctx context.Context, t Table) (*tableRows, error) {
	f, err := b.archive.Open("tables/" + t.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &tableRows{table: t, file: f, in: newRowReader(&stoppable{ctx, f})}, nil
}

// next returns io.EOF after the last row.
func (r *tableRows) next() ([]any, error) {
	values, err := r.in.next(r.table.Columns)
	switch {
	case err == nil:
		r.counted.add(r.in.row)
		return values, nil
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read row %d: %w", r.counted.rows+1, err)
	case r.counted.rows != r.table.Rows || r.counted.digest() != r.table.Digest:
		return nil, fmt.Errorf("%w: the %d rows are not the %d of the manifest", ErrDamaged, r.counted.rows, r.table.Rows)
	}
	return nil, io.EOF
}

// each gives each row of a table to fn.
func (b *File) each(ctx context.Context, t Table, fn func(values []any) error) error {
	rows, err := b.open(ctx, t)
	if err != nil {
		return err
	}
	defer rows.file.Close()
	for {
		values, err := rows.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(values)
		}
		if err != nil {
			return err
		}
	}
}

// Check reads every row, as a restore does, and writes nothing.
func (b *File) Check(ctx context.Context) error {
	if _, err := b.schema(ctx); err != nil {
		return err
	}
	for _, t := range b.Manifest.Tables {
		if err := b.each(ctx, t, func([]any) error { return nil }); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// schema checks the tables against this version of the schema.
func (b *File) schema(ctx context.Context) ([]Table, error) {
	m := b.Manifest
	known, err := knownSchema(ctx, m.SchemaVersion)
	if err != nil {
		return nil, err
	}
	if len(known) != len(m.Tables) {
		return nil, fmt.Errorf("%w: it has %d tables, schema version %d has %d", ErrDamaged, len(m.Tables), m.SchemaVersion, len(known))
	}
	for i := range known {
		if !known[i].sameColumns(m.Tables[i]) {
			return nil, fmt.Errorf("%w: table %s is not as in schema version %d", ErrDamaged, m.Tables[i].Name, m.SchemaVersion)
		}
	}
	return known, nil
}
