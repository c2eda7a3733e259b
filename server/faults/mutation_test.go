package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// mutationKills sets how often each part is killed for each register.
var mutationKills = flag.Int("mutation-kills", 12, "how often TestMutationKill kills the program, for each register and database")

// ring is the area that one follower asked for.
var ring = historytest.Ring{
	Outer: historytest.Frame{Left: 155200, Bottom: 463100, Right: 155900, Top: 463800},
	Hole:  historytest.Frame{Left: 155400, Bottom: 463300, Right: 155700, Top: 463600},
}

// register is a program that delivers a dataset, its source, and followers with copies of it.
type register struct {
	*trial.Program
	world  trial.MutationWorld
	source *historytest.History
	record historytest.Record
	proxy  *proxy // between followers and program
	copies []string
	tokens string // where followers get theirs

	pending []byte // a request that was not answered yet
	key     map[string]string
}

// TestMutationKill kills the program that delivers a dataset while groups are published, deltas are cut and followers
// download; kills the followers, and breaks their lines at any byte. Whenever a follower says it is up to date, its copy is
// exact; and so it is in the end.
//
// Rules: MUT-01, MUT-02, MUT-22, MUT-29, MUT-35, MUT-37, MUT-42.
func TestMutationKill(t *testing.T) {
	t.Parallel()
	for n, model := range historytest.Models() {
		database := trial.SQLitePath(t)
		if n%2 == 1 {
			database = storetest.PostgresURL(t)
		}
		t.Run(string(model), func(t *testing.T) {
			t.Parallel()
			r := newRegister(t, model, database)
			for range *mutationKills {
				r.Start(t)
				r.round(t)
				if t.Failed() {
					return
				}
			}
			r.Start(t)
			r.finish(t)
		})
	}
}

func newRegister(t *testing.T, model historytest.Model, database string) *register {
	t.Helper()
	r := &register{source: historytest.New(rand.Uint64(), model, "")}
	r.Program = trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), database, "--log-level", "warn", "--lease", "2s")
	r.SetUp(t, func(c *demo.Chain) {
		r.world = r.DeliverMutations(t, c, trial.HistoryDataset(string(model)), "", ring.WKT())
	})
	r.proxy, r.tokens = newProxy(t, strings.TrimPrefix(r.Base, "https://")), r.Base
	for range r.world.Followers {
		r.copies = append(r.copies, filepath.Join(t.TempDir(), "copy.db"))
	}
	return r
}

// round publishes and cuts, and lets followers follow, until the program is killed in between.
func (r *register) round(t *testing.T) {
	t.Helper()
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { r.publish(ctx, t, access) })
	for n := range r.world.Followers {
		all.Go(func() {
			for ctx.Err() == nil {
				r.follow(ctx, t, n, rand.IntN(3) > 0)
			}
		})
	}
	for range 1 + rand.IntN(4) {
		trial.Pause(time.Duration(50+rand.IntN(400)) * time.Millisecond)
		r.ask(t)
		r.proxy.set(0, true) // breaks what there is
		r.proxy.set(0, false)
	}
	r.Kill(t)
	stop()
	all.Wait()
}

// publish sends groups one request after another. What it leaves undecided, the next call begins with, under the same key.
func (r *register) publish(ctx context.Context, t *testing.T, access string) {
	for ctx.Err() == nil {
		if r.pending == nil {
			groups := make([]*format.Group, 1+rand.IntN(20))
			for i := range groups {
				groups[i] = r.source.Group()
			}
			r.record.Add(groups...) // in the order in which they come in, all in the end
			r.pending, r.key = trial.MutationFile(t, r.source, r.world.Dataset, groups), trial.EventHeader("application/xml")
		}
		a, err := r.Try("POST", "/mutations/v1/datasets/"+r.world.Dataset+"/mutation-groups", access, r.key, r.pending)
		switch {
		case err == nil && a.Status == 201:
			r.pending = nil
		case err == nil && a.Status < 500 && a.Status != 409 && a.Status != 429:
			t.Errorf("published: %d %s", a.Status, a.Body)
			return
		default:
			trial.Pause(50 * time.Millisecond)
		}
	}
}

// ask has a delta cut, and now and then a snapshot made.
func (r *register) ask(t *testing.T) {
	t.Helper()
	r.Open(t, func(db *store.DB) {
		trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error {
			if rand.IntN(3) == 0 {
				if err := tx.AskSnapshot(t.Context(), r.world.Dataset); err != nil {
					return err
				}
			}
			return tx.AskDelta(t.Context(), r.world.Dataset)
		}))
	})
}

// said holds the report of a follower.
type said struct {
	DeltaID string `json:"deltaId"`
}

// follow lets a follower bring its copy up to date, or kills it on the way. When it says that it is, the copy is held
// against the source.
func (r *register) follow(ctx context.Context, t *testing.T, n int, kill bool) {
	code, out, err := r.runFollower(ctx, t, n, kill)
	if err != nil || code != 0 {
		return // killed, or the program was away
	}
	var report said
	if err := json.Unmarshal(out, &report); err != nil || report.DeltaID == "" {
		return
	}
	r.compare(t, n, report.DeltaID)
}

func (r *register) runFollower(ctx context.Context, t *testing.T, n int, kill bool) (int, []byte, error) {
	if kill {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(100+rand.IntN(900))*time.Millisecond)
		defer stop()
	}
	f := r.world.Followers[n]
	_, port, _ := strings.Cut(r.proxy.addr(), ":")
	cmd := exec.CommandContext(ctx, trial.Path(t), "mutations", "follow", "--json",
		"--url", "https://localhost:"+port+"/mutations/v1/datasets/"+r.world.Dataset, "--token-url", r.tokens+"/oauth/token",
		"--client-id", f.Credentials.ID, "--client-secret", f.Credentials.Secret, "--database", "sqlite:"+r.copies[n], "--name", "copy", "--verify", "stop")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+r.CAFile)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return -1, nil, err
	}
	for _, word := range []string{"is not in the copy", "missing in between", "other fields", "made anew", "panic", "DATA RACE"} {
		if strings.Contains(complaint.String(), word) {
			t.Errorf("%s: %s", f.Name, complaint.String())
		}
	}
	return cmd.ProcessState.ExitCode(), out.Bytes(), nil
}

// compare holds a copy against the source, at the end of a delta.
func (r *register) compare(t *testing.T, n int, deltaID string) {
	const idLength = 36 // readers of a part know a delta by its UUID and a mark
	deltaID = deltaID[:min(len(deltaID), idLength)]
	var delta store.MutationDelta
	r.Open(t, func(db *store.DB) {
		delta = trial.Must1[store.MutationDelta](t)(db.MutationDelta(t.Context(), deltaID))
	})
	db, err := sql.Open("sqlite3", r.copies[n])
	trial.Must(t, err)
	defer db.Close()
	got, err := historytest.ReadCopy(t.Context(), db, "copy")
	trial.Must(t, err)
	var keep func(string, *format.State) bool
	if r.world.Followers[n].Area != "" {
		keep = func(_ string, s *format.State) bool { return ring.Inside(s) }
	}
	if d := historytest.Difference(got, r.record.At(delta.ToSeq, keep)); d != "" {
		t.Errorf("%s is not exact after delta %d, group %d: %s", r.world.Followers[n].Name, delta.Number, delta.ToSeq, d)
	}
}

// finish brings everybody up to date without any faults.
func (r *register) finish(t *testing.T) {
	t.Helper()
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	trial.Eventually(t, "the last request is taken", func() (bool, string) {
		if r.pending == nil {
			return true, ""
		}
		a, err := r.Try("POST", "/mutations/v1/datasets/"+r.world.Dataset+"/mutation-groups", access, r.key, r.pending)
		return err == nil && a.Status == 201, string(a.Body)
	})
	r.ask(t)
	trial.Eventually(t, "all groups are in deltas", func() (bool, string) {
		var last int64
		r.Open(t, func(db *store.DB) {
			d, err := db.LastMutationDelta(t.Context(), r.world.Dataset)
			if !errors.Is(err, store.ErrNotFound) {
				trial.Must(t, err)
			}
			last = d.ToSeq
		})
		return last == int64(r.record.Len()), fmt.Sprintf("%d of %d", last, r.record.Len())
	})
	for n := range r.world.Followers {
		trial.Eventually(t, "a follower is up to date", func() (bool, string) {
			code, out, err := r.runFollower(t.Context(), t, n, false)
			if err != nil || code != 0 {
				return false, string(out)
			}
			var report said
			trial.Must(t, json.Unmarshal(out, &report))
			r.compare(t, n, report.DeltaID)
			return true, ""
		})
	}
	t.Logf("%d groups; the copies are exact", r.record.Len())
}
