package outbox

import (
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"schakel/store"
	"schakel/store/storetest"
)

// TestMachine does what can be done to the engine in any order: publishing, repeats of requests, changes of subscriptions,
// endpoints, partners and routes, every kind of answer and none, pulling, what people do with deliveries, the clock,
// retention, and crashes between any two steps. The loops of the engine stand still and the test takes their steps, so
// that what failed can be repeated and made small. After each step the database must be what the rules say, told in
// another way than the engine does, and in the end everything must have gone where it should (guarantees G1 to G6).
//
// The flags -rapid.checks and -rapid.steps make it longer.
//
// Rules: EDU-07, EDU-08, EDU-09, EDU-10, EDU-11, EDU-17, EDU-18, EDU-18b, EDU-N09, EDU-N11, IDEM-07, IDEM-09, IDEM-11, IDEM-12, IDEM-13, IDEM-14, IDEM-15.
func TestMachine(t *testing.T) {
	t.Parallel()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, on := range []struct {
		name          string
		open          func(testing.TB, ...storetest.Option) *store.DB
		checks, nodes int
	}{{"sqlite", storetest.SQLite, 40, 1}, {"postgres", storetest.Postgres, 6, 2}} {
		t.Run(on.name, func(t *testing.T) { // one after the other: they share the flags
			limits(t, given, map[string]string{
				"rapid.checks": strconv.Itoa(on.checks), "rapid.steps": "40", "rapid.nofailfile": "true",
				"rapid.seed": "101", // the same histories each time; -rapid.seed=0 draws others
			})
			rapid.Check(t, func(rt *rapid.T) {
				clock := storetest.NewClock()
				m := newMachine(rt, on.open(t, storetest.WithClock(clock)), clock, on.nodes)
				defer m.close()
				rt.Repeat(m.actions())
				m.step(rt, "drain", m.drain)
			})
		})
	}
}

// limits sets flags of this test binary that whoever runs it did not set.
func limits(t *testing.T, given map[string]bool, values map[string]string) {
	t.Helper()
	for name, value := range values {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}
