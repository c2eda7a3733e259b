package export

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
)

// writtenZip holds a delivery whose zip is in the store but not finished.
type writtenZip struct {
	file     *store.FileWriter
	manifest archive.Manifest
}

// header makes the header of every file of a delivery of a dataset (MUT-21).
func header(set store.Dataset, id string, kind format.DeliveryType) (format.Header, error) {
	spaces, err := ingest.Namespaces(set.Namespaces)
	if err != nil {
		return format.Header{}, fmt.Errorf("read namespaces of dataset %s: %w", set.ID, err)
	}
	return format.Header{
		Root: format.Name{Prefix: set.RootPrefix, Space: set.RootSpace, Local: set.RootLocal}, Dataset: set.ID, Type: kind, DeliveryID: id,
		ObjectTypes: set.ObjectTypes, Namespaces: spaces, Object: objectElement(set),
	}, nil
}

// objectElement is the element around objects that were published in none of the dataset (MUT-24).
func objectElement(set store.Dataset) string {
	if set.RootLocal == "" {
		return ""
	}
	return format.ObjectElement
}

// write makes a zip of what fill writes, as a stream.
func (e *Exporter) write(ctx context.Context, set store.Dataset, h format.Header, at time.Time, fill func(fileID string, out *archive.DeliveryWriter) error) (*writtenZip, error) {
	file, err := e.cfg.DB.CreateMutationFile(ctx, set.ID)
	if err != nil {
		return nil, fmt.Errorf("begin file: %w", err)
	}
	out, err := archive.NewDeliveryWriter(file, h, archive.DeliveryOptions{PerFile: int(set.PerFile), Options: archive.Options{Modified: at}})
	if err != nil {
		return nil, fmt.Errorf("begin delivery: %w", err)
	}
	if err := fill(file.ID, out); err != nil {
		return nil, err
	}
	manifest, err := out.Close()
	if err != nil {
		return nil, fmt.Errorf("end delivery: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("end file: %w", err)
	}
	return &writtenZip{file, manifest}, nil
}

// Manifest reads what a row of the store keeps of a manifest; of an empty text it is the zero one.
func Manifest(text string) (archive.Manifest, error) {
	var m archive.Manifest
	if text == "" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("read stored manifest: %w", err)
	}
	return m, nil
}

// storedZip holds what a row of the store records of the zip it refers to.
type storedZip struct {
	file, manifest string
	bytes          int64
	sha256         string
}

// commit finishes the zip of a delivery and writes what refers to it, in one transaction.
func (e *Exporter) commit(ctx context.Context, m *writtenZip, refer func(tx *store.Tx, zip storedZip) error) error {
	manifest, err := json.Marshal(m.manifest)
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		file, err := m.file.Finish(ctx, tx)
		if err != nil {
			return fmt.Errorf("finish file: %w", err)
		}
		return refer(tx, storedZip{file.ID, string(manifest), m.manifest.Bytes, m.manifest.SHA256})
	})
}

// groups makes groups of files from rows of the store. It remembers the namespaces of states, which are few.
type groups struct {
	known map[string][]format.Namespace
}

func newGroups() *groups { return &groups{known: make(map[string][]format.Namespace)} }

// group makes the group of a file from one of the history.
func (g *groups) group(record store.GroupRecord) (*format.Group, error) {
	out := &format.Group{Mutations: make([]format.Mutation, len(record.Mutations))}
	for i, m := range record.Mutations {
		was, err := g.state(m.Was)
		if err != nil {
			return nil, err
		}
		wordt, err := g.state(m.Wordt)
		if err != nil {
			return nil, err
		}
		out.Mutations[i] = format.Mutation{ObjectType: m.ObjectType, ObjectID: m.ObjectID, Was: was, Wordt: wordt}
	}
	return out, nil
}

// added makes a state of a snapshot: a group of its own that adds it (MUT-31).
func (g *groups) added(row *store.MutationState) (*format.Group, error) {
	wordt, err := g.state(row)
	if err != nil {
		return nil, err
	}
	return &format.Group{Mutations: []format.Mutation{{ObjectType: row.ObjectType, ObjectID: row.ObjectID, Wordt: wordt}}}, nil
}

func (g *groups) state(row *store.MutationState) (*format.State, error) {
	if row == nil {
		return nil, nil
	}
	spaces, seen := g.known[row.Namespaces]
	if !seen {
		var err error
		if spaces, err = ingest.Namespaces(row.Namespaces); err != nil {
			return nil, err
		}
		g.known[row.Namespaces] = spaces
	}
	return &format.State{ID: row.ID, XML: row.XML, Namespaces: spaces}, nil
}
