package store

import "context"

// InsertMutationFollower records what a subscription to a dataset gets, in the transaction that makes the subscription.
func (tx *Tx) InsertMutationFollower(ctx context.Context, f *MutationFollower) error {
	return tx.insert(ctx, "mutation_follower", f)
}

// SetMutationFollower changes what a subscription gets. Its lineage is another one then, so how far its copy is, is forgotten.
func (tx *Tx) SetMutationFollower(ctx context.Context, subscriptionID, areaID string, objectTypes []string) error {
	return tx.one(ctx, `UPDATE mutation_follower SET area_id = ?, object_types = ?, reads = FALSE, read_area_id = '', read_object_types = '[]',
		bare_until = 0, delta_id = '', delta_number = 0, snapshot_id = '', fetched_at = NULL WHERE subscription_id = ?`,
		areaID, Strings(objectTypes), subscriptionID)
}

// AskMutationFollower notes what a subscription is to get once that is approved; until then it reads what it reads now.
func (tx *Tx) AskMutationFollower(ctx context.Context, subscriptionID, areaID string, objectTypes []string) error {
	return tx.one(ctx, `UPDATE mutation_follower SET read_area_id = CASE WHEN reads THEN read_area_id ELSE area_id END,
		read_object_types = CASE WHEN reads THEN read_object_types ELSE object_types END, reads = TRUE, area_id = ?, object_types = ?
		WHERE subscription_id = ?`, areaID, Strings(objectTypes), subscriptionID)
}

// KeepMutationFollower drops what a subscription asked for: it goes on with what it reads, as far as it is.
func (tx *Tx) KeepMutationFollower(ctx context.Context, subscriptionID string) error {
	return tx.one(ctx, `UPDATE mutation_follower SET area_id = read_area_id, object_types = read_object_types, reads = FALSE, read_area_id = '',
		read_object_types = '[]' WHERE subscription_id = ? AND reads`, subscriptionID)
}

// MutationFollower finds what a subscription gets; ErrNotFound when it is not to a dataset.
func (q *Queries) MutationFollower(ctx context.Context, subscriptionID string) (MutationFollower, error) {
	var f MutationFollower
	return f, q.get(ctx, &f, `SELECT * FROM mutation_follower WHERE subscription_id = ?`, subscriptionID)
}

// MutationReader is a follower that may read its dataset now.
type MutationReader struct {
	MutationFollower
	PartnerID string `db:"partner_id"`
}

// Everything reports whether it gets the dataset whole.
func (r *MutationReader) Everything() bool { return r.AreaID == "" && len(r.ObjectTypes) == 0 }

// MutationReaders lists the followers of a dataset whose subscription takes what is new, with what they read now.
func (q *Queries) MutationReaders(ctx context.Context, datasetID string) ([]MutationReader, error) {
	var rows []MutationReader
	err := q.list(ctx, &rows, `SELECT f.*, s.partner_id FROM mutation_follower f JOIN subscription s ON s.id = f.subscription_id
		WHERE f.dataset_id = ? AND s.accepting ORDER BY f.subscription_id`, datasetID)
	for i := range rows {
		rows[i].MutationFollower = rows[i].Reading()
	}
	return rows, err
}

// readsThis holds the selection by which something was fetched against what a follower reads.
const readsThis = `subscription_id = ? AND CASE WHEN reads THEN read_area_id ELSE area_id END = ?
		AND CASE WHEN reads THEN read_object_types ELSE object_types END = ?`

// FollowedDelta notes that a follower fetched a delta to its end; how far it is never goes back within a lineage. What was
// fetched by who gets something else by now says nothing of that.
func (tx *Tx) FollowedDelta(ctx context.Context, f MutationFollower, d MutationDelta) error {
	_, err := tx.exec(ctx, `UPDATE mutation_follower SET delta_id = ?, delta_number = ?, fetched_at = ?
		WHERE `+readsThis+` AND delta_number <= ?`,
		d.ID, d.Number, tx.Now, f.SubscriptionID, f.AreaID, f.ObjectTypes, d.Number)
	return err
}

// FollowedSnapshot notes that a follower fetched a snapshot to its end, and so begins anew behind the delta that it includes.
// It is as FollowedDelta.
func (tx *Tx) FollowedSnapshot(ctx context.Context, f MutationFollower, s MutationSnapshot) error {
	_, err := tx.exec(ctx, `UPDATE mutation_follower SET snapshot_id = ?, delta_id = ?, delta_number = ?, fetched_at = ?
		WHERE `+readsThis,
		s.ID, s.DeltaID, s.DeltaNumber, tx.Now, f.SubscriptionID, f.AreaID, f.ObjectTypes)
	return err
}
