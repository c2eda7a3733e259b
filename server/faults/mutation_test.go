package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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
	"schakel/registry/identity"
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

// TestMutationStopped stops a node, as an operator does for a new version, while a publication streams in and a download streams
// out: it ends in time, and both go on at the other node behind what was there, with the same bytes.
//
// Rules: MUT-22, MUT-53, MUT-54.
func TestMutationStopped(t *testing.T) {
	t.Parallel()
	database := storetest.PostgresURL(t)
	r := newRegister(t, historytest.BAG, database)
	other := trial.NewProgram(t, r.PKI, r.Own, database, "--log-level", "warn", "--lease", "2s")
	for flag, value := range map[string]string{"--secret-key-file": r.SecretKey, "--base-url": r.Base} {
		other.Args = replaced(other.Args, flag, value)
	}
	r.Start(t)
	other.Start(t)

	groups := make([]*format.Group, 4000)
	for i := range groups {
		groups[i] = r.source.Group()
	}
	file, header := trial.MutationFile(t, r.source, r.world.Dataset, groups), trial.EventHeader("application/xml")
	target := "/mutations/v1/datasets/" + r.world.Dataset
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	body, send := io.Pipe()
	broken := make(chan string, 1)
	go func() { broken <- r.stream(target+"/mutation-groups", access, header, body) }()
	_, err := send.Write(file[:len(file)/2])
	trial.Must(t, err)
	trial.Eventually(t, "groups are in", func() (bool, string) {
		n := r.groups(t)
		return n > 500, fmt.Sprint(n)
	})
	r.Stop(t)
	_ = send.CloseWithError(io.ErrClosedPipe)
	t.Log("the publisher got: ", <-broken)
	in := r.groups(t)
	a := other.Call(t, "POST", target+"/mutation-groups", access, header, file).Want(t, 201)
	var receipt struct{ Groups, FirstSeq, LastSeq int64 }
	a.Into(t, &receipt)
	if in == 0 || in >= 4000 || receipt.Groups != 4000 || receipt.FirstSeq != 1 || receipt.LastSeq != 4000 || r.groups(t) != 4000 {
		t.Errorf("%d groups were in; then %+v, %d", in, receipt, r.groups(t))
	}
	r.Start(t)
	r.download(t, other)
}

func (r *register) groups(t *testing.T) (n int64) {
	t.Helper()
	r.Open(t, func(db *store.DB) {
		n = trial.Must1[store.Dataset](t)(db.Dataset(t.Context(), r.world.Dataset)).LastSeq
	})
	return n
}

// stream sends a body as it comes, and returns the result.
func (r *register) stream(path, access string, header map[string]string, body io.Reader) string {
	q, err := http.NewRequest(http.MethodPost, r.Base+path, body)
	if err != nil {
		return err.Error()
	}
	for name, value := range header {
		q.Header.Set(name, value)
	}
	q.Header.Set("Authorization", "Bearer "+access)
	a, err := r.Client.Do(q)
	if err != nil {
		return err.Error()
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body) // it may be cut
	return fmt.Sprint(a.StatusCode, " ", string(text))
}

// download reads half of a delta, has its node stopped, and fetches the rest from the other.
func (r *register) download(t *testing.T, other *trial.Program) {
	t.Helper()
	r.ask(t)
	var d store.MutationDelta
	trial.Eventually(t, "a delta is there", func() (bool, string) {
		var err error
		r.Open(t, func(db *store.DB) { d, err = db.LastMutationDelta(t.Context(), r.world.Dataset) })
		return err == nil, fmt.Sprint(err)
	})
	path := "/mutations/v1/datasets/" + r.world.Dataset + "/deltas/" + d.ID + "/content"
	access := r.Token(t, r.world.Followers[0].Credentials, identity.ScopeMutationsRead)
	q, err := http.NewRequest(http.MethodGet, r.Base+path, nil)
	trial.Must(t, err)
	q.Header.Set("Authorization", "Bearer "+access)
	a, err := r.Client.Do(q)
	trial.Must(t, err)
	half := make([]byte, d.Bytes/4)
	_, err = io.ReadFull(a.Body, half)
	trial.Must(t, err)
	r.Stop(t)
	_ = a.Body.Close()
	rest := other.Call(t, "GET", path, access, map[string]string{"Range": fmt.Sprintf("bytes=%d-", len(half)), "If-Range": a.Header.Get("ETag")}, nil).Want(t, 206)
	whole := other.Call(t, "GET", path, access, nil, nil).Want(t, 200)
	if !bytes.Equal(append(half, rest.Body...), whole.Body) || int64(len(whole.Body)) != d.Bytes {
		t.Error("the rest is not that of the same bytes")
	}
}

// TestDatasetEnds ends a dataset while followers keep copies of it and changes came in that are in no delta yet: each follower
// gets them, says that the dataset has ended and stops by itself, with an exact copy.
//
// Rules: MUT-01, MUT-35.
func TestDatasetEnds(t *testing.T) {
	t.Parallel()
	r := newRegister(t, historytest.BRK, storetest.PostgresURL(t))
	r.Start(t)
	access := r.Token(t, r.world.Publisher, "mutations.publish")
	publish := func(n int) {
		groups := make([]*format.Group, n)
		for i := range groups {
			groups[i] = r.source.Group()
		}
		r.record.Add(groups...)
		r.Call(t, "POST", "/mutations/v1/datasets/"+r.world.Dataset+"/mutation-groups", access, trial.EventHeader("application/xml"), trial.MutationFile(t, r.source, r.world.Dataset, groups)).Want(t, 201)
	}
	publish(200)
	r.ask(t)
	ended := make([]chan error, len(r.world.Followers))
	outs := make([]bytes.Buffer, len(r.world.Followers))
	for n, f := range r.world.Followers {
		cmd := exec.CommandContext(t.Context(), trial.Path(t), "mutations", "follow", "--json", "--every", "1s",
			"--url", r.Base+"/mutations/v1/datasets/"+r.world.Dataset, "--client-id", f.Credentials.ID, "--client-secret", f.Credentials.Secret,
			"--database", "sqlite:"+r.copies[n], "--name", "copy", "--verify", "stop")
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SSL_CERT_FILE="+r.CAFile), &outs[n], os.Stderr
		ended[n] = make(chan error, 1)
		trial.Must(t, cmd.Start())
		go func() { ended[n] <- cmd.Wait() }()
	}
	publish(100)
	r.SetUp(t, func(c *demo.Chain) { trial.Must(t, c.Datasets.End(t.Context(), c.Admin, r.world.Dataset, "It moved.")) })
	for n := range r.world.Followers {
		if err := <-ended[n]; err != nil {
			t.Errorf("follower %d ends with %v", n, err)
		}
		last := outs[n].String()[strings.LastIndex(strings.TrimSpace(outs[n].String()), "\n{")+1:]
		var report struct {
			DeltaID string
			Ended   struct{ Reason string }
		}
		if err := json.Unmarshal([]byte(last), &report); err != nil || report.Ended.Reason != "It moved." {
			t.Errorf("follower %d says %s, %v", n, last, err)
			continue
		}
		r.compare(t, n, report.DeltaID)
	}
	if r.groups(t) != 300 {
		t.Errorf("%d groups", r.groups(t))
	}
}
