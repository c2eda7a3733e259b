package replica_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// TestTwoFollowers lets two programs follow into one copy at the same time: one of them may be refused, and the copy is right.
//
// Rules: MUT-22, MUT-37.
func TestTwoFollowers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		f, w := started(t, database, replica.Options{Mutations: 5})
		other := open(t, database, replica.Options{Name: "dingen", Mutations: 4})
		for n := range 4 {
			z := pack(t, format.Delta, fmt.Sprint("delta-", n+1), fmt.Sprint("delta-", n), w.groups(60))
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i, one := range []*replica.Follower{f, other} {
				both.Go(func() { errs[i] = one.Apply(t.Context(), z.delivery(), &replica.Report{}) })
			}
			both.Wait()
			for _, err := range errs {
				if err != nil && !errors.Is(err, replica.ErrBusy) {
					t.Error(err)
				}
			}
			apply(t, f, z.delivery())
			w.check(t, database)
		}
	})
}

// TestTwoCopies keeps copies of two datasets in one database, of which one is rebuilt while a view of somebody else
// stands on the other's.
func TestTwoCopies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		_, w := started(t, database, replica.Options{})
		second, _ := started(t, database, replica.Options{Name: "tweede"})
		if _, err := connect(t, database).Exec(`CREATE VIEW own AS SELECT object_id FROM tweede`); err != nil {
			t.Fatal(err)
		}
		anew := pack(t, format.Initial, "snapshot-2", "delta-9", nil).delivery()
		apply(t, second, anew)
		w.check(t, database)
		if got := rows(t, connect(t, database), `SELECT * FROM own`); got != "" {
			t.Errorf("the second copy shows %s", got)
		}
		copies, err := replica.Copies(t.Context(), database)
		if err != nil || len(copies) != 2 || copies[1].DeltaID != "delta-9" || copies[0].DeltaID != "delta-0" {
			t.Errorf("%+v, %v", copies, err)
		}
	})
}
