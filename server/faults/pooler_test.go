package faults

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/needs"
)

// A pooler that gives each transaction another session is refused unless the address names the server too, and schakel doctor says
// what to set; it also says which settings the sessions of the pooler lack. One that keeps sessions is as good as none.
func TestPoolerIsToldToTheOperator(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	direct := server.Database(t, "told")
	key := filepath.Join(t.TempDir(), "key")
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), direct)
	doctor := func(database string) string {
		_, out := s.Command(t, "", "doctor", "--offline", "--database", database, "--secret-key-file", key, "--admin-addr", "127.0.0.1:1")
		return out
	}
	if code, out := s.Command(t, "", "migrate", "--database", direct); code != 0 {
		t.Fatal(out)
	}
	path := pgbouncer(t)
	inTransaction := server.URL(trial.NewPgBouncer(t, path, "transaction", server).Addr, "told")
	inSession := server.URL(trial.NewPgBouncer(t, path, "session", server).Addr, "told")
	past := "&direct=" + url.QueryEscape("127.0.0.1:"+server.Port)
	for _, want := range []struct{ database, there, not string }{
		{inTransaction + past, "database-pooler-settings", "database-unavailable"}, // first: who has no direct sets what others then find
		{inTransaction, "?direct=", "database-pooler-settings"},
		{inSession, "", "database-"},
		{direct, "", "database-"},
	} {
		if out := doctor(want.database); !strings.Contains(out, want.there) || strings.Contains(out, want.not) {
			t.Errorf("want %q and not %q: %s", want.there, want.not, out)
		}
	}
	u := trial.Must1[*url.URL](t)(url.Parse(inTransaction))
	if code, out := s.Command(t, "", "migrate", "--database", inTransaction+"&direct="+url.QueryEscape(u.Host)); code == 0 || !strings.Contains(out, "past the pooler") {
		t.Errorf("the address of the server leads to the pooler: exit code %d, %s", code, out)
	}
	trial.Must(t, server.Exec(t.Context(), `ALTER ROLE postgres IN DATABASE told SET jit = off`))
	trial.Must(t, server.Exec(t.Context(), `ALTER ROLE postgres IN DATABASE told SET idle_in_transaction_session_timeout = '60s'`))
	fresh := server.URL(trial.NewPgBouncer(t, path, "transaction", server).Addr, "told")
	if out := doctor(fresh + past); strings.Contains(out, "database-") {
		t.Errorf("with the settings: %s", out)
	}
}

// TestPooler has two nodes reach their PostgreSQL through PgBouncer in transaction mode, which gives each transaction
// another session, and kills the pooler under load. What needs a session goes past it.
//
// Rules: EDU-09
func TestPooler(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	direct := server.Database(t, "pooled")
	pooler := trial.NewPgBouncer(t, pgbouncer(t), "transaction", server)
	database := server.URL(pooler.Addr, "pooled") + "&direct=" + url.QueryEscape("127.0.0.1:"+server.Port)
	c, other := newPair(t, database)
	c.Database = direct // what the test reads itself goes past the pooler, which may end and start meanwhile
	stop := c.publish(t)
	for range 2 {
		c.taken(t, 200)
		pooler.Kill()
		c.refused(t, 10)
		pooler.Start(t)
	}
	c.taken(t, 200)
	stop()
	c.Drain(t)
	other.Stop(t)
	c.settle(t)
}

// pgbouncer gives the path of the pooler, which Debian installs where only root looks.
func pgbouncer(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("/usr/sbin/pgbouncer"); err == nil {
		return path
	}
	return needs.Program(t, "pgbouncer")
}
