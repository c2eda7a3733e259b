package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestStopWhileAReceiverHangs ends a process while a receiver says nothing: it exits with 0 within the bound of a stop, and after the
// next start the event goes out again under the key that it had.
//
// Rules: EDU-09, IDEM-11.
func TestStopWhileAReceiverHangs(t *testing.T) {
	t.Parallel()
	storetest.EachURL(t, func(t *testing.T, database string) {
		p := trial.NewPKI(t)
		r := trial.NewReceiver(t, p)
		s := trial.NewProgram(t, p, demo.OwnA(), database)
		var publisher demo.Credentials
		s.SetUp(t, func(c *demo.Chain) {
			trial.Must(t, demo.PublishContracts(t.Context(), c.Services, c.Admin))
			publisher = trial.Must1[demo.Credentials](t)(c.Publisher(t.Context(), c.Admin, s.Own))
			_, actor, err := c.Approved(t.Context(), trial.Organisation("North", "34567890"))
			trial.Must(t, err)
			_, err = c.Subscribe(t.Context(), actor, r.Target("slow", "/slow"), demo.TypeEnrolled)
			trial.Must(t, err)
		})
		s.Start(t)
		arrived, release := make(chan struct{}), make(chan struct{})
		goOn := sync.OnceFunc(func() { close(release) })
		defer goOn()
		var mu sync.Mutex
		var keys []string
		r.Before(func(q *http.Request) {
			if q.URL.Path == "/token" {
				return
			}
			mu.Lock()
			keys = append(keys, q.Header.Get("Idempotency-Key"))
			first := len(keys) == 1
			mu.Unlock()
			if first {
				close(arrived)
				<-release
			}
		})
		token := s.Token(t, publisher, "events.publish")
		id, body := trial.NewEvent(s.Own, demo.TypeEnrolled)
		s.Publish(t, token, body)
		select {
		case <-arrived:
		case <-time.After(trial.Patience):
			t.Fatal("the event did not arrive")
		}
		s.Stop(t) // which wants exit code 0 within the bound
		goOn()
		s.Start(t)
		s.Drain(t)
		r.WaitFor(t, "/slow", id)
		s.Stop(t)
		mu.Lock()
		defer mu.Unlock()
		if len(keys) != 2 || len(slices.Compact(slices.Clone(keys))) != 1 {
			t.Errorf("it was sent under %q, want twice under one key", keys)
		}
	})
}
