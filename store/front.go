package store

import (
	"context"
	"sync"
	"time"
)

// fronts remembers, by endpoint, since when what was claimed last was due. PostgreSQL keeps what was claimed and delivered at
// the front of its index until the table is vacuumed, so that with a large backlog each claim would pass over more of it than
// the one before. While claims come back full the next one begins where the last one ended.
//
// What stands before that, because another node gave it back, a person resent it or the one before it in its order arrived, waits until a claim begins at the
// beginning again: after frontAge, or as soon as one does not come back full.
type fronts struct {
	mu sync.Mutex
	of map[string]front
}

type front struct {
	due    Time
	looked Time // when a claim last began at the beginning
}

// frontAge sets how long claims may begin in the middle.
const frontAge = time.Second

func newFronts() *fronts { return &fronts{of: make(map[string]front)} }

// from is where the next claim for an endpoint begins; zero is the beginning.
func (f *fronts) from(endpointID string, now Time) front {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.of[endpointID]
	if now.Sub(known.looked.Time).Abs() >= frontAge {
		return front{looked: now}
	}
	return known
}

// set remembers where a claim that came back full ended, and forgets it after any other.
func (f *fronts) set(endpointID string, to front, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if full {
		f.of[endpointID] = to
	} else {
		delete(f.of, endpointID)
	}
}

// claimAhead is Claim, beginning where the last one ended, and again at the beginning for what is missing.
func (tx *Tx) claimAhead(ctx context.Context, endpointID, owner string, limit int, lease Time) ([]Claimed, error) {
	at := tx.front.from(endpointID, tx.Now)
	rows, last, err := tx.claimFrom(ctx, endpointID, owner, limit, lease, ``, at.due)
	if err == nil && len(rows) < limit && !at.due.IsZero() {
		var more []Delivery
		more, _, err = tx.claimFrom(ctx, endpointID, owner, limit-len(rows), lease, ``, Time{})
		rows, last = append(rows, more...), Time{}
	}
	if err != nil {
		return nil, err
	}
	tx.front.set(endpointID, front{due: last, looked: at.looked}, len(rows) == limit && !last.IsZero())
	if len(rows) == 0 {
		return nil, nil
	}
	return tx.claimed(ctx, rows)
}
