package ingest_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/storetest"
)

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
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
