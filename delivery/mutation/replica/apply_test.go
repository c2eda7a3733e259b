package replica_test

import (
	"fmt"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestExactCopy follows random histories through an initial delivery and deltas; the copy is the source at every boundary,
// whichever way states are found, and whether transactions are small or large. Each delivery comes twice.
//
// Rules: MUT-01, MUT-03, MUT-04, MUT-15, MUT-16, MUT-22, MUT-35, MUT-36, MUT-37.
func TestExactCopy(t *testing.T) {
	t.Parallel()
	for i, match := range []string{"id", "all-fields", "key=Ding/id,nr"} {
		for _, size := range []int{1, 7, 4000} {
			t.Run(fmt.Sprint(match, size), func(t *testing.T) {
				t.Parallel()
				each(t, func(t *testing.T, database string) {
					m, err := replica.ParseMatch(match)
					if err != nil {
						t.Fatal(err)
					}
					f := open(t, database, replica.Options{Match: m, Mutations: size, Verify: replica.VerifyStop})
					w := newWorld(t, uint64(i))
					w.groups(60)
					twice(t, f, pack(t, format.Initial, "snapshot-1", "delta-0", w.whole()))
					w.check(t, database)
					for n := range 6 {
						twice(t, f, pack(t, format.Delta, fmt.Sprint("delta-", n+1), fmt.Sprint("delta-", n), w.groups(20*n)))
						w.check(t, database)
					}
					if c := f.Copy(); c.DeltaID != "delta-6" || c.Lineage != "lin-1" || c.UnderWay != nil {
						t.Errorf("%+v", c)
					}
				})
			})
		}
	}
}

func twice(t *testing.T, f *replica.Follower, z zipped) {
	t.Helper()
	first, again := apply(t, f, z.delivery()), apply(t, f, z.delivery())
	if first.Counts.Counts != z.Counts || first.Deliveries[0].Skipped || !again.Deliveries[0].Skipped || again.Counts.Groups != 0 {
		t.Errorf("first %s, again %s, manifest %+v", asJSON(first), asJSON(again), z.Counts)
	}
}
