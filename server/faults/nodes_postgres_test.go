package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

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
	c.patience(t, slow.EndpointID, 30*time.Second)
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
