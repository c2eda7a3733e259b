package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestLifecycle looks at a process from start to end: readiness, metrics, what it
// prints, and that SIGTERM ends it well while events are on their way.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	s.Start(t)
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "store ok\n", "/metrics": "go_goroutines"} {
		status, body, err := trial.Get(http.DefaultClient, s.Admin+path)
		if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %v, want %q in %.300s", path, status, err, want, body)
		}
		if status, _, err := trial.Get(p.Client, s.Base+path); err != nil || status != http.StatusNotFound {
			t.Errorf("%s in public: %d %v", path, status, err)
		}
	}
	if !strings.Contains(s.Output.String(), s.Base+"/setup/") {
		t.Errorf("the first start does not print the link for the administrator:\n%s", s.Output.Tail())
	}
	s.Stop(t)
	s.Output = &trial.Log{}
	s.Start(t) // the link is printed until there is an administrator
	s.Stop(t)
	if !strings.Contains(s.Output.String(), "/setup/") {
		t.Errorf("the second start does not print a link:\n%s", s.Output.Tail())
	}
	s.SetUp(t, func(*demo.Chain) {})
	s.Output = &trial.Log{}
	s.Start(t)
	s.Stop(t)
	if strings.Contains(s.Output.String(), "/setup/") {
		t.Errorf("a link is printed though there is an administrator:\n%s", s.Output.Tail())
	}
}

// TestStopFinishesWhatIsInFlight stops a program while a receiver is busy with an
// event: its answer counts, so that the event is not sent again.
func TestStopFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	r := trial.NewReceiver(t, p)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	publisher := slowReceiver(t, s, r)
	s.Start(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	waitOnce(r, arrived, release)
	id := publishUntil(t, s, publisher, arrived)
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.Stop(t) }()
	trial.Eventually(t, "the program takes nothing in any more", func() (bool, string) {
		_, err := s.Try(http.MethodGet, "/login", "", nil, nil)
		return err != nil, ""
	})
	close(release)
	<-stopped
	r.Before(nil)
	s.Start(t)
	r.WaitFor(t, "/slow", id)
	s.Stop(t)
	if got, _ := r.Got("/slow", id); got.Times != 1 {
		t.Errorf("the event arrived %d times", got.Times)
	}
}

// TestCommandLine wants help of every command, and one line of usage at a mistake.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	for _, args := range []string{
		"", "serve", "demo", "migrate", "user", "user add", "user reset", "user list",
		"client", "client add", "client list", "client revoke", "client new-key", "token", "publish", "listen", "backup", "restore",
		"profile", "profile show", "profile export", "profile import",
		"contract", "contract validate", "contract diff", "contract publish", "contract pull",
	} {
		code, out := s.Command(t, "", append(strings.Fields(args), "--help")...)
		if code != 0 || !strings.Contains(out, "Usage: schakel") {
			t.Errorf("%s --help: %d\n%s", args, code, out)
		}
	}
	for args, want := range map[string]string{"serve --nonsense": "unknown flag", "nonsense": "unexpected argument", "publish": "--url"} {
		if code, out := s.Command(t, "", strings.Fields(args)...); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: %d\n%s", args, code, out)
		}
	}
	if code, out := s.Command(t, "", "migrate", "--database", s.Database); code != 0 {
		t.Errorf("migrate: %d\n%s", code, out)
	}
}

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
		publisher := slowReceiver(t, s, r)
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
		id := publishUntil(t, s, publisher, arrived)
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

// waitOnce makes the first event a receiver gets wait until release is closed, and
// closes arrived when it has come.
func waitOnce(r *trial.Receiver, arrived, release chan struct{}) {
	var once sync.Once
	r.Before(func(q *http.Request) {
		if q.URL.Path == "/token" {
			return
		}
		once.Do(func() {
			close(arrived)
			<-release
		})
	})
}

// slowReceiver gives a program a subscription at /slow of a receiver, and the credentials of who publishes for it.
func slowReceiver(t *testing.T, s *trial.Program, r *trial.Receiver) (publisher demo.Credentials) {
	t.Helper()
	s.SetUp(t, func(c *demo.Chain) {
		trial.Must(t, demo.PublishContracts(t.Context(), c.Services, c.Admin))
		publisher = trial.Must1[demo.Credentials](t)(c.Publisher(t.Context(), c.Admin, s.Own))
		_, actor, err := c.Approved(t.Context(), trial.Organisation("North", "34567890"))
		trial.Must(t, err)
		_, err = c.Subscribe(t.Context(), actor, r.Target("slow", "/slow"), demo.TypeEnrolled)
		trial.Must(t, err)
	})
	return publisher
}

// publishUntil publishes an event and waits until the receiver says that it arrived.
func publishUntil(t *testing.T, s *trial.Program, publisher demo.Credentials, arrived <-chan struct{}) (id string) {
	t.Helper()
	token := s.Token(t, publisher, "events.publish")
	id, body := trial.NewEvent(s.Own, demo.TypeEnrolled)
	s.Publish(t, token, body)
	select {
	case <-arrived:
	case <-time.After(trial.Patience):
		t.Fatal("the event did not arrive")
	}
	return id
}
