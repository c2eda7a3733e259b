package ingest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/storetest"
)

func sqlite(t testing.TB) *store.DB { return storetest.SQLite(t) }

// chain is a history of n groups on one object, each the next version.
func chain(n int) []*format.Group {
	out := []*format.Group{group(add("1", "v0", "0"))}
	for i := 1; i < n; i++ {
		out = append(out, group(mut("1", st(fmt.Sprint("v", i-1), fmt.Sprint(i-1)), st(fmt.Sprint("v", i), fmt.Sprint(i)))))
	}
	return out
}

// Wherever it was cut off, the same request goes on behind what is in; the end is the same as without the cut.
// Rules: MUT-22, MUT-29.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		groups := chain(12)
		for cut := range groups {
			_, err := w.ingester.Publish(w.ctx, w.request("k", &stream{groups: groups[:cut], err: errCut}))
			if !errors.Is(err, errCut) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if got := len(w.history()); got != cut {
				t.Fatalf("cut at %d: %d groups are in", cut, got)
			}
		}
		got := w.publish("k", groups...)
		if got.Publication.Groups != 12 || got.Replayed || w.alive() != "1=11" || len(w.history()) != 12 {
			t.Errorf("%+v: %s", got, w.alive())
		}
	})
}

// Under a key that was used nothing else comes in, be it other, shorter or longer.
func TestOtherContent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		whole := chain(4)
		w.publish("k", whole...)
		if _, err := w.ingester.Publish(w.ctx, w.request("half", &stream{groups: []*format.Group{group(add("2", "w0", "0")), group(add("3", "w1", "0"))}, err: errCut})); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		before := w.history()
		for name, c := range map[string]struct {
			key    string
			groups []*format.Group
		}{
			"shorter":       {"k", whole[:3]},
			"longer":        {"k", append(append([]*format.Group{}, whole...), group(add("9", "x", "x")))},
			"other":         {"k", append([]*format.Group{group(add("1", "v0", "nul"))}, whole[1:]...)},
			"other id":      {"k", append([]*format.Group{group(add("1", "V0", "0"))}, whole[1:]...)},
			"half shorter":  {"half", []*format.Group{group(add("2", "w0", "0"))}},
			"half other":    {"half", []*format.Group{group(add("2", "w0", "0")), group(add("4", "w1", "0"))}},
			"half, regroup": {"half", []*format.Group{group(add("2", "w0", "0"), add("3", "w1", "0"))}},
		} {
			if _, err := w.ingester.Publish(w.ctx, w.request(c.key, of(c.groups...))); !errors.Is(err, ingest.ErrOtherContent) {
				t.Errorf("%s: %v", name, err)
			}
		}
		req := w.request("k", of(whole...))
		req.Kind = store.PublicationDelta
		if _, err := w.ingester.Publish(w.ctx, req); !errors.Is(err, ingest.ErrOtherContent) {
			t.Errorf("other kind: %v", err)
		}
		if got := w.history(); !reflect.DeepEqual(got, before) {
			t.Errorf("history %q", got)
		}
		other := w.request("k", of(group(add("7", "z", "z"))))
		other.ClientID = "cli_2"
		if _, err := w.ingester.Publish(w.ctx, other); err != nil {
			t.Errorf("the key of another client: %v", err)
		}
	})
}

// A publication that is cancelled stops; what is in stays in.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := of(chain(50)...)
		s.before = func(at int) {
			if at == 20 {
				found, _, err := w.db.Publications(w.ctx, store.PublicationFilter{Status: store.MutationRunning})
				if err == nil {
					err = w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.CancelPublication(w.ctx, found[0].ID) })
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		for range 2 {
			if _, err := w.ingester.Publish(w.ctx, w.request("k", s)); !errors.Is(err, ingest.ErrCancelled) {
				t.Fatal(err)
			}
		}
		found, _, err := w.db.Publications(w.ctx, store.PublicationFilter{})
		if err != nil || found[0].Status != store.MutationCancelled || found[0].Groups > 20 || int(found[0].Groups) != len(w.history()) {
			t.Errorf("%+v, %v; %d groups", found, err, len(w.history()))
		}
		ctx, stop := context.WithCancel(w.ctx)
		s = of(chain(50)...)
		s.before = func(at int) {
			if at == 20 {
				stop()
			}
		}
		if _, err := w.ingester.Publish(ctx, w.request("other", &stream{groups: []*format.Group{group(add("2", "a", "a"))}, before: func(int) { stop() }})); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended: %v", err)
		}
	})
}

// Of two requests with one key one goes on, and the other is refused; nothing is in twice.
// Rules: MUT-10, MUT-22.
func TestSameKeyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for round := range 5 {
			var group sync.WaitGroup
			var mu sync.Mutex
			won := 0
			groups := chain(40)
			for _, g := range groups {
				for i := range g.Mutations {
					g.Mutations[i].ObjectID = fmt.Sprint(round)
					for _, s := range []*format.State{g.Mutations[i].Was, g.Mutations[i].Wordt} {
						if s != nil {
							s.ID = fmt.Sprint(round, s.ID)
						}
					}
				}
			}
			for range 3 {
				group.Go(func() {
					_, err := ingest.New(ingest.Config{DB: w.db}).Publish(w.ctx, w.request(fmt.Sprint("k", round), of(groups...)))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, ingest.ErrElsewhere) {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if won == 0 || len(w.history()) != 40*(round+1) {
				t.Errorf("round %d: %d won, %d groups", round, won, len(w.history()))
			}
		}
	})
}

// Many publish in one dataset at once, and all their groups are whole and in the order of each.
// Rules: MUT-22, MUT-26.
func TestManyPublishers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		for p := range 4 {
			all.Go(func() {
				var groups []*format.Group
				for i := range 30 {
					g := group(add(fmt.Sprint(p), fmt.Sprint("s", p, "-", i), fmt.Sprint(i)))
					if i > 0 {
						g.Mutations = append(g.Mutations, mut(fmt.Sprint(p), st(fmt.Sprint("s", p, "-", i-1), fmt.Sprint(i-1)), nil))
					}
					groups = append(groups, g)
				}
				r, err := ingest.New(ingest.Config{DB: w.db}).Publish(w.ctx, w.request(fmt.Sprint("k", p), of(groups...)))
				if err != nil {
					t.Error(err)
					return
				}
				for i, s := range r.States {
					if int(s.Group) != i+1 || s.SourceID != fmt.Sprint("s", p, "-", i) {
						t.Errorf("publisher %d, state %d: %+v", p, i, s)
					}
				}
			})
		}
		all.Wait()
		if got := len(w.history()); got != 120 {
			t.Errorf("%d groups", got)
		}
	})
}

// asPublisher makes the test binary publish a history into the named database, to be killed meanwhile.
const asPublisher = "LEDGER_PUBLISH"

const (
	killSeed   = 6
	killGroups = 1500
)

func killHistory() (*historytest.History, []*format.Group) {
	h := historytest.New(killSeed, historytest.BAG, "kill")
	var groups []*format.Group
	for range killGroups {
		groups = append(groups, h.Group())
	}
	return h, groups
}

// publishAll publishes the history and tells now and then that it goes on.
func publishAll(t *testing.T, db *store.DB, tell func(at int)) (ingest.Receipt, error) {
	_, groups := killHistory()
	s := of(groups...)
	s.before = tell
	return ingest.New(ingest.Config{DB: db}).Publish(t.Context(), ingest.Request{Dataset: "register", ClientID: "c", Key: "k", Source: s})
}

// A process that is killed at any moment leaves whole groups with the progress of exactly those, and sending the same again
// gives the same end.
// Rules: MUT-10, MUT-22, MUT-29.
func TestPublishAfterAKill(t *testing.T) {
	if database := os.Getenv(asPublisher); database != "" {
		db := reopen(t, database, nil)
		if _, err := publishAll(t, db, func(at int) {
			if at%50 == 0 {
				fmt.Println("at", at)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	storetest.EachURL(t, func(t *testing.T, url string) {
		db := reopen(t, url, nil)
		insertDataset(t, db, "register")
		history, groups := killHistory()
		random := rand.New(rand.NewPCG(killSeed, uint64(len(db.Dialect()))))
		kills := 0
		for range 8 {
			db = reopen(t, url, db)
			before := wholePrefix(t, db, groups)
			must(t, db.Close())
			killOne(t, url, 1+(before+random.IntN(250))/50, time.Duration(random.IntN(30_000))*time.Microsecond)
			db = reopen(t, url, nil)
			if after := wholePrefix(t, db, groups); after < killGroups {
				kills++
			}
		}
		r, err := publishAll(t, db, nil)
		if err != nil || r.Publication.Groups != killGroups {
			t.Fatalf("%+v, %v", r.Publication, err)
		}
		if kills == 0 {
			t.Error("no kill fell in the middle")
		}
		s := &source{t: t, dataset: "register", history: history}
		s.check(db)
		idsAreUnique(t, db, []*source{s})
	})
}

// killOne starts a publisher and kills it a moment after it reported so often that it goes on.
func killOne(t *testing.T, url string, reports int, later time.Duration) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPublishAfterAKill$")
	child.Env = append(os.Environ(), asPublisher+"="+url)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	must(t, err)
	lines := bufio.NewScanner(out)
	for n := 0; n < reports && lines.Scan(); n++ {
	}
	// Wherever the kill falls, the verdict is the same; the moment only spreads it.
	timer := time.AfterFunc(later, func() { _ = child.Process.Kill() })
	for lines.Scan() {
	}
	_ = child.Wait()
	timer.Stop()
}

// wholePrefix makes sure that the first groups are in, each of them whole, and counts them.
func wholePrefix(t *testing.T, db *store.DB, want []*format.Group) int {
	t.Helper()
	d, err := db.Dataset(t.Context(), "register")
	must(t, err)
	p, err := db.PublicationByKey(t.Context(), "register", "c", "k")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if p.Groups != d.LastSeq {
		t.Fatalf("%d groups are in, the publication tells %d", d.LastSeq, p.Groups)
	}
	groups := db.OpenGroups("register", 0, d.LastSeq)
	for i := range d.LastSeq {
		g, err := groups.Next(t.Context())
		if err != nil || g.Seq != i+1 || len(g.Mutations) != len(want[i].Mutations) {
			t.Fatalf("group %d: %+v, %v; want %d mutations", i+1, g, err, len(want[i].Mutations))
		}
	}
	return int(d.LastSeq)
}
