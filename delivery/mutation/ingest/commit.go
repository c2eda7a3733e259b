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
