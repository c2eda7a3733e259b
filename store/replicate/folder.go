package replicate

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"filippo.io/age"
	"schakel/store/backup"
)

// A folder holds
//
//	RUN/snapshot-FIRST-LAST-TIME.db    the file of the database; with the segments FIRST to LAST it is as of TIME
//	RUN/DAY-HOUR/SEQUENCE-TIME.seg     the pages that changed, as of TIME
//
// each compressed (gzip) and, for recipients, encrypted (age). A file has its name when it is whole and on the disk, and never changes after.

// stamp is the form of times in names: UTC, to the millisecond, rounded up.
const stamp = "20060102T150405.000Z"

func stamped(t time.Time) string { return t.UTC().Add(time.Millisecond - 1).Format(stamp) }

var (
	snapshotName = regexp.MustCompile(`^snapshot-(\d{10})-(\d{10})-(\d{8}T\d{6}\.\d{3}Z)\.db$`)
	segmentName  = regexp.MustCompile(`^(\d{10})-(\d{8}T\d{6}\.\d{3}Z)\.seg$`)
	runName      = regexp.MustCompile(`^run-\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}$`)
)

// newRun makes the folder of a run. Names of runs sort by time.
func newRun(folder string, now time.Time) (string, error) {
	random := make([]byte, 4)
	_, _ = rand.Read(random)
	run := filepath.Join(folder, "run-"+stamped(now)+"-"+hex.EncodeToString(random))
	return run, os.MkdirAll(run, 0o700)
}

// lockName names the file that keeps a folder to one process.
const lockName = "lock"

// takeFolder keeps a folder to this process, and leaves a mark in it. The kernel lets go of it when the process ends, however it ends.
func takeFolder(folder, mark string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the copy: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the copy: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another Schakel copies its database to %s: give each a folder of its own: %w", folder, err), f.Close())
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(mark), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark the folder of the copy: %w", err), f.Close())
	}
	return f, nil
}

// isThere refuses a folder without the mark: the place where a share or disk was mounted, which is not any more, is an empty folder.
func isThere(folder, mark string) error {
	got, err := os.ReadFile(filepath.Join(folder, lockName))
	if err == nil && string(got) != mark {
		err = errors.New("its file \"lock\" is another one")
	}
	if err != nil {
		return fmt.Errorf("%s is not the folder that the program began with; is it mounted? %w", folder, err)
	}
	return nil
}

// segment holds the pages that transactions changed.
type segment struct {
	Sequence int64     `json:"sequence"`
	At       time.Time `json:"at"`       // nothing committed later is in it
	PageSize int64     `json:"pageSize"` // in bytes
	Pages    uint32    `json:"pages"`    // of the database then
	Previous string    `json:"previous"` // SHA-256 of the file of the segment before; empty for the first
	Changed  int       `json:"changed"`  // how many pages follow

	pages map[uint32][]byte
}

func (s *segment) size() int { return len(s.pages) * int(s.PageSize) }

// write writes the file of a segment and returns its SHA-256 and length: a line of JSON, then each page behind its number.
func (s *segment) write(run string, recipients []age.Recipient) (sum string, n int64, err error) {
	s.Changed = len(s.pages)
	folder := filepath.Join(run, s.At.UTC().Format("20060102-15"))
	path := filepath.Join(folder, fmt.Sprintf("%010d-%s.seg", s.Sequence, stamped(s.At)))
	return writeFile(path, recipients, func(w io.Writer) error {
		if err := json.NewEncoder(w).Encode(s); err != nil {
			return err
		}
		for _, number := range slices.Sorted(maps.Keys(s.pages)) {
			if err := binary.Write(w, binary.BigEndian, number); err != nil {
				return err
			}
			if _, err := w.Write(s.pages[number]); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile writes what fill gives, compressed and encrypted, and gives it its name when it is on the disk. It returns the SHA-256 of the
// file, and its length.
func writeFile(path string, recipients []age.Recipient, fill func(w io.Writer) error) (sum string, n int64, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", 0, err
	}
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	sealed, err := backup.Encrypt(io.MultiWriter(f, hash), recipients)
	if err != nil {
		return "", 0, err
	}
	packed, _ := gzip.NewWriterLevel(sealed, gzip.BestSpeed) // the level is one
	if err := errors.Join(fill(packed), packed.Close(), sealed.Close(), f.Sync()); err != nil {
		return "", 0, errors.Join(err, os.Remove(f.Name()))
	}
	if n, err = f.Seek(0, io.SeekCurrent); err != nil {
		return "", 0, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(hash.Sum(nil)), n, syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// snapshot is a copy of the whole file that is being made.
type snapshot struct {
	run   string
	first int64
	made  string
	size  int64 // in bytes, as err once done is closed
	err   error
	done  chan struct{}
	end   context.CancelFunc
}

func startSnapshot(database *os.File, run string, first int64, recipients []age.Recipient, written *atomic.Int64) *snapshot {
	ctx, cancel := context.WithCancel(context.Background())
	s := &snapshot{run: run, first: first, made: filepath.Join(run, "snapshot"), done: make(chan struct{}), end: cancel}
	go func() {
		defer close(s.done)
		_, n, err := writeFile(s.made, recipients, func(w io.Writer) error {
			info, err := database.Stat()
			if err != nil {
				return err
			}
			_, err = io.CopyBuffer(struct{ io.Writer }{w}, backup.Until(ctx, io.NewSectionReader(database, 0, info.Size())), make([]byte, 1<<20))
			return err
		})
		written.Add(n)
		s.size, s.err = n, err
	}()
	return s
}

// ended reports whether it was made, or failed. It is false of nil.
func (s *snapshot) ended() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// stop breaks it off and waits for that, but not for long: a folder that is away may keep it.
func (s *snapshot) stop() {
	if s == nil {
		return
	}
	s.end()
	select {
	case <-s.done:
	case <-time.After(turnWait):
	}
}

// name gives it its name: with the segments up to last it is as of at.
func (s *snapshot) name(last int64, at time.Time) (path string, err error) {
	path = filepath.Join(s.run, fmt.Sprintf("snapshot-%010d-%010d-%s.db", s.first, last, stamped(at)))
	if err := os.Rename(s.made, path); err != nil {
		return "", err
	}
	return path, syncFolder(s.run)
}

// piece is a file of a folder.
type piece struct {
	path        string
	first, last int64 // segments that a snapshot takes; of a segment both are its sequence
	at          time.Time
}

// history is a run as it lies in a folder, each part in order.
type history struct {
	folder              string
	snapshots, segments []piece
}

// histories reads the names in a folder, oldest run first.
func histories(folder string) ([]history, error) {
	runs, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the folder of the copy: %w", err)
	}
	var all []history
	for _, entry := range runs {
		if !runName.MatchString(entry.Name()) {
			continue
		}
		h := history{folder: filepath.Join(folder, entry.Name())}
		if h.snapshots, err = pieces(h.folder, snapshotName); err != nil {
			return nil, err
		}
		hours, err := os.ReadDir(h.folder)
		if err != nil {
			return nil, err
		}
		for _, hour := range hours {
			if !hour.IsDir() {
				continue
			}
			segments, err := pieces(filepath.Join(h.folder, hour.Name()), segmentName)
			if err != nil {
				return nil, err
			}
			h.segments = append(h.segments, segments...)
		}
		slices.SortFunc(h.segments, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
		slices.SortFunc(h.snapshots, func(a, b piece) int { return a.at.Compare(b.at) })
		all = append(all, h)
	}
	return all, nil
}

func pieces(folder string, form *regexp.Regexp) ([]piece, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []piece
	for _, e := range entries {
		found := form.FindStringSubmatch(e.Name())
		if found == nil {
			continue
		}
		at, err := time.Parse(stamp, found[len(found)-1])
		if err != nil {
			return nil, fmt.Errorf("%s: the time in its name: %w", filepath.Join(folder, e.Name()), err)
		}
		p := piece{path: filepath.Join(folder, e.Name()), at: at}
		p.first, _ = strconv.ParseInt(found[1], 10, 64) // ten digits
		p.last = p.first
		if len(found) == 4 {
			p.last, _ = strconv.ParseInt(found[2], 10, 64)
		}
		all = append(all, p)
	}
	return all, nil
}

// Prune removes what no restore to a moment from since on takes.
func Prune(folder string, since time.Time) error {
	all, err := histories(folder)
	if err != nil {
		return err
	}
	for i := len(all) - 1; i >= 0; i-- {
		old := all[i].snapshots
		n := slices.IndexFunc(old, func(p piece) bool { return p.at.After(since) })
		if n < 0 {
			n = len(old)
		}
		if n == 0 {
			continue
		}
		keep := old[n-1] // a restore to since takes this one
		for _, p := range old[:n-1] {
			err = errors.Join(err, os.Remove(p.path))
		}
		for _, p := range all[i].segments {
			if p.first < keep.first {
				err = errors.Join(err, os.Remove(p.path))
			}
		}
		for _, before := range all[:i] {
			err = errors.Join(err, os.RemoveAll(before.folder))
		}
		return errors.Join(err, pruneHours(all[i].folder))
	}
	return nil
}

// pruneHours removes the folders of hours that are empty.
func pruneHours(run string) error {
	entries, err := os.ReadDir(run)
	for _, e := range entries {
		if e.IsDir() {
			_ = os.Remove(filepath.Join(run, e.Name())) // one that is not empty stays
		}
	}
	return err
}
