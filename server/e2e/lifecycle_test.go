package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/server/demo"
)

// TestLifecycle looks at a process from start to end: readiness, metrics, what it
// prints, and that SIGTERM ends it well while events are on their way.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	s := newProgram(t, p, demo.OwnA(), sqlitePath(t))
	s.start(t)
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "store ok\n", "/metrics": "go_goroutines"} {
		status, body, err := get(http.DefaultClient, s.admin+path)
		if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %v, want %q in %.300s", path, status, err, want, body)
		}
		if status, _, err := get(p.client, s.base+path); err != nil || status != http.StatusNotFound {
			t.Errorf("%s in public: %d %v", path, status, err)
		}
	}
	if !strings.Contains(s.output.String(), s.base+"/setup/") {
		t.Errorf("the first start does not print the link for the administrator:\n%s", s.output.tail())
	}
	s.stop(t)
	s.output = &logBuffer{}
	s.start(t) // the link is printed until there is an administrator
	s.stop(t)
	if !strings.Contains(s.output.String(), "/setup/") {
		t.Errorf("the second start does not print a link:\n%s", s.output.tail())
	}
	s.setUp(t, func(*demo.Chain) {})
	s.output = &logBuffer{}
	s.start(t)
	s.stop(t)
	if strings.Contains(s.output.String(), "/setup/") {
		t.Errorf("a link is printed though there is an administrator:\n%s", s.output.tail())
	}
}

// TestStopFinishesWhatIsInFlight stops a program while a receiver is busy with an
// event: its answer counts, so that the event is not sent again.
func TestStopFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	r := newReceiver(t, p)
	s := newProgram(t, p, demo.OwnA(), sqlitePath(t))
	var publisher demo.Credentials
	s.setUp(t, func(c *demo.Chain) {
		must(t, demo.PublishContracts(t.Context(), c.Services, c.Admin))
		publisher = must1[demo.Credentials](t)(c.Publisher(t.Context(), c.Admin, s.own))
		_, actor, err := c.Approved(t.Context(), organisation("North", "34567890"))
		must(t, err)
		_, err = c.Subscribe(t.Context(), actor, r.target("slow", "/slow"), demo.TypeEnrolled)
		must(t, err)
	})
	s.start(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := newSlowOnce(r, arrived, release)
	token := s.token(t, publisher, "events.publish")
	id, body := newEvent(s.own, demo.TypeEnrolled)
	s.publish(t, token, body)
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Fatal("the event did not arrive")
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.stop(t) }()
	eventually(t, "the program takes nothing in any more", func() (bool, string) {
		_, err := s.try(http.MethodGet, "/login", "", nil, nil)
		return err != nil, ""
	})
	close(release)
	<-stopped
	slow.restore()
	s.start(t)
	r.waitFor(t, "/slow", id)
	s.stop(t)
	if got, _ := r.got("/slow", id); got.times != 1 {
		t.Errorf("the event arrived %d times", got.times)
	}
}

// TestCommandLine wants help of every command, and one line of usage at a mistake.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := newProgram(t, newPKI(t), demo.OwnA(), sqlitePath(t))
	for _, args := range []string{
		"", "serve", "demo", "migrate", "user", "user add", "user reset", "user list",
		"client", "client add", "client list", "client revoke", "publish", "backup", "restore",
		"profile", "profile show", "profile export", "profile import",
	} {
		code, out := s.command(t, "", append(strings.Fields(args), "--help")...)
		if code != 0 || !strings.Contains(out, "Usage: schakel") {
			t.Errorf("%s --help: %d\n%s", args, code, out)
		}
	}
	for args, want := range map[string]string{"serve --nonsense": "unknown flag", "nonsense": "unexpected argument", "publish": "--url"} {
		if code, out := s.command(t, "", strings.Fields(args)...); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: %d\n%s", args, code, out)
		}
	}
	if code, out := s.command(t, "", "migrate", "--database", s.database); code != 0 {
		t.Errorf("migrate: %d\n%s", code, out)
	}
}
