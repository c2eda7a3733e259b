package outbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// dead has so many events end as dead letters of every subscription to nl.a, which then are answered as told.
func (c *chain) dead(events, subscriptions int, answer func(store.Claimed) Result) {
	c.Helper()
	c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryDead, 500, time.Time{}) })
	c.acceptMany("nl.a", events)
	c.waitFor(func() bool { return c.count(store.DeliveryDead) == events*subscriptions })
	c.rcv.set(answer)
}

func (c *chain) resend(care Care) store.ResendJob {
	c.Helper()
	j, err := c.eng.StartResend(c.Context(), anna(), store.DeliveryFilter{}, care)
	must(c, err)
	return j
}

// The oldest delivery of each endpoint goes first; the rest follows when each was delivered.
func TestCanariesGoFirst(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		c.partner("South", "nl.a")
		release := make(chan struct{})
		c.dead(10, 2, func(store.Claimed) Result { <-release; return delivered() })
		before := len(c.rcv.snapshot())
		j := c.resend(Care{Canary: true})
		c.waitFor(func() bool { return len(c.rcv.snapshot()) == before+2 })
		c.waitFor(func() bool {
			var err error
			j, err = c.db.ResendJob(t.Context(), j.ID)
			return err == nil && j.Stage == store.StageCanary
		})
		if moved, err := c.eng.watchCanaries(t.Context(), j); moved || err != nil {
			t.Errorf("the job goes on while its canaries are on their way: %v, %v", moved, err)
		}
		if n := c.count(store.DeliveryDead); n != 18 {
			t.Errorf("%d are left while the canaries are on their way, want 18", n)
		}
		canaries, err := c.db.ResendCanaries(t.Context(), j.ID)
		if err != nil || len(canaries) != 2 {
			t.Fatalf("canaries %+v, %v", canaries, err)
		}
		for _, canary := range canaries {
			all, _, err := c.db.Deliveries(t.Context(), store.DeliveryFilter{EndpointID: canary.EndpointID})
			must(t, err)
			if oldest := all[len(all)-1].ID; canary.DeliveryID != oldest {
				t.Errorf("canary %s, want the oldest, %s", canary.DeliveryID, oldest)
			}
		}
		close(release)
		if j = c.ended(j.ID); j.Status != store.JobDone || j.Done != 20 || j.Total != 20 || j.StoppedFor != "" {
			t.Errorf("job %+v", j)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 20 })
	})
}

// A canary that is not delivered stops the job and leaves the rest untouched, until a person continues or cancels.
func TestAFailedCanaryStopsTheJob(t *testing.T) {
	for name, fails := range map[string]Result{
		"dead again": failed(store.DeliveryDead, 500, time.Time{}), "to be retried": failed(store.DeliveryRetrying, 503, time.Now().Add(time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			eachChain(t, func(t *testing.T, c *chain) {
				s := c.partner("North", "nl.a")
				c.dead(5, 1, func(store.Claimed) Result { return fails })
				j := c.ended(c.resend(Care{Canary: true}).ID)
				if j.Status != store.JobStopped || j.Done != 1 || !strings.Contains(j.StoppedFor, "outbox.canary-failed") {
					t.Fatalf("job %+v", j)
				}
				canaries, err := c.db.ResendCanaries(t.Context(), j.ID)
				if err != nil || len(canaries) != 1 || canaries[0].Outcome != store.CanaryFailed || canaries[0].EndpointID != s.EndpointID {
					t.Errorf("canaries %+v, %v", canaries, err)
				}
				if n := len(c.rcv.snapshot()); n != 6 {
					t.Errorf("%d attempts, want those before and the canary", n)
				}
				other := Actor{Name: "Other", PartnerID: "ptr_other"}
				if err := errors.Join(c.eng.CancelJob(t.Context(), other, j.ID)); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("another partner cancels: %v", err)
				}
				if err := c.eng.ContinueJob(t.Context(), other, j.ID); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("another partner continues: %v", err)
				}
				c.rcv.set(func(store.Claimed) Result { return delivered() })
				second := c.ended(c.resend(Care{}).ID) // the rest can be resent by another job too
				if second.Status != store.JobDone {
					t.Errorf("second job %+v", second)
				}
				must(t, c.eng.ContinueJob(t.Context(), anna(), j.ID))
				if j = c.ended(j.ID); j.Status != store.JobDone {
					t.Errorf("a continued job ends as %+v", j)
				}
				must(t, c.eng.ContinueJob(t.Context(), anna(), j.ID)) // nothing to continue
			})
		})
	}
}

func TestAStoppedJobIsCancelledOrContinued(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		c.dead(3, 1, func(store.Claimed) Result { return failed(store.DeliveryDead, 500, time.Time{}) })
		cancelled := c.ended(c.resend(Care{Canary: true}).ID)
		must(t, c.eng.CancelJob(t.Context(), anna(), cancelled.ID))
		if j, err := c.db.ResendJob(t.Context(), cancelled.ID); err != nil || j.Status != store.JobCancelled || j.FinishedAt.IsZero() {
			t.Errorf("job %+v, %v", j, err)
		}
		continued := c.ended(c.resend(Care{Canary: true}).ID)
		c.rcv.set(func(store.Claimed) Result { return delivered() })
		must(t, c.eng.ContinueJob(t.Context(), anna(), continued.ID))
		if j := c.ended(continued.ID); j.Status != store.JobDone || j.Done != 3 {
			t.Errorf("job %+v", j)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 2 })
	})
}

// A job tells of each delivery why it could not be resent.
func TestAJobTellsWhyItCouldNotResend(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		paused, suspended, ended := c.partner("North", "nl.a"), c.partner("South", "nl.a"), c.partner("East", "nl.a")
		c.dead(2, 3, func(store.Claimed) Result { return delivered() })
		c.status(paused, store.SubscriptionPaused)
		c.status(suspended, store.SubscriptionSuspended)
		c.changeEndpoint(ended.EndpointID, func(e *store.Endpoint) { e.Status = store.EndpointEnded })
		j := c.ended(c.resend(Care{}).ID)
		got := fmt.Sprint(JobRefusals(j))
		if want := "map[endpoint-ended:2 subscription-paused:2 subscription-suspended:2]"; got != want || j.Refused != 6 || j.Done != 0 {
			t.Errorf("refusals %s, want %s; job %+v", got, want, j)
		}
		rows, err := c.db.ResendRefusals(t.Context(), j.ID, store.Page{Number: 1, Size: 4})
		if err != nil || len(rows) != 4 {
			t.Errorf("refusals %+v, %v", rows, err)
		}
		var refused *Refusal
		if err := c.eng.Resend(t.Context(), anna(), c.got(paused)[c.firstID()][0].ID); !errors.As(err, &refused) || !errors.Is(err, ErrNotResendable) || refused.Message != "outbox.refused.subscription-paused" {
			t.Errorf("resend of one to a paused subscription: %v", err)
		}
	})
}

func (c *chain) firstID() string {
	c.Helper()
	rows, _, err := c.db.Events(c.Context(), store.EventFilter{})
	must(c, err)
	return rows[0].CEID
}

func TestAllowance(t *testing.T) {
	t.Parallel()
	now := store.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	ago := func(d time.Duration) store.Time { return store.At(now.Add(-d)) }
	for name, c := range map[string]struct {
		rate int64
		next store.Time
		most int
		then time.Duration // from now, when all of them were handled
	}{
		"without a rate":           {0, store.Time{}, jobStep, 0},
		"begins with one":          {300, store.Time{}, 1, 200 * time.Millisecond},
		"on time":                  {300, now, 1, 200 * time.Millisecond},
		"too early":                {300, ago(-time.Second), 0, 0},
		"late":                     {300, ago(900 * time.Millisecond), 5, 100 * time.Millisecond},
		"after a restart":          {300, ago(time.Hour), 1, 200 * time.Millisecond},
		"no more than a step":      {MaxJobRate, ago(5 * time.Second), jobStep, -4800 * time.Millisecond},
		"slower than one a second": {6, ago(5 * time.Second), 1, 5 * time.Second},
	} {
		most, next := allowance(store.ResendJob{Rate: c.rate, NextAt: c.next}, now)
		if most != c.most {
			t.Errorf("%s: %d, want %d", name, most, c.most)
		}
		if c.rate > 0 && most > 0 && next(most).Sub(now.Time) != c.then {
			t.Errorf("%s: next %s later, want %s", name, next(most).Sub(now.Time), c.then)
		}
	}
	for _, rate := range []int{-1, MaxJobRate + 1} {
		if err := (Care{Rate: rate}).check(); !errors.Is(err, ErrRate) {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
}

// Several nodes that share a job keep its rate together.
func TestARateHoldsOnSeveralNodes(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		c.dead(8, 1, func(store.Claimed) Result { return delivered() })
		if c.db.Dialect() == store.Postgres {
			c.node(50*time.Millisecond, nil)
		}
		started := time.Now()
		j := c.ended(c.resend(Care{Rate: 300}).ID)
		if took := time.Since(started); j.Done != 8 || took < 7*200*time.Millisecond {
			t.Errorf("8 deliveries at 5 a second took %s: %+v", took, j)
		}
	})
}

// asResender has the test binary resend on the database given until it is killed.
const asResender = "OUTBOX_RESENDER"

// A job goes on where it was when its process was killed: nothing is left out, and its progress is kept.
func TestAJobSurvivesAKill(t *testing.T) {
	if path := os.Getenv(asResender); path != "" {
		db, err := store.Open(t.Context(), path, store.Options{})
		must(t, err)
		must(t, New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: newReceiver()}, Poll: 20 * time.Millisecond}).Start(t.Context()))
		fmt.Println("started")
		select {} // until the parent kills us
	}
	t.Parallel()
	path := "sqlite:" + storetest.MigratedSQLitePath(t)
	db, err := store.Open(t.Context(), path, store.Options{})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	c := newChain(t, db)
	c.partner("North", "nl.a")
	c.dead(60, 1, func(store.Claimed) Result { return delivered() })
	c.stop()
	j := c.resend(Care{Canary: true, Rate: 600})
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	victim.Env = append(os.Environ(), asResender+"="+path)
	out, err := victim.StdoutPipe()
	must(t, err)
	must(t, victim.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "started"; {
	}
	c.waitFor(func() bool {
		j, err = db.ResendJob(t.Context(), j.ID)
		return err == nil && j.Done >= 5
	})
	must(t, victim.Process.Kill())
	_ = victim.Wait()
	if j, err = db.ResendJob(t.Context(), j.ID); err != nil || j.Status != store.JobRunning || j.Done >= 60 {
		t.Fatalf("job of the killed process %+v, %v", j, err)
	}
	done := j.Done
	c.eng = New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: c.rcv}, Poll: 20 * time.Millisecond})
	must(t, c.eng.Start(t.Context()))
	if j = c.ended(j.ID); j.Status != store.JobDone || j.Done != 60 || j.Done <= done {
		t.Errorf("after the restart: %+v", j)
	}
	c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 60 })
}
