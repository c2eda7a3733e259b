package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/pgserver"
	"schakel/store/storetest"
)

// TestNodeKilled has two nodes share a PostgreSQL and kills one after the other
// while it holds deliveries. The other one takes them over when the lease is over,
// while it goes on with its own; nothing is lost, and what must come in order does.
//
// Rules: EDU-09
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	database := storetest.PostgresURL(t)
	c, other := newPair(t, database)
	nodes := []*trial.Program{c.Program, other}
	for n := range 6 {
		stop := c.publish(t)
		c.taken(t, 40)
		trial.Pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		dead := nodes[n%2]
		dead.Kill(t)
		c.taken(t, 40) // by the other
		stop()
		c.Drain(t) // by the other alone
		dead.Start(t)
	}
	other.Stop(t)
	c.settle(t)
}

// TestTablesOfANewerVersion has the tables change under two nodes at work, as the first node of the next version does in a rolling
// upgrade: each gets a column that they do not know. Nobody sees an error by that.
//
// Rules: EDU-09
func TestTablesOfANewerVersion(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	database := server.Database(t, "newer")
	c, other := newPair(t, database)
	stop := c.publish(t)
	c.taken(t, 200)
	trial.Must(t, server.ExecIn(t.Context(), "newer", storetest.AddNewer))
	c.taken(t, 200)
	stop()
	c.Drain(t)
	for status, n := range c.ledger.Answers() {
		if status != http.StatusAccepted {
			t.Errorf("%d events were answered %d", n, status)
		}
	}
	for _, p := range []*trial.Program{c.Program, other} {
		if out := p.Output.String(); strings.Contains(out, "missing destination") || strings.Contains(out, "cached plan") {
			t.Errorf("a node does not bear the new columns:\n%s", p.Output.Tail())
		}
	}
	other.Stop(t)
	c.settle(t)
}

// replaced is a list of arguments in which a flag has another value.
func replaced(args []string, flag, value string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if out[i] == flag {
			out[i+1] = value
		}
	}
	return out
}

// TestClaimsOutliveARestartOfPostgres has an attempt of one of two nodes last while their PostgreSQL is killed, is away for longer
// than a lease, and is started again. The node that has the attempt under way lives: when both are back the other does not send
// the same delivery, and what the first has to say counts.
//
// Rules: EDU-09
func TestClaimsOutliveARestartOfPostgres(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	server := newPostgres(t)
	database := server.Database(t, "claims")
	c := newChain(t, database)
	var slow store.Subscription
	c.SetUp(t, func(d *demo.Chain) {
		_, actor, err := d.Approved(t.Context(), trial.Organisation("Slow", "56789012"))
		trial.Must(t, err)
		slow = c.ask(t, d, actor, "/slow", demo.TypeUnenrolled)
		trial.Must(t, d.Subscriptions.Approve(t.Context(), d.Admin, slow.ID))
	})
	c.patience(t, slow.EndpointID, 10*time.Minute) // longer than a slow machine takes for all of this
	var attempts atomic.Int64
	answer := make(chan struct{})
	c.receiver.Before(func(q *http.Request) {
		if q.URL.Path != "/slow" {
			return
		}
		attempts.Add(1)
		select {
		case <-answer:
		case <-q.Context().Done():
		}
	})
	c.Args = replaced(c.Args, "--lease", lease.String())
	other := c.second(t, database)
	c.Start(t)
	other.Start(t)
	c.beat(t)
	access := c.Token(t, c.creds, "events.publish")
	id, body := trial.NewEvent(c.Own, demo.TypeUnenrolled)
	c.Publish(t, access, body)
	trial.Eventually(t, "the attempt is under way", func() (bool, string) { return attempts.Load() > 0, c.Output.Tail() })
	trial.Must(t, server.Kill())
	trial.Pause(lease + time.Second)
	trial.Must(t, server.Start(t))
	c.beat(t)
	if n := attempts.Load(); n != 1 {
		t.Errorf("sent %d times while the node that began lives", n)
	}
	close(answer)
	c.Drain(t)
	if got, ok := c.receiver.Got("/slow", id); !ok || got.Times != 1 {
		t.Errorf("taken %d times", got.Times)
	}
	for _, p := range []*trial.Program{c.Program, other} {
		if strings.Contains(p.Output.String(), "a node is silent") {
			t.Errorf("a node that lives was taken for dead:\n%s", p.Output.Tail())
		}
	}
	if n := c.CountDeliveries(t, store.DeliveryDelivered); n != 1 {
		t.Errorf("%d deliveries are delivered, want 1", n)
	}
}

// newPair starts two nodes on one database, each with half of the senders.
func newPair(t *testing.T, database string) (c *chain, other *trial.Program) {
	t.Helper()
	c = newChain(t, database)
	other = c.second(t, database)
	for _, p := range c.senders[:len(c.senders)/2] {
		p.Program = other
	}
	c.Start(t)
	other.Start(t)
	return c, other
}

// second makes another node on the database of a chain, with the same settings.
func (c *chain) second(t *testing.T, database string) *trial.Program {
	t.Helper()
	other := c.node(t, c.PKI, database)
	for i, arg := range c.Args {
		if arg == "--secret-key-file" || arg == "--base-url" || arg == "--lease" {
			other.Args = replaced(other.Args, arg, c.Args[i+1])
		}
	}
	return other
}

// patience sets how long an endpoint may take to answer.
func (c *chain) patience(t *testing.T, endpoint string, d time.Duration) {
	t.Helper()
	c.Open(t, func(db *store.DB) {
		trial.Must(t, db.Write(t.Context(), func(tx *store.Tx) error {
			ep, err := tx.Endpoint(t.Context(), endpoint)
			if err != nil {
				return err
			}
			ep.TimeoutMS = d.Milliseconds()
			return tx.UpdateEndpoint(t.Context(), &ep)
		}))
	})
}

// beat waits until two nodes have said so often that they live that each would have found the other one dead, if it were.
func (c *chain) beat(t *testing.T) {
	t.Helper()
	const enough = 8 // a lease has six
	c.Open(t, func(db *store.DB) {
		began := map[string]int64{}
		trial.Eventually(t, "both nodes live", func() (bool, string) {
			nodes, err := db.Nodes(t.Context())
			trial.Must(t, err)
			done := 0
			for _, n := range nodes {
				if _, seen := began[n.ID]; !seen {
					began[n.ID] = n.Beats
				}
				if n.Beats >= began[n.ID]+enough {
					done++
				}
			}
			return done >= 2, fmt.Sprint(nodes)
		})
	})
}

// newPostgres starts a server of the test's own.
func newPostgres(t *testing.T) *trial.Postgres {
	t.Helper()
	p, err := trial.NewPostgres(t)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		needs.Missing(t, err.Error(), ".ci/prepare installs it when run as root")
	}
	trial.Must(t, err)
	return p
}

// taken waits until so many more events were answered 202.
func (c *chain) taken(t *testing.T, more int) {
	t.Helper()
	acked := c.ledger.Len()
	trial.Eventually(t, "events are taken", func() (bool, string) { return c.ledger.Len() >= acked+more, c.Output.Tail() })
}

// refused waits until so many more requests were answered 503.
func (c *chain) refused(t *testing.T, more int) {
	t.Helper()
	before := c.ledger.Answers()[http.StatusServiceUnavailable]
	trial.Eventually(t, "events are refused", func() (bool, string) {
		return c.ledger.Answers()[http.StatusServiceUnavailable] >= before+more, ""
	})
}

// TestPostgresKilled kills the database server under load, with all its processes,
// and starts it again: the program answers 503 meanwhile and goes on by itself.
//
// Rules: EDU-09, EDU-19
func TestPostgresKilled(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	c := newChain(t, server.Database(t, "killed"))
	c.Start(t)
	stop := c.publish(t)
	for range 5 {
		c.taken(t, 30)
		trial.Pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		trial.Must(t, server.Kill())
		c.refused(t, 10)
		trial.Must(t, server.Start(t))
	}
	c.taken(t, 30)
	stop()
	c.settle(t)
}

// TestPostgresCutOff has the network between the program and its database be slow,
// break, and swallow everything.
//
// Rules: EDU-09, EDU-19
func TestPostgresCutOff(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	server.Database(t, "cut_off")
	p := newProxy(t, "127.0.0.1:"+server.Port)
	c := newChain(t, server.URL(p.addr(), "cut_off"))
	c.Start(t)
	stop := c.publish(t)
	for range 2 {
		c.taken(t, 30)
		p.set(20*time.Millisecond, false)
		c.taken(t, 20)
		p.set(0, true)
		c.refused(t, 10)
		p.set(0, false)
		c.taken(t, 30)
		p.close()
		trial.Pause(3 * time.Second) // longer than a lease
		p.open()
		c.taken(t, 30)
	}
	stop()
	c.settle(t)
}
