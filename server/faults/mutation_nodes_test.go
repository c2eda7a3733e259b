package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry/identity"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// nodes are two programs that deliver a dataset from one PostgreSQL.
type nodes struct {
	*register
	all    [2]*trial.Program
	custom []custom
}

// custom is a download that a follower asked for.
type custom struct {
	follower int
	id       string
}

// TestMutationNodes has two nodes share a PostgreSQL. Each request to publish goes to both at the same moment, with the same
// key; one node after the other is killed or stopped while groups come in, deltas are cut, snapshots and downloads are made and
// followers fetch now from the one, then from the other. What one node left the other one finishes; no delta is lost, doubled
// or out of order; both serve the same bytes; every download that was asked for is made; and the copies are exact.
//
// Rules: MUT-01, MUT-22, MUT-34, MUT-35, MUT-37, MUT-53.
func TestMutationNodes(t *testing.T) {
	t.Parallel()
	database := storetest.PostgresURL(t)
	n := &nodes{register: newRegister(t, historytest.BGT, database)}
	other := trial.NewProgram(t, n.PKI, n.Own, database, "--log-level", "warn", "--lease", "2s")
	for flag, value := range map[string]string{"--secret-key-file": n.SecretKey, "--base-url": n.Base} {
		other.Args = replaced(other.Args, flag, value)
	}
	n.all = [2]*trial.Program{n.Program, other}
	n.tokens = "https://" + strings.Replace(n.proxy.addr(), "127.0.0.1", "localhost", 1)
	for _, p := range n.all {
		p.Start(t)
	}
	for turn := range *mutationKills / 3 {
		n.turn(t, turn)
		if t.Failed() {
			return
		}
	}
	n.finish(t)
	n.chain(t)
	n.sameBytes(t)
	n.downloads(t)
}

// turn kills or stops one node while both work, and starts it again when the other went on without it.
func (n *nodes) turn(t *testing.T, turn int) {
	t.Helper()
	victim, left := n.all[turn%2], n.all[(turn+1)%2]
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { n.publishTwice(ctx, t, left) })
	for f := range n.world.Followers {
		all.Go(func() {
			for ctx.Err() == nil {
				n.follow(ctx, t, f, rand.IntN(3) == 0)
			}
		})
	}
	for range 3 {
		trial.Pause(time.Duration(100+rand.IntN(400)) * time.Millisecond)
		n.ask(t)
		n.request(t, left)
		n.proxy.aim(strings.TrimPrefix(n.all[rand.IntN(2)].Base, "https://"))
	}
	if turn%3 == 2 {
		victim.Stop(t)
	} else {
		victim.Kill(t)
	}
	n.proxy.aim(strings.TrimPrefix(left.Base, "https://"))
	at := n.last(t)
	trial.Eventually(t, "the other node cuts", func() (bool, string) {
		if t.Failed() { // nothing may be published any more
			t.FailNow()
		}
		n.ask(t)
		trial.Pause(300 * time.Millisecond)
		now := n.last(t)
		return now.Number > at.Number+1, fmt.Sprint("delta ", now.Number)
	})
	stop()
	all.Wait()
	victim.Start(t)
}

// publishTwice sends each request to both nodes at the same moment until one of them has taken it. What both answer is the same.
func (n *nodes) publishTwice(ctx context.Context, t *testing.T, left *trial.Program) {
	access := left.Token(t, n.world.Publisher, "mutations.publish")
	for ctx.Err() == nil {
		if n.pending == nil {
			groups := make([]*format.Group, 1+rand.IntN(20))
			for i := range groups {
				groups[i] = n.source.Group()
			}
			n.record.Add(groups...)
			n.pending, n.key = trial.MutationFile(t, n.source, n.world.Dataset, groups), trial.EventHeader("application/xml")
		}
		var answers [2]trial.Answer
		var both sync.WaitGroup
		for i, p := range n.all {
			both.Go(func() {
				answers[i], _ = p.Try("POST", "/mutations/v1/datasets/"+n.world.Dataset+"/mutation-groups", access, n.key, n.pending) // one may be gone
			})
		}
		both.Wait()
		var receipts [][]byte
		for _, a := range answers {
			switch {
			case a.Status == 201:
				receipts = append(receipts, receipt(t, a.Body))
			case a.Status != 0 && a.Status < 500 && a.Status != 409 && a.Status != 429:
				t.Errorf("published: %d %s", a.Status, a.Body)
				return
			}
		}
		if len(receipts) == 2 && !bytes.Equal(receipts[0], receipts[1]) {
			t.Errorf("one request was answered\n%s\nand\n%s", receipts[0], receipts[1])
		}
		if len(receipts) > 0 {
			n.pending = nil
		}
		trial.Pause(20 * time.Millisecond) // a register of moderate size shows the same
	}
}

// receipt is an answer without whether it was given before.
func receipt(t *testing.T, body []byte) []byte {
	t.Helper()
	var all map[string]any
	trial.Must(t, json.Unmarshal(body, &all))
	delete(all, "replayed")
	return trial.Must1[[]byte](t)(json.Marshal(all))
}

func (n *nodes) last(t *testing.T) (d store.MutationDelta) {
	t.Helper()
	n.Open(t, func(db *store.DB) {
		d, _ = db.LastMutationDelta(t.Context(), n.world.Dataset) // there may be none yet
	})
	return d
}

// name gives a delta its id for a follower: one of a part has a name of its own.
func (n *nodes) name(t *testing.T, p *trial.Program, access, id string) string {
	t.Helper()
	a, err := p.Try("GET", n.path("/deltas?count=100"), access, nil, nil)
	trial.Must(t, err)
	return cmp.Or(regexp.MustCompile(regexp.QuoteMeta(id)+`(-[0-9a-f]{12})?`).FindString(string(a.Body)), id)
}

// request asks for a download of the newest delta by each follower.
func (n *nodes) request(t *testing.T, p *trial.Program) {
	t.Helper()
	d := n.last(t)
	if d.ID == "" {
		return
	}
	for f, who := range n.world.Followers {
		access := p.Token(t, who.Credentials, identity.ScopeMutationsRead)
		a, err := p.Try("POST", n.path("/deltas/custom"), access, nil,
			map[string]any{"format": "gml", "featuretypes": historytest.Types()[:1], "deltaId": n.name(t, p, access, d.ID), "geofilter": ring.WKT()})
		if err != nil || a.Status != 202 {
			t.Errorf("asked for a download: %d %s, %v", a.Status, a.Body, err)
			continue
		}
		var got struct{ DownloadRequestID string }
		a.Into(t, &got)
		n.custom = append(n.custom, custom{f, got.DownloadRequestID})
	}
}

func (n *nodes) path(rest string) string { return "/mutations/v1/datasets/" + n.world.Dataset + rest }

// chain checks that each delta goes on where the one before it ended, and is told once to who gets all of it and once to who
// gets a part.
func (n *nodes) chain(t *testing.T) {
	t.Helper()
	n.Open(t, func(db *store.DB) {
		rows, _, err := db.MutationDeltas(t.Context(), store.MutationDeltaFilter{DatasetID: n.world.Dataset})
		trial.Must(t, err)
		for i, d := range rows {
			if d.Number != int64(i+1) || i > 0 && (d.PreviousID != rows[i-1].ID || d.FromSeq != rows[i-1].ToSeq || !d.FromAt.Equal(rows[i-1].ToAt.Time)) {
				t.Errorf("delta %d of %s does not go on where %d ended", d.Number, n.world.Dataset, i)
			}
		}
		t.Logf("%d deltas", len(rows))
		trial.Eventually(t, "all deltas are told", func() (bool, string) {
			events, total, err := db.Events(t.Context(), store.EventFilter{Type: "nl.schakel.mutations.delivery-available.v1"})
			trial.Must(t, err)
			told := map[string]int{}
			for _, e := range events {
				told[e.CEID]++
			}
			for id, times := range told {
				if times > 1 {
					t.Errorf("event %s is told %d times", id, times)
				}
			}
			return len(told) == 2*len(rows), fmt.Sprintf("%d of %d events", total, 2*len(rows))
		})
	})
}

// sameBytes fetches each delta, the first half from one node and the rest from the other.
func (n *nodes) sameBytes(t *testing.T) {
	t.Helper()
	var ids []string
	n.Open(t, func(db *store.DB) {
		rows, _, err := db.MutationDeltas(t.Context(), store.MutationDeltaFilter{DatasetID: n.world.Dataset})
		trial.Must(t, err)
		for _, d := range rows {
			ids = append(ids, d.ID)
		}
	})
	for f, who := range n.world.Followers {
		access := n.Token(t, who.Credentials, identity.ScopeMutationsRead)
		for _, id := range ids {
			target := n.path("/deltas/" + n.name(t, n.all[0], access, id) + "/content")
			whole := n.fetched(t, n.all[0], target, access, nil)
			half := fmt.Sprint(len(whole.Body) / 2)
			tag := whole.Header.Get("ETag")
			first := n.all[0].Call(t, "GET", target, access, map[string]string{"Range": "bytes=0-" + fmt.Sprint(len(whole.Body)/2-1)}, nil).Want(t, 206)
			rest := n.all[1].Call(t, "GET", target, access, map[string]string{"Range": "bytes=" + half + "-", "If-Range": tag}, nil).Want(t, 206)
			if !bytes.Equal(append(first.Body, rest.Body...), whole.Body) || rest.Header.Get("ETag") != tag || !strings.HasPrefix(tag, `"sha256:`) {
				t.Errorf("follower %d, delta %s: the nodes serve other bytes", f, id)
			}
		}
	}
}

// fetched waits for a file that is made when it is asked for.
func (n *nodes) fetched(t *testing.T, p *trial.Program, target, access string, header map[string]string) (a trial.Answer) {
	t.Helper()
	trial.Eventually(t, target+" is there", func() (bool, string) {
		a = p.Call(t, "GET", target, access, header, nil)
		return a.Status == 200, string(a.Body)
	})
	return a
}

// downloads wants every download that was asked for, from either node.
func (n *nodes) downloads(t *testing.T) {
	t.Helper()
	for i, c := range n.custom {
		p := n.all[i%2]
		access := p.Token(t, n.world.Followers[c.follower].Credentials, identity.ScopeMutationsRead)
		trial.Eventually(t, "download "+c.id+" is made", func() (bool, string) {
			a := p.Call(t, "GET", n.path("/deltas/custom/"+c.id+"/status"), access, nil, nil)
			return a.Status == 201, string(a.Body)
		})
		p.Call(t, "GET", n.path("/downloads/"+c.id+"/content"), access, nil, nil).Want(t, 200)
	}
	t.Logf("%d downloads", len(n.custom))
}
