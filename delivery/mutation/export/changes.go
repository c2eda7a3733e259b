package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Change holds the effect of a delta on one object, from before its first mutation to behind its last. Its states are as they
// stand in the file, with their ids, which no page shows (MUT-18).
type Change struct {
	ObjectType, ObjectID string
	Was                  *format.State // nil when the object was not there before
	Wordt                *format.State // nil when it is not there any more
	last                 *format.State
}

// Kind is Add, Change or Delete; 0 for an object that came and went in the same delta.
func (c Change) Kind() format.Kind {
	return (&format.Mutation{Was: c.Was, Wordt: c.Wordt}).Kind()
}

// State is the version to show of the object: what it is now, or was at last.
func (c Change) State() *format.State { return cmp.Or(c.Wordt, c.last) }

// changesBytes bounds the XML of the states that Changes has in hand.
const changesBytes = 16 << 20

// Changes reads from the file of an offer that is ready what it does to objects, at most so many of them and in the order in
// which they first stand there. It reads no further than it must: more reports that the delta has mutations behind those. Mutations
// of an object without an id are objects of their own.
func (e *Exporter) Changes(ctx context.Context, o Offer, most int) (changes []Change, more bool, err error) {
	file, err := e.cfg.DB.MutationFile(ctx, o.FileID)
	if err != nil {
		return nil, false, fmt.Errorf("find file: %w", err)
	}
	raw := &storedBytes{from: e.cfg.DB.OpenMutationFile(ctx, file)}
	in := archive.NewDeliveryReader(raw, unbounded, format.Limits{})
	known, size := map[[2]string]int{}, 0
	for {
		g, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			return changes, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the delta: %w", cmp.Or(raw.away, err))
		}
		for i := range g.Mutations {
			m := &g.Mutations[i]
			key := [2]string{m.Type(), m.ObjectID}
			n, met := known[key]
			if met = met && m.ObjectID != ""; !met {
				if len(changes) == most || size > changesBytes {
					return changes, true, nil
				}
				n, known[key] = len(changes), len(changes)
				changes = append(changes, Change{ObjectType: key[0], ObjectID: m.ObjectID, Was: m.Was})
			}
			changes[n].Wordt, changes[n].last = m.Wordt, cmp.Or(m.Wordt, m.Was)
			for _, s := range []*format.State{m.Was, m.Wordt} {
				if s != nil {
					size += len(s.XML)
				}
			}
		}
	}
}
