package store

import (
	"context"
	"fmt"
	"io"

	"github.com/jmoiron/sqlx"
)

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

// learn lists what a page brought.
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
