package export

import (
	"context"
	"fmt"
	"strings"

	"schakel/store"
)

// lineages holds the lineages of parts of a dataset, by the key of the part.
type lineages map[string]string

func partKey(f store.MutationFollower) string {
	return f.AreaID + " " + strings.Join(f.ObjectTypes, " ")
}

// lineages works out the lineages of what followers want, ahead of the transaction that asks for it: reading large areas takes
// seconds, in which nobody else could write. What cannot be read is left to that.
func (e *Exporter) lineages(ctx context.Context, set store.Dataset, whole string) (lineages, error) {
	readers, err := e.cfg.DB.MutationReaders(ctx, set.ID)
	if err != nil {
		return nil, fmt.Errorf("list followers: %w", err)
	}
	known := make(lineages)
	for _, r := range readers {
		key := partKey(r.MutationFollower)
		if known[key] != "" || r.Everything() {
			continue
		}
		if lineage, err := lineageOf(ctx, e.cfg.DB, set, whole, r.MutationFollower); err == nil {
			known[key] = lineage
		}
	}
	return known, nil
}

// lineageOf is the lineage of what a follower wants; whole when that is all of a dataset.
func lineageOf(ctx context.Context, from areaSource, set store.Dataset, whole string, f store.MutationFollower) (string, error) {
	wants, err := partOf(ctx, from, set, f.AreaID, "", f.ObjectTypes)
	if err != nil || wants.all() {
		return whole, err
	}
	return wants.lineage(whole)
}

// wantParts asks for the parts of a new delta that followers want, in the transaction that keeps it.
func (e *Exporter) wantParts(ctx context.Context, tx *store.Tx, set store.Dataset, d store.MutationDelta, known lineages) error {
	readers, err := tx.MutationReaders(ctx, set.ID)
	if err != nil {
		return err
	}
	for _, r := range readers {
		if r.Everything() {
			continue
		}
		row := store.MutationDownload{DeltaID: d.ID, SubscriptionID: r.SubscriptionID, PartnerID: r.PartnerID}
		if err := e.want(ctx, tx, set, d.Lineage, r.MutationFollower, known, &row); err != nil {
			return err
		}
	}
	return nil
}

// want asks for the part of a delta or snapshot that a follower wants. Nothing is asked when that is all of it. What is known of
// lineages is not worked out again.
func (e *Exporter) want(ctx context.Context, tx *store.Tx, set store.Dataset, whole string, f store.MutationFollower, known lineages, row *store.MutationDownload) (err error) {
	row.DatasetID, row.AreaID, row.ObjectTypes, row.Lineage = set.ID, f.AreaID, f.ObjectTypes, known[partKey(f)]
	if row.Lineage == "" {
		row.Lineage, err = lineageOf(ctx, tx, set, whole, f)
	}
	switch {
	case err != nil && !unreadable(err):
		return err
	case err != nil: // an area that can be read no more must not keep others from their delta
		row.Status, row.Error, row.Lineage, row.FinishedAt = store.MutationFailed, err.Error(), whole, tx.Now
	case row.Lineage == whole:
		return nil
	default:
		row.Mark = namesOf(row.Lineage, whole).mark
	}
	if row.ID, err = newID(); err != nil {
		return err
	}
	return tx.InsertMutationDownload(ctx, row)
}
