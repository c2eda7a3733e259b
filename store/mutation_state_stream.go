package store

import (
	"context"
	"fmt"
	"io"
)

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
