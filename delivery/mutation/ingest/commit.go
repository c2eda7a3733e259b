package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"schakel/store"
)

// errOvertaken is met when the publication is not as this run left it.
var errOvertaken = errors.New("the publication moved on")

// commit writes a batch and the progress of the publication in one transaction. When a group of it cannot be taken in, those
// before it are, and the answer is [*Refused].
func (r *run) commit(ctx context.Context, batch []*group, whole bool) error {
	var refused []Problem
	var after store.MutationPublication
	err := r.db.Write(ctx, func(tx *store.Tx) error {
		d, err := tx.LockDataset(ctx, r.pub.DatasetID)
		if err != nil {
			return err
		}
		if err := r.still(ctx, tx); err != nil {
			return err
		}
		if d.Status == store.DatasetEnded && len(batch) > 0 {
			return ErrEnded
		}
		if err := r.goesOn(ctx, tx, d); err != nil {
			return err
		}
		b := &batcher{dataset: d, publication: r.pub.ID, at: tx.Now, newID: newID}
		if err := b.load(ctx, tx, batch); err != nil {
			return err
		}
		after, refused = r.pub, nil
		for _, g := range batch {
			if refused = b.add(g); refused != nil {
				break
			}
			after = counted(after, g, b.seq)
		}
		if len(b.out.Groups) == 0 && !whole {
			return nil
		}
		if err := tx.AppendGroups(ctx, d, b.out); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		after.Status, after.Error, after.FinishedAt = store.MutationRunning, "", store.Time{}
		if whole && refused == nil {
			after.Status, after.FinishedAt = store.MutationDone, tx.Now
		}
		err = tx.StepPublication(ctx, &after, r.pub.Groups, r.pub.Status)
		if errors.Is(err, store.ErrConflict) {
			return errOvertaken // it was cancelled at this very moment
		}
		return err
	})
	if err != nil {
		return err
	}
	r.pub = after
	if refused != nil {
		return &Refused{Problems: refused}
	}
	return nil
}

// still makes sure that nobody went on with the publication, or ended it, since this run last wrote it. That comes first: what
// another brought would be reported as a mistake in the groups.
func (r *run) still(ctx context.Context, tx *store.Tx) error {
	now, err := tx.Publication(ctx, r.pub.ID)
	if err == nil && (now.Groups != r.pub.Groups || now.Status != r.pub.Status) {
		err = errOvertaken
	}
	return err
}

// goesOn makes sure that the dataset did not change for this publication: what this brought was not replaced, and nobody else
// filled what an initial load begins with.
func (r *run) goesOn(ctx context.Context, tx *store.Tx, d store.Dataset) error {
	switch {
	case r.began != "" && r.pub.Groups == 0 && r.began != d.Lineage:
		return ErrReplaced
	case r.began == "" && r.pub.Groups == 0 && r.pub.Kind == store.PublicationInitial:
		return empty(ctx, tx, d)
	}
	return r.replaced(d)
}

// newID is a UUID that sorts by time, so that what came together lies together.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// counted is a publication with one more group.
func counted(p store.MutationPublication, g *group, seq int64) store.MutationPublication {
	for i, m := range g.mutations {
		if m.nowhere != "" {
			if p.Unlocated++; p.UnlocatedFirst == "" {
				p.UnlocatedFirst = g.placed(i, p.Name)
			}
		}
		switch {
		case m.was == nil:
			p.Adds++
		case m.wordt == nil:
			p.Deletes++
		default:
			p.Changes++
		}
	}
	if p.Groups == 0 {
		p.FirstSeq = seq
	}
	p.Groups, p.LastSeq, p.Bytes, p.Hash = p.Groups+1, seq, g.read, link(p.Hash, g)
	return p
}

// batcher makes what one transaction appends, in the order of the groups. It knows the states that these may refer to, as they
// are behind the last group that was added.
type batcher struct {
	dataset     store.Dataset
	publication string
	at          store.Time
	newID       func() string

	seq      int64 // of the last group
	out      store.Appended
	states   map[string]*known // by our id
	bySource map[string]*known
	byFields map[fields][]*known // only when a WAS has no id

	killed []*known // by the group at hand
}

// known is a state; in is its place in out.States from 1, or 0 for one that was there before.
type known struct {
	store.MutationState
	in int
}

// fields tell states of a dataset apart that have no ids.
type fields struct{ objectType, objectID, digest string }

// load finds the states that a batch may refer to.
func (b *batcher) load(ctx context.Context, tx *store.Tx, batch []*group) error {
	b.seq, b.states, b.bySource = b.dataset.LastSeq, make(map[string]*known), make(map[string]*known)
	w := wanted{objects: make(map[string]map[string]bool), like: make(map[fields]bool)}
	for _, g := range batch {
		for i := range g.mutations {
			w.add(&g.mutations[i])
		}
	}
	if w.fields {
		b.byFields = make(map[fields][]*known)
	}
	if b.dataset.LastSeq == b.dataset.ReplacedSeq {
		return nil // nothing is there
	}
	return w.find(ctx, tx, b)
}

// wanted collects the references of a batch.
type wanted struct {
	ids, sources []string
	fields       bool
	objects      map[string]map[string]bool // by type
	like         map[fields]bool            // states of objects without an id
}

func (w *wanted) add(m *mutation) {
	if m.wordt != nil {
		w.id(m.wordt.SourceID)
	}
	if m.was == nil {
		return
	}
	w.id(m.was.id)
	if m.was.id != "" {
		return
	}
	w.fields = true
	if m.objectID == "" {
		w.like[fields{m.objectType, "", string(m.was.digest)}] = true
		return
	}
	if w.objects[m.objectType] == nil {
		w.objects[m.objectType] = make(map[string]bool)
	}
	w.objects[m.objectType][m.objectID] = true
}

// uuidLength is the length of the ids that are given here.
const uuidLength = 36

func (w *wanted) id(id string) {
	if id == "" {
		return
	}
	w.sources = append(w.sources, id)
	if len(id) == uuidLength {
		w.ids = append(w.ids, id)
	}
}

func (w *wanted) find(ctx context.Context, tx *store.Tx, b *batcher) error {
	rows, err := tx.StatesByID(ctx, b.dataset, w.ids)
	if err != nil {
		return err
	}
	b.know(rows)
	if rows, err = tx.StatesBySource(ctx, b.dataset, w.sources); err != nil {
		return err
	}
	b.know(rows)
	for objectType, objects := range w.objects {
		ids := make([]string, 0, len(objects))
		for id := range objects {
			ids = append(ids, id)
		}
		if rows, err = tx.LiveStatesOf(ctx, b.dataset, objectType, ids); err != nil {
			return err
		}
		b.know(rows)
	}
	for f := range w.like {
		if rows, err = tx.LiveStatesLike(ctx, b.dataset, f.objectType, "", []byte(f.digest), 2); err != nil {
			return err
		}
		b.know(rows)
	}
	return nil
}

func (b *batcher) know(rows []store.MutationState) {
	for _, s := range rows {
		if b.states[s.ID] == nil {
			b.remember(&known{MutationState: s})
		}
	}
}

func (b *batcher) remember(k *known) {
	b.states[k.ID] = k
	if k.SourceID != "" {
		b.bySource[k.SourceID] = k
	}
	if b.byFields != nil {
		f := fields{k.ObjectType, k.ObjectID, string(k.Digest)}
		b.byFields[f] = append(b.byFields[f], k)
	}
}

// forget undoes remember, of the last one remembered first.
func (b *batcher) forget(k *known) {
	delete(b.states, k.ID)
	delete(b.bySource, k.SourceID)
	if b.byFields != nil {
		f := fields{k.ObjectType, k.ObjectID, string(k.Digest)}
		b.byFields[f] = b.byFields[f][:len(b.byFields[f])-1]
	}
}
