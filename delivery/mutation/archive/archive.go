// Package archive reads and writes the zips of mutation deliveries as a stream, and the deliveries in them.
//
// The names in such a zip, the files in it and their processing have one order (MUT-27), so that a consumer can start
// while it still downloads (MUT-28). Reading needs no seeking: it goes by the local headers, and holds the central
// directory at the end against what it saw. Nothing of a zip is trusted: names, sizes, ratios and counts are bounded,
// and what is encrypted, hidden between the entries or cut off is refused (MUT-29, MUT-30).
package archive

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"schakel/delivery/mutation/format"
)

// Manifest stands beside a zip and holds the metadata for which the format has no place (MUT-65).
type Manifest struct {
	Dataset     string              `json:"dataset"`
	DeliveryID  string              `json:"deliveryId"`
	Type        format.DeliveryType `json:"type"`
	Lineage     string              `json:"lineage"`            // a copy goes on only within one lineage (MUT-38)
	Previous    string              `json:"previous,omitempty"` // the delivery that comes before this delta (MUT-35)
	Includes    string              `json:"includes,omitempty"` // the last delta that an initial state has in it (MUT-34)
	From        time.Time           `json:"from,omitzero"`
	To          time.Time           `json:"to,omitzero"`
	Area        string              `json:"area,omitempty"`    // as in the files; empty is everything (MUT-41)
	Located     *Located            `json:"located,omitempty"` // by what its objects lie in the area
	ObjectTypes []string            `json:"objectTypes"`
	Counts      Counts              `json:"counts"`
	Files       int                 `json:"files"`
	Bytes       int64               `json:"bytes"`  // of the zip
	SHA256      string              `json:"sha256"` // of the zip, in hexadecimal
}

// Located names what places the objects of a dataset in an area, so that the keeper of a part sees what leaves it (MUT-45).
type Located struct {
	CRS              int      `json:"crs,omitempty"`              // EPSG code of the dataset
	GeometryElements []string `json:"geometryElements,omitempty"` // local names below which geometry counts; none: all of it
	KeyElements      []string `json:"keyElements,omitempty"`      // local names whose text is a key
}

// Counts holds the number of each kind.
type Counts struct {
	Groups  int64 `json:"groups"`
	Adds    int64 `json:"adds"`
	Changes int64 `json:"changes"`
	Deletes int64 `json:"deletes"`
}

// Mutations counts all mutations.
func (c Counts) Mutations() int64 { return c.Adds + c.Changes + c.Deletes }

// Add counts one more group.
func (c *Counts) Add(g *format.Group) {
	c.Groups++
	for i := range g.Mutations {
		switch g.Mutations[i].Kind() {
		case format.Add:
			c.Adds++
		case format.Change:
			c.Changes++
		case format.Delete:
			c.Deletes++
		}
	}
}

// longestManifest bounds a manifest in bytes; its area can be a large polygon.
const longestManifest = 8 << 20

// ReadManifest reads a manifest. Fields it does not know are no error: a later version may have more.
func ReadManifest(r io.Reader) (Manifest, error) {
	var m Manifest
	raw, err := io.ReadAll(io.LimitReader(r, longestManifest+1))
	if err != nil {
		return m, fmt.Errorf("read a manifest: %w", err)
	}
	if len(raw) > longestManifest {
		return m, fault(ErrLimit, "a manifest of more than %d bytes", longestManifest)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("read a manifest: %w", err)
	}
	if sum, err := hex.DecodeString(m.SHA256); err != nil || len(sum) != 32 || m.DeliveryID == "" {
		return m, fault(ErrManifest, "it has no delivery id or no SHA-256")
	}
	return m, nil
}

// Check compares a manifest with what was seen of the zip it stands beside.
func (m Manifest) Check(seen Manifest) error {
	switch {
	case m.Dataset != seen.Dataset || m.DeliveryID != seen.DeliveryID || m.Type != seen.Type:
		return fault(ErrManifest, "it is of another delivery: %s %s", m.Dataset, m.DeliveryID)
	case m.SHA256 != seen.SHA256 || m.Bytes != seen.Bytes:
		return fault(ErrManifest, "the zip has other bytes: %d, and %d expected", seen.Bytes, m.Bytes)
	case m.Counts != seen.Counts || m.Files != seen.Files:
		return fault(ErrManifest, "the zip holds %+v, and %+v was expected", seen.Counts, m.Counts)
	}
	return nil
}

// What a caller may want to tell apart.
var (
	// ErrZip is met when the stream is no zip, or a broken one.
	ErrZip = errors.New("the zip is broken")
	// ErrTruncated is met when the stream ends before the zip does; whole entries before that are whole (MUT-29).
	ErrTruncated = errors.New("the zip ends in the middle")
	// ErrLimit is met when a zip exceeds a bound, such as a zip bomb does (MUT-30).
	ErrLimit = errors.New("the zip exceeds a limit")
	// ErrName is met when a name in the zip may not stand there.
	ErrName = errors.New("a name in the zip is not accepted")
	// ErrOrder is met when the names are not in the order of the files (MUT-27).
	ErrOrder = errors.New("the files in the zip are not in the order of their names")
	// ErrMixed is met when a file in the zip belongs to another delivery than the first one (MUT-21).
	ErrMixed = errors.New("the files in the zip are not of one delivery")
	// ErrManifest is met when a manifest does not fit its zip (MUT-65).
	ErrManifest = errors.New("the manifest is not right")
	// ErrUnsupported is met at encryption, and at ways of compression other than deflate.
	ErrUnsupported = errors.New("the zip uses what is not supported here")
)

// Error says in which entry of a zip something went wrong.
type Error struct {
	Entry string // empty: outside entries
	Index int    // of the entry, from 1
	Err   error
}

// Error names the entry first.
func (e *Error) Error() string {
	if e.Entry == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("file %d (%s): %v", e.Index, e.Entry, e.Err)
}

// Unwrap gives the kind of the error.
func (e *Error) Unwrap() error { return e.Err }

func fault(kind error, what string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(what, args...))
}

// Limits bounds what a zip may ask. A zero field takes its default; a negative one is no bound.
type Limits struct {
	Entries int   // files; default 200,000
	Entry   int64 // bytes of one file unpacked; default 8 GiB
	Total   int64 // bytes of all of them unpacked; default 4 TiB
	Ratio   int64 // unpacked to packed bytes of one file, and of all of them; default 200
	Free    int64 // unpacked bytes before the ratio counts; default 1 MiB
	Others  bool  // files that are no XML are reported instead of refused in a delivery
}

func (l Limits) filled() Limits {
	or := func(n *int64, value int64) {
		switch {
		case *n == 0:
			*n = value
		case *n < 0:
			*n = 1<<63 - 1
		}
	}
	entries := int64(l.Entries)
	or(&entries, 200_000)
	l.Entries = int(entries)
	or(&l.Entry, 8<<30)
	or(&l.Total, 4<<40)
	or(&l.Ratio, 200)
	or(&l.Free, 1<<20)
	return l
}

// allow reports whether so many unpacked bytes may come of so many packed ones.
func (l Limits) allow(unpacked, packed int64) error {
	if unpacked > l.Free && unpacked/l.Ratio > packed {
		return fault(ErrLimit, "more than %d bytes come of each", l.Ratio)
	}
	return nil
}

// longestName bounds a name in bytes.
const longestName = 255

// Name is the name of the n-th file of a delivery, from 1, such as "000001-bgt.xml": names sort as their files are
// processed up to 999,999 (MUT-27).
func Name(n int, dataset string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			return r
		}
		return '-'
	}, dataset)
	return fmt.Sprintf("%06d-%.60s.xml", n, clean)
}

// checkName refuses names that would lead outside a folder, or that hide something.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > longestName || !utf8.ValidString(name):
		return fault(ErrName, "%.60q", name)
	case strings.ContainsAny(name, `\:`) || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, ".."):
		return fault(ErrName, "%.60q leads elsewhere", name)
	case strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return fault(ErrName, "%.60q has characters that cannot be shown", name)
	}
	for _, kind := range []string{".zip", ".gz", ".tar", ".7z", ".bz2", ".xz", ".zst"} {
		if strings.HasSuffix(strings.ToLower(name), kind) {
			return fault(ErrName, "%.60q is an archive in an archive", name)
		}
	}
	return nil
}
