package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// stateFacts lists the columns of a state but its XML, and how long that is.
const stateFacts = `id, dataset_id, object_type, object_id, source_id, born_seq, died_seq, digest, namespaces, length(xml) AS size`

// StatesByID finds states of a dataset, gone or not, without their XML. The rest is not known.
func (q *Queries) StatesByID(ctx context.Context, d Dataset, ids []string) ([]MutationState, error) {
	return q.statesBy(ctx, d, `id`, ``, ids)
}

// StatesBySource finds states of a dataset, gone or not, by what their publisher calls them, without their XML.
func (q *Queries) StatesBySource(ctx context.Context, d Dataset, sources []string) ([]MutationState, error) {
	return q.statesBy(ctx, d, `source_id`, ` AND source_id <> ''`, sources)
}

// LiveStatesOf finds the states of objects of a type that are there now, by the ids of the objects, without their XML.
func (q *Queries) LiveStatesOf(ctx context.Context, d Dataset, objectType string, objects []string) ([]MutationState, error) {
	return q.statesBy(ctx, d, `object_id`, ` AND died_seq = 0 AND object_type = ?`, objects, objectType)
}

// LiveStatesLike finds the states of an object that are there now and have these fields, without their XML. Whoever does not
// tell the id of the object may mean more than one; more than most are not listed.
func (q *Queries) LiveStatesLike(ctx context.Context, d Dataset, objectType, objectID string, digest []byte, most int) ([]MutationState, error) {
	return listOf[MutationState](ctx, q, `SELECT `+stateFacts+` FROM mutation_state WHERE dataset_id = ? AND object_type = ? AND object_id = ? AND digest = ?
		AND died_seq = 0 AND +born_seq > ? LIMIT ?`, d.ID, objectType, objectID, digest, d.ReplacedSeq, most)
}

// statesBy finds states by the index of a column; the plus keeps SQLite from taking that of the histories.
func (q *Queries) statesBy(ctx context.Context, d Dataset, column, and string, values []string, args ...any) ([]MutationState, error) {
	if len(values) == 0 {
		return nil, nil
	}
	list, in := any(values), ` = ANY (?)`
	if q.dialect != Postgres {
		text, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		list, in = string(text), ` IN (SELECT value FROM json_each(?))`
	}
	var rows []MutationState
	args = append(append([]any{d.ID, list}, args...), d.ReplacedSeq)
	err := q.list(ctx, &rows, `SELECT `+stateFacts+` FROM mutation_state WHERE dataset_id = ? AND `+column+in+and+` AND +born_seq > ?`, args...)
	if err != nil {
		return nil, fmt.Errorf("find states: %w", err)
	}
	return rows, nil
}

// HasStates reports whether anything is there in a dataset now.
func (q *Queries) HasStates(ctx context.Context, d Dataset) (bool, error) {
	found, err := listOf[int](ctx, q, `SELECT 1 FROM mutation_state WHERE dataset_id = ? AND born_seq > ? AND died_seq = 0 LIMIT 1`, d.ID, d.ReplacedSeq)
	return len(found) > 0, err
}

// aliveAt selects what was there behind a group.
func aliveAt(d Dataset, seq int64) where {
	w := whereOf(`dataset_id = ? AND born_seq > ? AND born_seq <= ? AND (died_seq = 0 OR died_seq > ?)`, d.ID, d.ReplacedSeq, seq, seq)
	return w
}

// CountStates counts the states that were there behind a group: those that had come without those that had gone, by the
// indexes alone. What is of a replaced history goes no more.
func (q *Queries) CountStates(ctx context.Context, d Dataset, seq int64) (int64, error) {
	return getOne[int64](ctx, q, `SELECT (SELECT COUNT(*) FROM mutation_state WHERE dataset_id = ? AND born_seq > ? AND born_seq <= ?)
		- (SELECT COUNT(*) FROM mutation_state WHERE dataset_id = ? AND died_seq > 0 AND died_seq > ? AND died_seq <= ?)`,
		d.ID, d.ReplacedSeq, seq, d.ID, d.ReplacedSeq, seq)
}

// StateStream reads states in the order in which they came. It holds no connection between two calls, and what is published
// meanwhile does not show. It is for one goroutine.
type StateStream struct {
	q      *Queries
	alive  where
	born   int64
	id     string // of the last one read
	paging paging
	page   []MutationState
	over   bool
}

// OpenStates reads what was there in a dataset behind a group.
func (q *Queries) OpenStates(d Dataset, seq int64) *StateStream {
	return &StateStream{q: q, alive: aliveAt(d, seq)}
}

// Next gives the next state, or io.EOF.
func (s *StateStream) Next(ctx context.Context) (MutationState, error) {
	for len(s.page) == 0 {
		if s.over {
			return MutationState{}, io.EOF
		}
		if err := s.fill(ctx); err != nil {
			return MutationState{}, fmt.Errorf("read states: %w", err)
		}
	}
	next := s.page[0]
	s.page = s.page[1:]
	return next, nil
}

func (s *StateStream) fill(ctx context.Context) error {
	limit := s.paging.next()
	args := append(append([]any{}, s.alive.args...), s.born, s.id, limit)
	rows, err := s.q.in(ctx).QueryxContext(ctx, s.q.ext.Rebind(`SELECT `+stateFacts+`, xml FROM mutation_state`+s.alive.sql()+
		` AND (born_seq, id) > (?, ?) ORDER BY born_seq, id LIMIT ?`), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	read, size := 0, 0
	for rows.Next() {
		var m MutationState
		if err := rows.StructScan(&m); err != nil {
			return err
		}
		s.page, s.born, s.id = append(s.page, m), m.BornSeq, m.ID
		if read, size = read+1, size+len(m.XML)+len(m.Namespaces)+200; size > 4*streamBytes {
			break // they are larger than they were
		}
	}
	s.over = read < limit && size <= 4*streamBytes
	s.paging.learn(read, size)
	return rows.Err()
}

// InsertMutationArea adds an area under a new id. It never changes: another area is another row (MUT-49).
func (tx *Tx) InsertMutationArea(ctx context.Context, a *MutationArea) error {
	a.ID, a.CreatedAt = tx.NewID("mar"), tx.Now
	return tx.insert(ctx, "mutation_area", a)
}

// MutationArea finds an area.
func (q *Queries) MutationArea(ctx context.Context, id string) (MutationArea, error) {
	return getOne[MutationArea](ctx, q, `SELECT * FROM mutation_area WHERE id = ?`, id)
}

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
	return getOne[MutationFollower](ctx, q, `SELECT * FROM mutation_follower WHERE subscription_id = ?`, subscriptionID)
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
	rows, err := listOf[MutationReader](ctx, q, `SELECT `+prefixed("f", MutationFollower{})+`, s.partner_id FROM mutation_follower f JOIN subscription s ON s.id = f.subscription_id
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
	return tx.do(ctx, `UPDATE mutation_follower SET delta_id = ?, delta_number = ?, fetched_at = ?
		WHERE `+readsThis+` AND delta_number <= ?`,
		d.ID, d.Number, tx.Now, f.SubscriptionID, f.AreaID, f.ObjectTypes, d.Number)
}

// FollowedSnapshot notes that a follower fetched a snapshot to its end, and so begins anew behind the delta that it includes.
// It is as FollowedDelta.
func (tx *Tx) FollowedSnapshot(ctx context.Context, f MutationFollower, s MutationSnapshot) error {
	return tx.do(ctx, `UPDATE mutation_follower SET snapshot_id = ?, delta_id = ?, delta_number = ?, fetched_at = ?
		WHERE `+readsThis,
		s.ID, s.DeltaID, s.DeltaNumber, tx.Now, f.SubscriptionID, f.AreaID, f.ObjectTypes)
}
