package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"schakel/delivery/event"
	"schakel/delivery/mutation/export"
	"schakel/registry/contracts/contract"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web"
)

// newDataset adds a dataset with n buildings.
func newDataset(t *testing.T, p *program, id string, n int) {
	t.Helper()
	ctx := t.Context()
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return tx.InsertDataset(ctx, &store.Dataset{
			ID: id, Title: "Buildings", Status: store.DatasetActive, RootPrefix: "g", RootSpace: "urn:g", RootLocal: "mutaties", Namespaces: "{}",
			ObjectTypes: store.Strings{"Pand", "Weg"}, AreaKind: store.AreaNone, PerFile: 100, Lineage: uuid.NewString(),
		})
	}))
	for range n {
		publishOne(t, p, id)
	}
}

// publishOne adds a building to a dataset.
func publishOne(t *testing.T, p *program, dataset string) {
	t.Helper()
	ctx := t.Context()
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		set, err := tx.LockDataset(ctx, dataset)
		if err != nil {
			return err
		}
		seq, id := set.LastSeq+1, uuid.NewString()
		return tx.AppendGroups(ctx, set, store.Appended{
			Groups:    []store.MutationGroup{{DatasetID: dataset, Seq: seq, At: tx.Now}},
			Mutations: []store.Mutation{{DatasetID: dataset, Seq: seq, Number: 1, ObjectType: "Pand", ObjectID: fmt.Sprint(seq), WordtID: id}},
			States: []store.MutationState{{
				ID: id, DatasetID: dataset, ObjectType: "Pand", ObjectID: fmt.Sprint(seq), BornSeq: seq, Digest: []byte{1}, Namespaces: "{}", XML: []byte("<Pand/>"),
			}},
		})
	}))
}

// followDataset makes an approved subscription to a dataset.
func followDataset(t *testing.T, p *program, dataset, partner string, types ...string) string {
	t.Helper()
	ctx := t.Context()
	e := store.Endpoint{PartnerID: partner, Name: "files", Kind: "files", Status: store.EndpointActive}
	s := store.Subscription{PartnerID: partner, DatasetID: dataset, Status: store.SubscriptionApproved}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertEndpoint(ctx, &e); err != nil {
			return err
		}
		s.EndpointID = e.ID
		if err := tx.InsertSubscription(ctx, &s); err != nil {
			return err
		}
		return tx.InsertMutationFollower(ctx, &store.MutationFollower{SubscriptionID: s.ID, DatasetID: dataset, ObjectTypes: types})
	}))
	return s.ID
}

func built(t *testing.T) *program {
	t.Helper()
	p, err := build(t.Context(), inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	return p
}

// TestMutationTeller: followers are told of each delta when what they get of it is ready, each in the same event however often
// that is told, and of a replaced history. The events match the contract.
//
// Rules: MUT-38.
func TestMutationTeller(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	north, south := approvedPartner(t, p, "North"), approvedPartner(t, p, "South")
	newDataset(t, p, "gebouwen", 3)
	followDataset(t, p, "gebouwen", north)
	part := followDataset(t, p, "gebouwen", south, "Pand")
	heard := &announced{events: map[string]event.Event{}, to: map[string]store.Audience{}}
	fresh := func() *mutationTeller {
		return &mutationTeller{db: p.db, accept: heard.accept, base: "https://here.example", told: map[string]string{}}
	}
	must(t, fresh().turn(ctx))
	if len(heard.events) != 0 {
		t.Errorf("there is nothing to tell: %v", heard.events)
	}
	d, err := p.exporter.MakeDelta(ctx, "gebouwen", export.Options{})
	must(t, err)
	heard.fail = context.DeadlineExceeded // the engine is busy
	if err := fresh().turn(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a failure was not told: %v", err)
	}
	heard.fail = nil
	must(t, fresh().turn(ctx))
	if e := heard.events[d.ID]; len(heard.events) != 1 || heard.to["gebouwen"] != store.OnlyFor(north) || !available(e, d, "") {
		t.Errorf("heard %v, for %v", heard.events, heard.to)
	}
	_, err = p.exporter.Work(ctx)
	must(t, err)
	must(t, fresh().turn(ctx))
	if e := heard.events[d.ID+"-"+part]; len(heard.events) != 2 || heard.to["gebouwen"] != store.OnlyFor(south) || !available(e, d, "?subscriptionId="+part) {
		t.Errorf("heard %v, for %v", heard.events, heard.to)
	}
	lineage := uuid.NewString()
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return tx.SetDatasetLineage(ctx, "gebouwen", lineage, "It was wrong.", false)
	}))
	teller := fresh()
	must(t, teller.turn(ctx))
	must(t, teller.turn(ctx))
	must(t, fresh().turn(ctx))
	told := heard.events[lineage]
	if len(heard.events) != 3 || told.Type != typeLineageChanged || !strings.Contains(string(told.Data), "It was wrong.") || heard.to["gebouwen"] != store.OnlyFor(north, south) {
		t.Errorf("heard %v, for %v", heard.events, heard.to)
	}
	delete(heard.events, lineage)
	must(t, fresh().turn(ctx))
	if len(heard.events) != 2 {
		t.Error("a lineage that was told is told again")
	}
	contractHas(t, typeDeliveryAvailable, typeLineageChanged)
}

// available checks the event of a delta, or of the part of it that a query asks for.
func available(e event.Event, d store.MutationDelta, query string) bool {
	sequence, _ := e.Extension("sequence")
	at, _ := e.Extension("dataref")
	key, _ := e.Extension("partitionkey")
	return e.Type == typeDeliveryAvailable && e.Subject == "gebouwen" && sequence == "00000000000000000001" && key == "gebouwen" && len(e.Data) == 0 &&
		at == "https://here.example/mutations/v1/datasets/gebouwen/deltas/"+d.ID+"/content"+query
}

// contractHas checks that the own contracts define event types.
func contractHas(t *testing.T, types ...string) {
	t.Helper()
	defined := map[string]bool{}
	for _, d := range web.OwnDocuments() {
		read, _, err := contract.Parse(d.Content, contract.Limits{})
		must(t, err)
		for _, e := range read.EventTypes() {
			defined[e.Type] = true
		}
	}
	for _, name := range types {
		if !defined[name] {
			t.Errorf("no contract defines %s", name)
		}
	}
}

// TestMutationService: what is asked for is made at once and once, and what is at work when the program stops ends soon.
func TestMutationService(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	newDataset(t, p, "gebouwen", 3)
	m, other := p.mutations(quiet()), p.mutations(quiet())
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.AskDelta(ctx, "gebouwen"), tx.AskSnapshot(ctx, "gebouwen"))
	}))
	for {
		must(t, m.look(ctx))
		must(t, other.look(ctx))
		m.done.Wait()
		other.done.Wait()
		set, err := p.db.Dataset(ctx, "gebouwen")
		must(t, err)
		if set.DeltaAskedAt.IsZero() && set.SnapshotAskedAt.IsZero() {
			break
		}
	}
	deltas, _, err := p.db.MutationDeltas(ctx, store.MutationDeltaFilter{DatasetID: "gebouwen"})
	must(t, err)
	snapshots, _, err := p.db.MutationSnapshots(ctx, "gebouwen", store.Page{})
	must(t, err)
	if len(deltas) != 1 || len(snapshots) != 1 || snapshots[0].DeltaID != deltas[0].ID {
		t.Errorf("%d deltas and %d snapshots", len(deltas), len(snapshots))
	}
	must(t, m.work(ctx))
	must(t, m.expire(ctx))
	text := scraped(t, p)
	for _, want := range []string{`schakel_mutation_deliveries_total{kind="snapshot"} 1`, `schakel_mutation_downloads{status="pending"} 0`, `schakel_mutation_delta_age_seconds{dataset="gebouwen"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	service := p.mutations(quiet())
	must(t, service.Start(ctx))
	ended, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	must(t, service.Stop(ended))
}

// TestMutationFails: a delta or snapshot that cannot be made is kept for people, with how often, and is tried again; what works
// again is cleared. Other datasets go on.
func TestMutationFails(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	newDataset(t, p, "gebouwen", 1)
	newDataset(t, p, "wegen", 1)
	m := p.mutations(quiet())
	now := cli.Clock()
	m.now = func() time.Time { return now }
	spaces := func(text string) {
		must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateDataset(ctx, spaced(t, p, "gebouwen", text)) }))
	}
	spaces("{") // a row that was spoilt
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.AskDelta(ctx, "gebouwen"), tx.AskSnapshot(ctx, "gebouwen"), tx.AskDelta(ctx, "wegen"))
	}))
	troubles := func() []store.MutationTrouble {
		t.Helper()
		now = now.Add(2 * time.Minute)
		must(t, m.look(ctx))
		m.done.Wait()
		rows, err := p.db.MutationTroubles(ctx, "")
		must(t, err)
		return rows
	}
	for n := range int64(2) {
		rows := troubles()
		if len(rows) != 2 || rows[0].Kind != store.TroubleDelta || rows[0].Times != n+1 || !strings.Contains(rows[0].Error, "datasets.failed.write") || rows[1].Kind != store.TroubleSnapshot {
			t.Errorf("kept %+v", rows)
		}
	}
	if d, err := p.db.LastMutationDelta(ctx, "wegen"); err != nil || d.Number != 1 {
		t.Errorf("the other dataset has %+v, %v", d, err)
	}
	if text := scraped(t, p); !strings.Contains(text, `schakel_mutation_failing{dataset="gebouwen",kind="delta"} 2`) {
		t.Error("the metrics say nothing of it")
	}
	spaces("{}")
	if rows := troubles(); len(rows) != 0 {
		t.Errorf("what works again is still kept: %+v", rows)
	}
	set, err := p.db.Dataset(ctx, "gebouwen")
	must(t, err)
	if !set.DeltaAskedAt.IsZero() || !set.SnapshotAskedAt.IsZero() {
		t.Error("what was asked for is not made")
	}
}

// spaced is a dataset with other namespaces.
func spaced(t *testing.T, p *program, id, text string) *store.Dataset {
	t.Helper()
	set, err := p.db.Dataset(t.Context(), id)
	must(t, err)
	set.Namespaces = text
	return &set
}

// TestMutationOvertaken: a node that another overtook begins anew at its next look; a minute's wait is for what failed.
func TestMutationOvertaken(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	newDataset(t, p, "gebouwen", 1)
	must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.AskDelta(ctx, "gebouwen") }))
	m := p.mutations(quiet())
	delta, looks := m.jobs[0], 0
	cut := delta.work
	delta.work = func(ctx context.Context, set store.Dataset) error {
		if looks++; looks == 1 {
			return fmt.Errorf("cut: %w", store.ErrConflict)
		}
		return cut(ctx, set)
	}
	for range 2 {
		must(t, m.look(ctx))
		m.done.Wait()
	}
	task, err := p.db.ClusterTask(ctx, export.DeltaTask("gebouwen"))
	must(t, err)
	if d, err := p.db.LastMutationDelta(ctx, "gebouwen"); err != nil || d.Number != 1 || looks != 2 || task.Error != "" {
		t.Errorf("after %d looks there is delta %d, %v; the task says %q", looks, d.Number, err, task.Error)
	}
}

// TestMutationAsked: who asks for a delta gets all that was there then, also when another node cuts at that moment.
func TestMutationAsked(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	newDataset(t, p, "gebouwen", 1)
	var nodes []*mutations
	for range 3 {
		nodes = append(nodes, p.mutations(quiet()))
	}
	for range 20 {
		publishOne(t, p, "gebouwen")
		must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.AskDelta(ctx, "gebouwen") }))
		set, err := p.db.Dataset(ctx, "gebouwen")
		must(t, err)
		for _, m := range nodes { // as when clocks differ by more than a lease
			m.done.Go(func() {
				if err := m.delta(ctx, set); err != nil {
					t.Error(err)
				}
			})
		}
		for _, m := range nodes {
			m.done.Wait()
		}
		last, err := p.db.LastMutationDelta(ctx, "gebouwen")
		must(t, err)
		if set, err = p.db.Dataset(ctx, "gebouwen"); err != nil || !set.DeltaAskedAt.IsZero() || last.ToSeq != set.LastSeq {
			t.Fatalf("asked %v, delta up to %d of %d, %v", set.DeltaAskedAt, last.ToSeq, set.LastSeq, err)
		}
	}
}

// scraped returns the metrics as Prometheus reads them.
func scraped(t *testing.T, p *program) string {
	t.Helper()
	got := httptest.NewRecorder()
	promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}).ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if got.Code != http.StatusOK {
		t.Errorf("metrics: %d", got.Code)
	}
	return got.Body.String()
}

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
