package follow

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
)

// folder is a source of zips on disk, in the order of their names. The manifest of a.zip is a.json, a.zip.json or
// a.manifest.json beside it; what has none is taken as it comes.
type folder struct {
	path  string
	zips  []string
	given int
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

// Initial gives the next file: in a folder the first is what the copy starts with.
func (s *folder) Initial(ctx context.Context) (*Delivery, error) { return s.Next(ctx, Copy{}) }

// rewind goes back to the first file, when the copy is made anew.
func (s *folder) rewind() { s.given = 0 }

// Next gives the next file, whatever it is; what is in the copy already is passed over when it is applied.
func (s *folder) Next(context.Context, Copy) (*Delivery, error) {
	if s.given == len(s.zips) {
		return nil, ErrUpToDate
	}
	path := s.zips[s.given]
	s.given++
	d := &Delivery{Source: s.path, file: filepath.Base(path), Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }}
	m, err := manifestBeside(path)
	if err != nil {
		return nil, err
	}
	d.told(m)
	return d, nil
}

// told takes over what a manifest says.
func (d *Delivery) told(m *archive.Manifest) {
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
	return &Delivery{Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(s.in), nil }}, nil
}
