package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// folder is a source of zips on disk, in the order of their names. The manifest of a.zip is a.json, a.zip.json or
// a.manifest.json beside it; what has none is taken as it comes.
type folder struct {
	path       string
	zips       []string
	given      int
	rebuilding bool // the copy is rebuilt: from the newest initial delivery, and what follows that
}

// NewFolder makes a source of the zips in a folder, or of one zip.
func NewFolder(path string) (Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open deliveries: %w", err)
	}
	if !info.IsDir() {
		return &folder{path: path, zips: []string{path}}, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("open deliveries: %w", err)
	}
	s := &folder{path: path}
	for _, e := range entries {
		if !e.IsDir() && strings.EqualFold(filepath.Ext(e.Name()), ".zip") {
			s.zips = append(s.zips, filepath.Join(path, e.Name()))
		}
	}
	if len(s.zips) == 0 {
		return nil, fmt.Errorf("open deliveries: there is no zip in %s", path)
	}
	return s, nil
}

// Name is the path.
func (s *folder) Name() string { return s.path }

// Initial gives the next file: in a folder a copy starts with the first. A copy that is rebuilt starts with the last
// one that says it is an initial delivery.
func (s *folder) Initial(context.Context) (*Delivery, error) {
	if !s.rebuilding {
		return s.next()
	}
	s.rebuilding = false
	for i := len(s.zips) - 1; i >= 0; i-- {
		if typeOf(s.zips[i]) == format.Initial {
			s.given = i
			break
		}
	}
	d, err := s.next()
	if err == nil {
		d.passed = names(s.zips[:s.given-1])
	}
	return d, err
}

// rewind goes back to the first file, when the copy is rebuilt.
func (s *folder) rewind() { s.given, s.rebuilding = 0, true }

// Next gives the next file, whatever it is; what is in the copy already is passed over when it is applied. Deltas that manifests
// show to be before the one that the copy needs, and that stand before it, are behind the initial delivery: they are passed over too.
func (s *folder) Next(_ context.Context, c Copy) (*Delivery, error) {
	from, to := s.given, s.given
	for i := s.given; i < len(s.zips); i++ {
		m, err := manifestBeside(s.zips[i])
		if err != nil || m == nil || m.Type != format.Delta {
			break
		}
		if m.Previous == c.DeltaID && c.DeltaID != "" && (c.Lineage == "" || m.Lineage == c.Lineage) {
			to = i
			break
		}
	}
	s.given = to
	d, err := s.next()
	if err == nil {
		d.passed = names(s.zips[from:to])
	}
	return d, err
}

// typeOf reads of a zip whether it is an initial delivery or a delta; empty when it does not say.
func typeOf(path string) format.DeliveryType {
	if m, err := manifestBeside(path); err == nil && m != nil {
		return m.Type
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h, err := archive.NewDeliveryReader(f, archive.Limits{Others: true}, format.Limits{}).Header()
	if err != nil {
		return ""
	}
	return h.Type
}

func names(paths []string) (out []string) {
	for _, p := range paths {
		out = append(out, filepath.Base(p))
	}
	return out
}

func (s *folder) next() (*Delivery, error) {
	if s.given == len(s.zips) {
		return nil, ErrUpToDate
	}
	path := s.zips[s.given]
	s.given++
	d := &Delivery{Source: s.path, byContent: true, file: filepath.Base(path), Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }}
	m, err := manifestBeside(path)
	if err != nil {
		return nil, err
	}
	d.setManifest(m)
	return d, nil
}

func (d *Delivery) setManifest(m *archive.Manifest) {
	if m == nil {
		return
	}
	d.ID, d.Type, d.Lineage, d.Manifest = m.DeliveryID, m.Type, m.Lineage, m
	d.Chained, d.Previous, d.Includes = true, m.Previous, m.Includes
}

func manifestBeside(path string) (*archive.Manifest, error) {
	bare := strings.TrimSuffix(path, filepath.Ext(path))
	for _, name := range []string{path + ".json", bare + ".manifest.json", bare + ".json"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open manifest: %w", err)
		}
		defer f.Close()
		m, err := archive.ReadManifest(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &m, nil
	}
	return nil, nil
}

// stdin is a source of one zip that can be read once.
type stdin struct {
	in    io.Reader
	given bool
}

// NewStream makes a source of one zip that is read once, such as from a pipe.
func NewStream(in io.Reader) Source { return &stdin{in: in} }

// Name says that it is a stream.
func (s *stdin) Name() string { return "-" }

// Initial gives the zip.
func (s *stdin) Initial(ctx context.Context) (*Delivery, error) { return s.Next(ctx, Copy{}) }

// Next gives the zip once.
func (s *stdin) Next(context.Context, Copy) (*Delivery, error) {
	if s.given {
		return nil, ErrUpToDate
	}
	s.given = true
	return &Delivery{byContent: true, once: true, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(s.in), nil }}, nil
}
