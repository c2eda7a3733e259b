package archive

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

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
