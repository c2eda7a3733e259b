package cut

import (
	"context"

	"schakel/store"
)

// wantParts asks for the parts of a new delta that followers want, in the transaction that keeps it.
func (c *Cutter) wantParts(ctx context.Context, tx *store.Tx, set store.Dataset, d store.MutationDelta) error {
	readers, err := tx.MutationReaders(ctx, set.ID)
	if err != nil {
		return err
	}
	for _, r := range readers {
		if r.Everything() {
			continue
		}
		row := store.MutationDownload{DeltaID: d.ID, SubscriptionID: r.SubscriptionID, PartnerID: r.PartnerID}
		if err := c.want(ctx, tx, set, d.Lineage, r.MutationFollower, &row); err != nil {
			return err
		}
	}
	return nil
}

// want asks for the part of a delta or snapshot that a follower wants. Nothing is asked when that is all of it.
func (c *Cutter) want(ctx context.Context, tx *store.Tx, set store.Dataset, lineage string, f store.MutationFollower, row *store.MutationDownload) (err error) {
	row.DatasetID, row.AreaID, row.ObjectTypes = set.ID, f.AreaID, f.ObjectTypes
	wants, err := partOf(ctx, tx, set, f.AreaID, "", f.ObjectTypes)
	if err == nil {
		row.Lineage, err = wants.lineage(lineage)
	}
	if err != nil && !unreadable(err) {
		return err
	}
	if err != nil { // an area that can be read no more must not keep others from their delta
		row.Status, row.Error, row.Lineage, row.FinishedAt = store.MutationFailed, err.Error(), lineage, tx.Now
	} else if wants.all() {
		return nil
	}
	if row.ID, err = newID(); err != nil {
		return err
	}
	return tx.InsertMutationDownload(ctx, row)
}
