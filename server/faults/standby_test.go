package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
)

// TestFailover kills the primary under load and promotes its standby, to which it wrote synchronously. Two nodes, which know
// both servers, go on with the one that takes writes; what was answered 202 is there.
//
// Rules: EDU-09, EDU-19
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := newPostgres(t)
	primary.Database(t, "failover")
	standby := trial.Must1[*trial.Postgres](t)(primary.Standby(t, "127.0.0.1:"+primary.Port))
	primary.Synchronous(t)
	database := both(primary, standby, "failover")
	c, other := newPair(t, database)
	stop := c.publish(t)
	c.taken(t, 200)
	trial.Must(t, primary.Kill())
	c.refused(t, 10)
	standby.Promote(t)
	c.taken(t, 200)
	stop()
	c.Drain(t)
	other.Stop(t)
	c.settle(t)
}

// TestFailoverWithoutSynchronousCommit shows the bound of what a failover loses when the primary does not wait for its standby:
// what was answered 202 since the standby had its last bytes, and nothing from before.
//
// Rules: EDU-09
func TestFailoverWithoutSynchronousCommit(t *testing.T) {
	t.Parallel()
	primary := newPostgres(t)
	primary.Database(t, "behind")
	link := newProxy(t, "127.0.0.1:"+primary.Port)
	standby := trial.Must1[*trial.Postgres](t)(primary.Standby(t, link.addr()))
	c := newChain(t, both(primary, standby, "behind"))
	c.receiver.Behave(func(string, string) int { return http.StatusServiceUnavailable }) // what is taken is in the database alone
	c.Start(t)
	access := c.Token(t, c.creds, "events.publish")
	some := func() []string { return c.some(t, access) }
	c.ledger.Add(some())
	primary.Caught(t)
	link.close()
	after := some()
	trial.Must(t, primary.Kill())
	standby.Promote(t)
	c.receiver.Behave(moody)
	c.AwaitReady(t)
	c.ledger.Add(some())
	c.settle(t)
	lost := 0
	for _, id := range after { // but for those that the node had in hand
		if _, ok := c.receiver.Got(steady, id); !ok {
			lost++
		}
	}
	if t.Logf("%d of %d events lost that the standby did not have", lost, len(after)); lost == 0 {
		t.Error("none is lost, though the standby was cut off: nothing was tried")
	}
}

// TestStandbyThatIsAway cuts off the standby that a primary writes to synchronously, for longer than a transaction may take. The event
// whose commit was broken off then lies on the primary alone; when it comes again, without a key, it is not answered 202, since the
// standby that takes over does not have it.
//
// Rules: EDU-09
func TestStandbyThatIsAway(t *testing.T) {
	t.Parallel()
	primary := newPostgres(t)
	primary.Database(t, "away")
	link := newProxy(t, "127.0.0.1:"+primary.Port)
	standby := trial.Must1[*trial.Postgres](t)(primary.Standby(t, link.addr()))
	primary.Synchronous(t)
	c := newChain(t, both(primary, standby, "away"))
	c.SetUp(t, func(d *demo.Chain) {
		trial.Must(t, d.ChangeSettings(t.Context(), map[string]string{"idempotency.require_key": "off"}))
	})
	c.receiver.Behave(func(string, string) int { return http.StatusServiceUnavailable }) // what is taken is in the database alone
	c.Start(t)
	access := c.Token(t, c.creds, "events.publish")
	id, body := trial.NewEvent(c.Own, demo.TypeEnrolled)
	link.close()
	status := c.within(t, 40*time.Second, access, body)
	t.Logf("the event was answered %d while the standby was away", status)
	if status == http.StatusAccepted {
		c.ledger.Add([]string{id})
	}
	trial.Must(t, primary.Kill())
	standby.Promote(t)
	c.receiver.Behave(moody)
	c.AwaitReady(t)
	if status != http.StatusAccepted {
		c.Publish(t, access, body)
		c.ledger.Add([]string{id})
	}
	c.settle(t)
}

// some publishes twenty events, each by itself, and returns their ids.
func (c *chain) some(t *testing.T, access string) (ids []string) {
	t.Helper()
	for range 20 {
		id, body := trial.NewEvent(c.Own, demo.TypeEnrolled)
		c.Publish(t, access, body)
		ids = append(ids, id)
	}
	return ids
}

// within publishes an event without a key and gives the status, 0 when there is none in time.
func (c *chain) within(t *testing.T, most time.Duration, access, body string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+"/events/v1/events", strings.NewReader(body))
	trial.Must(t, err)
	q.Header.Set("Authorization", "Bearer "+access)
	q.Header.Set("Content-Type", "application/cloudevents+json")
	client := *c.Client
	client.Timeout = 0
	r, err := client.Do(q)
	if err != nil {
		return 0
	}
	_ = r.Body.Close()
	return r.StatusCode
}

// both gives the address of two servers, of which the one that takes writes is used.
func both(a, b *trial.Postgres, name string) string {
	return a.URL(fmt.Sprintf("127.0.0.1:%s,127.0.0.1:%s", a.Port, b.Port), name) + "&target_session_attrs=read-write&connect_timeout=2"
}
