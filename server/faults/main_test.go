// Package faults breaks what a Schakel stands on, while it works: it is killed,
// its machine loses power, its disk fills up or fails, its database dies or is cut
// off, its receivers hang, drip and lose their answers, another node dies beside
// it. Judge is a ledger: every event that was answered 202 must in the end be at
// each approved receiver or lie in a queue (guarantee G1), nothing at one that is
// not approved (G2), in order where order was asked (G5), under one id and one
// Idempotency-Key (G4).
//
// Some faults can only be caused by root; a test says so
// when it cannot run. No test depends on how long something takes.
package faults

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) {
	needs.WholeProgram()
	storetest.Main(m)
}

// needRoot skips a test that must mount or trace, where that is not allowed.
func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("only root can %s", what)
	}
}

// chain is a program with receivers that get events, receivers that must not, and
// publishers whose acknowledged events a ledger keeps.
type chain struct {
	*trial.Program
	receiver  *trial.Receiver
	ledger    *trial.Ledger
	creds     demo.Credentials
	paths     map[string]string // of the receiver, by approved subscription
	forbidden []string          // paths
	senders   []*trial.Publisher
}

// Paths of the receiver whose subscriptions are approved.
const (
	steady  = "/steady"  // takes all
	flaky   = "/flaky"   // fails at times, in ways that end differently
	ordered = "/ordered" // wants events in order of their subject, and is away at times
)

// newChain sets up a program that is not started on a database.
func newChain(t *testing.T, database string, more ...string) *chain {
	t.Helper()
	p := trial.NewPKI(t)
	c := &chain{receiver: trial.NewReceiver(t, p), ledger: trial.NewLedger(), paths: map[string]string{}}
	c.receiver.RepeatsAfterFaults()
	c.Program = c.node(t, p, database, more...)
	c.SetUp(t, func(d *demo.Chain) {
		// The longer a receiver was away, the longer it is left alone: here for less than Drain waits, however long a fault took.
		trial.Must(t, d.ChangeSettings(t.Context(), map[string]string{"sending.circuit_wait": "5s", "sending.circuit_max_wait": "10s"}))
		c.agree(t, d)
	})
	c.receiver.Behave(moody)
	c.receiver.WantOrder(ordered)
	for i := range 8 {
		c.senders = append(c.senders, &trial.Publisher{
			Program: c.Program, Ledger: c.ledger, Name: fmt.Sprint("sender-", i), Type: demo.TypeEnrolled,
		})
	}
	return c
}

// node makes a program on a database, with short leases.
func (c *chain) node(t *testing.T, p *trial.PKI, database string, more ...string) *trial.Program {
	t.Helper()
	args := append([]string{"--log-level", "warn", "--lease", "2s"}, more...)
	return trial.NewProgram(t, p, demo.OwnA(), database, args...)
}

// moody sets how the receiver behaves by default.
func moody(path, _ string) int {
	n := rand.IntN(12)
	switch {
	case path == flaky && n == 3:
		return http.StatusBadRequest
	case path == flaky && n < 3, path == ordered && n < 2:
		return http.StatusInternalServerError
	}
	return http.StatusAccepted
}

// agree makes what is approved, and what is not.
func (c *chain) agree(t *testing.T, d *demo.Chain) {
	t.Helper()
	ctx := t.Context()
	trial.Must(t, demo.PublishContracts(ctx, d.Services, d.Admin))
	c.creds = trial.Must1[demo.Credentials](t)(d.Publisher(ctx, d.Admin, c.Own))
	_, actor, err := d.Approved(ctx, trial.Organisation("North", "34567890"))
	trial.Must(t, err)
	for _, path := range []string{steady, flaky, ordered} {
		sub := c.ask(t, d, actor, path, demo.TypeEnrolled)
		trial.Must(t, d.Subscriptions.Approve(ctx, d.Admin, sub.ID))
		c.paths[sub.ID] = path
	}
	c.forbidden = []string{"/requested", "/suspended", "/rejected", "/gone"}
	c.ask(t, d, actor, "/requested", demo.TypeEnrolled)
	suspended := c.ask(t, d, actor, "/suspended", demo.TypeEnrolled)
	trial.Must(t, d.Subscriptions.Approve(ctx, d.Admin, suspended.ID))
	trial.Must(t, d.Subscriptions.Suspend(ctx, d.Admin, suspended.ID, "A test."))
	rejected := c.ask(t, d, actor, "/rejected", demo.TypeEnrolled)
	trial.Must(t, d.Subscriptions.Reject(ctx, d.Admin, rejected.ID, "A test."))
	gone, actor, err := d.Approved(ctx, trial.Organisation("South", "45678901"))
	trial.Must(t, err)
	sub := c.ask(t, d, actor, "/gone", demo.TypeEnrolled)
	trial.Must(t, d.Subscriptions.Approve(ctx, d.Admin, sub.ID))
	trial.Must(t, d.Partners.Suspend(ctx, d.Admin, gone.ID, "A test."))
}

// ask adds an endpoint with short patience and asks a subscription for it.
func (c *chain) ask(t *testing.T, d *demo.Chain, actor registry.Actor, path string, types ...string) store.Subscription {
	t.Helper()
	target := c.receiver.Target(path, path)
	endpoint, err := d.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{
		Name: path, Kind: store.EndpointWebhook, URL: target.URL, TokenURL: target.TokenURL, TokenClientID: target.ID,
		TokenSecret: target.Secret, TokenAuthMethod: token.ClientSecretBasic, TimeoutSeconds: 2,
	})
	trial.Must(t, err)
	request := partners.SubscriptionRequest{EndpointID: endpoint.ID, Types: types, Purpose: "Keep our copy up to date."}
	if path == ordered {
		request.OrderBy = "subject"
	}
	sub, err := d.Subscriptions.Request(t.Context(), actor, request)
	trial.Must(t, err)
	return sub
}

// publish lets all senders send until the function it gives is called, which
// returns when they have stopped.
func (c *chain) publish(t *testing.T) (stop func()) {
	t.Helper()
	access := c.Token(t, c.creds, "events.publish")
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, p := range c.senders {
		all.Go(func() { p.Run(t, access, done) })
	}
	return sync.OnceFunc(func() {
		close(done)
		all.Wait()
	})
}

// settle has the running program send all there is, stops it and compares the ledger.
func (c *chain) settle(t *testing.T) {
	t.Helper()
	c.Drain(t)
	c.Stop(t)
	c.check(t)
}

// check compares the ledger with the receivers and the queues.
func (c *chain) check(t *testing.T) {
	t.Helper()
	a := c.ledger.Compare(t, c.Program, c.receiver, c.paths)
	t.Logf("%s; answers %v", a, c.ledger.Answers())
	if a.Lost > 0 {
		t.Errorf("%d deliveries lost: %v", a.Lost, a.Missing)
	}
	if a.Events == 0 || a.Arrived == 0 {
		t.Errorf("nothing was tried: %s", a)
	}
	c.sound(t)
	if broken := c.receiver.Broken(); len(broken) > 0 {
		t.Errorf("%d rules broken, as %v", len(broken), broken[:min(len(broken), 10)])
	}
	for _, path := range c.forbidden {
		if n := c.receiver.Offers(path); n > 0 {
			t.Errorf("%d events reached %s, whose subscription is not approved", n, path)
		}
	}
}

// sound has SQLite look at every page of the database.
func (c *chain) sound(t *testing.T) {
	t.Helper()
	path, ok := strings.CutPrefix(c.Database, "sqlite:")
	if !ok {
		return
	}
	db, err := sql.Open("sqlite3", path)
	trial.Must(t, err)
	defer db.Close()
	var said string
	trial.Must(t, db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&said))
	if said != "ok" {
		t.Errorf("the database is damaged: %s", said)
	}
}
