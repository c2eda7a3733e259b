package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jmoiron/sqlx"
	"schakel/store/pipe"
)

// StateDeath gives the group in which a state goes.
type StateDeath struct {
	ID  string
	Seq int64
}

// Appended holds what some groups add to the history of a dataset. A state that comes and goes in it has its DiedSeq already.
type Appended struct {
	Groups    []MutationGroup // in order
	Mutations []Mutation
	States    []MutationState
	Deaths    []StateDeath // of states that were there before
}

// AppendGroups writes groups behind the last one of a dataset, which was locked in this transaction. ErrConflict when the
// groups do not go on where the dataset is, or a death is of a state that is not there.
func (tx *Tx) AppendGroups(ctx context.Context, d Dataset, a Appended) error {
	for i, g := range a.Groups {
		if g.Seq != d.LastSeq+int64(i)+1 {
			return fmt.Errorf("%w: group %d does not come behind %d", ErrConflict, g.Seq, d.LastSeq+int64(i))
		}
	}
	if len(a.Groups) == 0 {
		return nil
	}
	for _, write := range []func(context.Context, Appended) error{tx.putStates, tx.killStates, tx.putMutations} {
		if err := write(ctx, a); err != nil {
			return fmt.Errorf("append groups: %w", err)
		}
	}
	return tx.one(ctx, `UPDATE dataset SET last_seq = ? WHERE id = ? AND last_seq = ?`, a.Groups[len(a.Groups)-1].Seq, d.ID, d.LastSeq)
}

func (tx *Tx) putMutations(ctx context.Context, a Appended) error {
	groups := bulk{into: "mutation_group (dataset_id, seq, publication_id, at)", width: 4, kinds: "titi"}
	_, err := tx.putMany(ctx, groups, len(a.Groups), func(args []any, i int) []any {
		g := &a.Groups[i]
		return append(args, g.DatasetID, g.Seq, g.PublicationID, g.At)
	})
	if err != nil {
		return err
	}
	mutations := bulk{into: "mutation (dataset_id, seq, number, object_type, object_id, was_id, wordt_id)", width: 7, kinds: "tiitttt"}
	_, err = tx.putMany(ctx, mutations, len(a.Mutations), func(args []any, i int) []any {
		m := &a.Mutations[i]
		return append(args, m.DatasetID, m.Seq, m.Number, m.ObjectType, m.ObjectID, m.WasID, m.WordtID)
	})
	return err
}

func (tx *Tx) putStates(ctx context.Context, a Appended) error {
	states := bulk{
		into:  "mutation_state (id, dataset_id, object_type, object_id, source_id, born_seq, died_seq, digest, namespaces, xml)",
		width: 10, kinds: "tttttiixtx",
	}
	_, err := tx.putMany(ctx, states, len(a.States), func(args []any, i int) []any {
		s := &a.States[i]
		return append(args, s.ID, s.DatasetID, s.ObjectType, s.ObjectID, s.SourceID, s.BornSeq, s.DiedSeq, s.Digest, s.Namespaces, s.XML)
	})
	return err
}

// killStates marks states as gone; each must be there.
func (tx *Tx) killStates(ctx context.Context, a Appended) error {
	var killed int64
	for rest := a.Deaths; len(rest) > 0; {
		n := min(len(rest), pipeRows)
		if tx.dialect != Postgres {
			n = chunk(n)
		}
		rows, err := tx.killSome(ctx, rest[:n])
		if err != nil {
			return err
		}
		killed, rest = killed+rows, rest[n:]
	}
	if killed != int64(len(a.Deaths)) {
		return fmt.Errorf("%w: %d of %d states are not there any more", ErrConflict, int64(len(a.Deaths))-killed, len(a.Deaths))
	}
	return nil
}

func (tx *Tx) killSome(ctx context.Context, deaths []StateDeath) (int64, error) {
	const killing = `UPDATE mutation_state SET died_seq = d.seq FROM `
	if tx.dialect == Postgres {
		list := pipe.NewArrays("ti", len(deaths))
		for _, d := range deaths {
			list.Add([]any{d.ID, d.Seq})
		}
		const query = killing + `unnest($1::text[], $2::int8[]) AS d (id, seq) WHERE mutation_state.id = d.id AND mutation_state.died_seq = 0`
		result, err := tx.ext.ExecContext(ctx, query, &pipe.Statement{Params: list.Params()})
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	query := tx.texts.as(textKey{into: killing, rows: len(deaths)}, func() string {
		rows := textKey{into: "x", width: 2, rows: len(deaths)}.text()[len(`INSERT INTO x `):]
		return killing + `(SELECT column1 AS id, column2 AS seq FROM (` + rows + `)) AS d WHERE mutation_state.id = d.id AND mutation_state.died_seq = 0`
	})
	args := make([]any, 0, 2*len(deaths))
	for _, d := range deaths {
		args = append(args, d.ID, d.Seq)
	}
	return tx.exec(ctx, query, args...)
}

// PruneMutations removes the groups of deltas that ended before the moment given, with the states that went in them, and the
// states of histories that were replaced. It takes a dataset at a time, and at most limit rows.
func (tx *Tx) PruneMutations(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	d, err := getOne[Dataset](ctx, &tx.Queries, `SELECT * FROM dataset WHERE id > ? ORDER BY id LIMIT 1`, cursor)
	if errors.Is(err, ErrNotFound) {
		return Pruned{Done: true}, nil // the next run begins anew
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("find dataset: %w", err)
	}
	var last int64
	err = tx.get(ctx, &last, `SELECT COALESCE(MAX(to_seq), 0) FROM mutation_delta WHERE dataset_id = ? AND to_at < ?`, d.ID, before)
	if err != nil {
		return Pruned{}, fmt.Errorf("find old deltas: %w", err)
	}
	n, err := tx.pruneHistory(ctx, d, max(last, d.ReplacedSeq), limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("remove mutations: %w", err)
	}
	if n >= int64(limit) {
		return Pruned{Rows: n, Cursor: cursor}, nil
	}
	return Pruned{Rows: n, Cursor: d.ID}, nil
}

// pruneHistory removes what groups up to the last one given alone need.
func (tx *Tx) pruneHistory(ctx context.Context, d Dataset, last int64, limit int) (removed int64, err error) {
	for _, t := range []struct {
		table, key, and string
		seq             int64
	}{
		{"mutation", "dataset_id, seq, number", `seq <= ? ORDER BY seq, number`, last},
		{"mutation_group", "dataset_id, seq", `seq <= ? ORDER BY seq`, last},
		{"mutation_state", "id", `died_seq > 0 AND died_seq <= ? ORDER BY died_seq`, last},
		{"mutation_state", "id", `born_seq <= ? ORDER BY born_seq, id`, d.ReplacedSeq},
	} {
		n, err := tx.exec(ctx, `DELETE FROM `+t.table+` WHERE (`+t.key+`) IN
			(SELECT `+t.key+` FROM `+t.table+` WHERE dataset_id = ? AND `+t.and+` LIMIT ?)`, d.ID, t.seq, limit-int(removed))
		if err != nil {
			return 0, err
		}
		if removed += n; removed >= int64(limit) {
			break
		}
	}
	return removed, nil
}

// How much a stream of groups or states reads at a time: as many rows as are likely to have about so many bytes.
const (
	streamBytes = 2 << 20
	streamFirst = 64
	streamMost  = 4000
)

// paging adapts the number of rows of a page to what rows take.
type paging struct{ rows int }

func (p *paging) next() int {
	if p.rows == 0 {
		p.rows = streamFirst
	}
	return p.rows
}

// learn remembers the rows of a page.
func (p *paging) learn(rows, bytes int) {
	if rows > 0 {
		p.rows = min(max(streamBytes/max(bytes/rows, 1), 1), 4*p.rows, streamMost)
	}
}

// MutationRecord is a mutation with its states.
type MutationRecord struct {
	Mutation
	Was   *MutationState // nil when it adds
	Wordt *MutationState // nil when it deletes
}

// GroupRecord is a whole group.
type GroupRecord struct {
	Seq       int64
	Mutations []MutationRecord
}

// GroupStream reads groups in order. It holds no connection between two calls. It is for one goroutine.
type GroupStream struct {
	q          *Queries
	datasetID  string
	to         int64
	seq, after int64 // the last mutation read
	paging     paging
	page       []MutationRecord
	over       bool // nothing is behind page
}

// OpenGroups reads the groups of a dataset behind from up to to.
func (q *Queries) OpenGroups(datasetID string, from, to int64) *GroupStream {
	return &GroupStream{q: q, datasetID: datasetID, to: to, seq: from + 1, after: 0}
}

// Next gives the next group, or io.EOF. A group or state that was removed meanwhile is ErrNotFound.
func (s *GroupStream) Next(ctx context.Context) (GroupRecord, error) {
	for {
		if g, ok := s.cut(); ok {
			return g, nil
		}
		if s.over {
			return GroupRecord{}, io.EOF
		}
		if err := s.fill(ctx); err != nil {
			return GroupRecord{}, fmt.Errorf("read groups: %w", err)
		}
	}
}

// cut takes the first group from the page, when it is known to be whole.
func (s *GroupStream) cut() (GroupRecord, bool) {
	if len(s.page) == 0 {
		return GroupRecord{}, false
	}
	seq, n := s.page[0].Seq, 1
	for n < len(s.page) && s.page[n].Seq == seq {
		n++
	}
	if n == len(s.page) && !s.over {
		return GroupRecord{}, false
	}
	g := GroupRecord{Seq: seq, Mutations: s.page[:n:n]}
	s.page = s.page[n:]
	return g, true
}

const groupPage = `SELECT m.seq, m.number, m.object_type, m.object_id, m.was_id, m.wordt_id,
	COALESCE(w.source_id, ''), COALESCE(w.born_seq, 0), COALESCE(w.died_seq, 0), w.digest, COALESCE(w.namespaces, ''), w.xml,
	COALESCE(n.source_id, ''), COALESCE(n.born_seq, 0), COALESCE(n.died_seq, 0), n.digest, COALESCE(n.namespaces, ''), n.xml
	FROM mutation m LEFT JOIN mutation_state w ON w.id = m.was_id LEFT JOIN mutation_state n ON n.id = m.wordt_id
	WHERE m.dataset_id = ? AND (m.seq, m.number) > (?, ?) AND m.seq <= ? ORDER BY m.seq, m.number LIMIT ?`

// fill reads what comes behind the last mutation.
func (s *GroupStream) fill(ctx context.Context) error {
	limit := s.paging.next()
	rows, err := s.q.in(ctx).QueryxContext(ctx, s.q.ext.Rebind(groupPage), s.datasetID, s.seq, s.after, s.to, limit)
	if err != nil {
		return err
	}
	defer rows.Close()
	read, size := 0, 0
	for rows.Next() {
		m, err := s.scan(rows)
		if err != nil {
			return err
		}
		s.page = append(s.page, m)
		s.seq, s.after = m.Seq, m.Number
		if read, size = read+1, size+m.size(); size > 4*streamBytes {
			break // they are larger than they were
		}
	}
	s.over = read < limit && size <= 4*streamBytes
	s.paging.learn(read, size)
	return rows.Err()
}

func (s *GroupStream) scan(rows *sqlx.Rows) (MutationRecord, error) {
	var was, wordt MutationState
	m := MutationRecord{Mutation: Mutation{DatasetID: s.datasetID}}
	err := rows.Scan(&m.Seq, &m.Number, &m.ObjectType, &m.ObjectID, &m.WasID, &m.WordtID,
		&was.SourceID, &was.BornSeq, &was.DiedSeq, &was.Digest, &was.Namespaces, &was.XML,
		&wordt.SourceID, &wordt.BornSeq, &wordt.DiedSeq, &wordt.Digest, &wordt.Namespaces, &wordt.XML)
	if err != nil {
		return m, err
	}
	if m.Was, err = m.attach(&was, m.WasID); err == nil {
		m.Wordt, err = m.attach(&wordt, m.WordtID)
	}
	return m, err
}

// attach completes a state that was joined.
func (m *MutationRecord) attach(s *MutationState, id string) (*MutationState, error) {
	if id == "" {
		return nil, nil
	}
	if s.BornSeq == 0 {
		return nil, fmt.Errorf("a state of group %d: %w", m.Seq, ErrNotFound)
	}
	s.ID, s.DatasetID, s.ObjectType, s.ObjectID = id, m.DatasetID, m.ObjectType, m.ObjectID
	return s, nil
}

func (m *MutationRecord) size() int {
	n := 0
	for _, s := range []*MutationState{m.Was, m.Wordt} {
		if s != nil {
			n += len(s.XML) + len(s.Namespaces) + 200
		}
	}
	return n
}
