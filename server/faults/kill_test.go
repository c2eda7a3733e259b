package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestKill kills the process two hundred times, in turn while publishers send and
// while only deliveries are under way, on both databases. Afterwards every event
// that was answered 202 was delivered to each approved subscription or lies in a
// queue for it, in order where that was asked.
//
// Rules: EDU-09, EDU-17, EDU-19, EDU-N01, EDU-N02, EDU-N09
func TestKill(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		database func(testing.TB) string
		rounds   int
	}{
		"sqlite":   {func(t testing.TB) string { return trial.SQLitePath(t) }, 150},
		"postgres": {storetest.PostgresURL, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, kind.database(t))
			for n := range kind.rounds {
				c.Start(t)
				c.killRound(t, n%2 == 0)
				if t.Failed() {
					return
				}
			}
			c.Start(t)
			c.settle(t)
		})
	}
}

// killRound lets the publishers send for a moment and kills the process, meanwhile
// or when only deliveries are under way.
func (c *chain) killRound(t *testing.T, intake bool) {
	t.Helper()
	stop := c.publish(t)
	trial.Pause(time.Duration(20+rand.IntN(200)) * time.Millisecond)
	if !intake {
		stop()
		trial.Pause(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	c.Kill(t)
	stop()
	c.receiver.Quiet(t)
}
