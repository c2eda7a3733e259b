package faults

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"schakel/server/trial"
	"schakel/store/needs"
	"schakel/store/pgserver"
)

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
