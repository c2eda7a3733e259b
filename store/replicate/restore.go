package replicate

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"schakel/store"
	"schakel/store/backup"
)

// ErrNothing is returned for a folder of which no database can be made, or none as of the moment asked for.
var ErrNothing = errors.New("no copy of a database")

// Plan lists the files of a folder that a restore takes.
type Plan struct {
	At       time.Time // nothing committed later is in the database
	Earliest time.Time // the first moment that the folder has
	Segments int

	snapshot piece
	segments []piece
}

// Find plans a restore of what was committed by at, or of all when that is zero.
func Find(folder string, at time.Time) (Plan, error) {
	all, err := histories(folder)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	for i := len(all) - 1; i >= 0; i-- {
		h := all[i]
		for j := len(h.snapshots) - 1; j >= 0; j-- {
			s := h.snapshots[j]
			p.Earliest = s.at
			if p.snapshot.path != "" || !at.IsZero() && s.at.After(at) {
				continue
			}
			p.snapshot, p.At = s, s.at
			for _, one := range h.segments {
				if one.first >= s.first && (at.IsZero() || one.first <= s.last || !one.at.After(at)) {
					p.segments = append(p.segments, one)
				}
			}
		}
	}
	if p.snapshot.path == "" && p.Earliest.IsZero() {
		return Plan{}, fmt.Errorf("%w is in %s: it has no whole snapshot", ErrNothing, folder)
	}
	if p.snapshot.path == "" {
		return Plan{}, fmt.Errorf("%w as of %s is in %s: the earliest is of %s", ErrNothing, at.UTC().Format(time.RFC3339), folder, p.Earliest.Format(time.RFC3339Nano))
	}
	if n := len(p.segments); n > 0 && p.segments[n-1].at.After(p.At) {
		p.At = p.segments[n-1].at
	}
	p.Segments = len(p.segments)
	return p, p.whole()
}

// whole refuses a plan of which a segment is missing.
func (p Plan) whole() error {
	next := p.snapshot.first
	for _, s := range p.segments {
		if s.first != next {
			return missing(p, next)
		}
		next++
	}
	if next <= p.snapshot.last {
		return missing(p, next)
	}
	return nil
}

func missing(p Plan, sequence int64) error {
	return fmt.Errorf("%w: segment %d of %s is missing; a restore to an earlier moment, with --at, may not take it", backup.ErrDamaged, sequence, p.snapshot.path)
}

// Restore makes the database at path, where nothing may be. Each segment is checked against the next. Deliveries go on; logins end.
func (p Plan) Restore(ctx context.Context, path string, identities []byte, o store.Options) error {
	err := backup.MakeSQLite(ctx, path, o, func(ctx context.Context, made string) error { return p.fill(ctx, made, identities) })
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

func (p Plan) fill(ctx context.Context, made string, identities []byte) error {
	f, err := os.OpenFile(made, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.Check(ctx, f, identities); err != nil {
		return err
	}
	return f.Sync()
}

// target takes the database; that of a check drops it.
type target interface {
	io.Writer
	io.WriterAt
	Truncate(size int64) error
}

// Nowhere is a target of Check that writes nothing.
var Nowhere target = nowhere{}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error)            { return len(b), nil }
func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (nowhere) Truncate(int64) error                   { return nil }

// Check reads all that a restore takes and writes the database to a target.
func (p Plan) Check(ctx context.Context, to target, identities []byte) error {
	err := readFile(ctx, p.snapshot.path, identities, func(r io.Reader) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{to}, r, make([]byte, 1<<20))
		return err
	})
	if err != nil {
		return err
	}
	previous := ""
	for i, one := range p.segments {
		sum, err := sumOf(one.path)
		if err != nil {
			return err
		}
		err = readFile(ctx, one.path, identities, func(r io.Reader) error {
			s, err := apply(bufio.NewReaderSize(r, 1<<16), to)
			if err == nil && (s.Sequence != one.first || i > 0 && s.Previous != previous) {
				err = fmt.Errorf("%w: it does not follow the segment before", backup.ErrDamaged)
			}
			return err
		})
		if err != nil {
			return err
		}
		previous = sum
	}
	return nil
}

// apply writes the pages of a segment where they belong.
func apply(r *bufio.Reader, to target) (segment, error) {
	var s segment
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(line), &s)
	}
	if err == nil && (s.PageSize < 512 || s.PageSize > 1<<16) {
		err = fmt.Errorf("pages of %d bytes", s.PageSize)
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", backup.ErrDamaged, err)
	}
	page := make([]byte, 4+s.PageSize)
	for range s.Changed {
		if _, err := io.ReadFull(r, page); err != nil {
			return s, fmt.Errorf("%w: %w", backup.ErrDamaged, err)
		}
		number := int64(binary.BigEndian.Uint32(page))
		if _, err := to.WriteAt(page[4:], (number-1)*s.PageSize); err != nil {
			return s, err
		}
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) { // the checksum of the compression comes with the end
		return s, fmt.Errorf("%w: it goes on behind its end", backup.ErrDamaged)
	}
	return s, to.Truncate(int64(s.Pages) * s.PageSize)
}

// readFile gives what a file holds, decrypted and decompressed.
func readFile(ctx context.Context, path string, identities []byte, use func(r io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	opened, size, err := backup.Decrypt(f, info.Size(), identities)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	packed, err := gzip.NewReader(bufio.NewReader(backup.Until(ctx, io.NewSectionReader(opened, 0, size))))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, backup.ErrDamaged, err)
	}
	if err := use(packed); err != nil {
		if corrupt := flate.CorruptInputError(0); errors.As(err, &corrupt) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %w", backup.ErrDamaged, err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// sumOf returns the SHA-256 of a file.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
