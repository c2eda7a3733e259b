package main

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/storetest"
)

// skewedNode makes deliveries from a database by a clock that is ahead of others.
func skewedNode(t *testing.T, url string, ahead time.Duration) *mutations {
	t.Helper()
	now := func() time.Time { return cli.Clock().Add(ahead) }
	db, err := store.Open(t.Context(), url, store.Options{Now: now})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	must(t, db.Migrate(t.Context()))
	m := &mutations{
		db: db, exporter: export.New(export.Config{DB: db, Now: now, Lease: time.Second}), log: quiet(), now: now, counts: newMutationCounts(db),
	}
	m.jobs = []*mutationJob{{
		store.TroubleDelta, export.DeltaTask, m.exporter.DeltaDue, m.delta,
		leases{db: db, log: quiet(), node: db.NewID("node"), lease: time.Second, beat: 250 * time.Millisecond, most: 4},
	}}
	return m
}

// TestMutationClocks: of nodes whose clocks differ by more than a lease, each may think that the others are dead. Still every
// group is in one delta, in order, each delta begins where the one before ended, and time goes on.
//
// Rules: MUT-35.
func TestMutationClocks(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	var nodes []*mutations
	for _, ahead := range []time.Duration{0, 3 * time.Second, -3 * time.Second} {
		nodes = append(nodes, skewedNode(t, url, ahead))
	}
	ctx, set := t.Context(), "gebouwen"
	p := &program{db: nodes[0].db}
	newDataset(t, p, set, 0)
	for range 12 {
		p := &program{db: nodes[rand.IntN(len(nodes))].db}
		for range 1 + rand.IntN(5) {
			publishOne(t, p, set)
		}
		must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.AskDelta(ctx, set) }))
		for asked := true; asked; {
			var all sync.WaitGroup
			for _, m := range nodes {
				all.Go(func() {
					must(t, m.look(ctx))
					m.done.Wait()
				})
			}
			all.Wait()
			row, err := p.db.Dataset(ctx, set)
			must(t, err)
			asked = !row.DeltaAskedAt.IsZero()
		}
	}
	row, err := p.db.Dataset(ctx, set)
	must(t, err)
	rows, _, err := p.db.MutationDeltas(ctx, store.MutationDeltaFilter{DatasetID: set})
	must(t, err)
	seq, at := int64(0), row.LineageAt
	for i, d := range rows {
		if d.Number != int64(i+1) || d.FromSeq != seq || !d.FromAt.Equal(at.Time) || !d.ToAt.After(d.FromAt.Time) || d.ToSeq <= d.FromSeq {
			t.Errorf("delta %d is %+v", i+1, d)
		}
		seq, at = d.ToSeq, d.ToAt
	}
	if seq != row.LastSeq || len(rows) < 12 {
		t.Errorf("%d deltas up to group %d of %d", len(rows), seq, row.LastSeq)
	}
}
