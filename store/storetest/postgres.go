package storetest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store/needs"
	"schakel/store/pgserver"
)

// What a fresh database is copied from: PostgreSQL's own empty one, or one that already has our tables.
const (
	emptyTemplate    = "template1"
	migratedTemplate = "schakel_migrated"
)

// shared is the one server of this test binary; tests cannot hand it to each other.
var shared = &server{}

// server is a private PostgreSQL that starts when the first test asks for it.
type server struct {
	start, migrate sync.Once
	err            error
	migrateErr     error
	running        *process
	admin          *sql.DB
	strategy       string // of CREATE DATABASE
	count          atomic.Int64
}

// startTimeout bounds initdb and start on a slow, busy machine.
const startTimeout = 3 * time.Minute

func (s *server) ensure() error {
	s.start.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if s.running, s.err = startPostgres(ctx); s.err != nil {
			return
		}
		if s.admin, s.err = sql.Open("pgx", s.url("postgres")); s.err == nil {
			s.admin.SetMaxOpenConns(2)
			// From version 15 on a new database is written to the log page by page, which takes three times as long here as copying files.
			s.err = s.admin.QueryRowContext(ctx, `SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 THEN ' STRATEGY FILE_COPY' ELSE '' END`).Scan(&s.strategy)
		}
	})
	return s.err
}

// ensureMigrated makes the database that later ones are copied from. PostgreSQL copies only what nobody is connected to.
func (s *server) ensureMigrated(ctx context.Context) error {
	s.migrate.Do(func() { s.migrateErr = s.makeTemplate(context.WithoutCancel(ctx)) })
	return s.migrateErr
}

func (s *server) makeTemplate(ctx context.Context) error {
	if _, err := s.admin.ExecContext(ctx, `CREATE DATABASE `+migratedTemplate); err != nil {
		return err
	}
	if err := makeMigrated(s.url(migratedTemplate)); err != nil {
		return err
	}
	return s.addNewer(ctx)
}

// Newer names a column that each table on PostgreSQL has and the program does not know, as when a node of the next version changed the
// tables while nodes of this one still work: so every test on PostgreSQL shows that they can.
const Newer = "of_a_newer_version"

// AddNewer is the statement that adds it, to one table after the other: all at once it would wait in a circle with nodes that write.
const AddNewer = `DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
		AND relname <> 'goose_db_version'
	LOOP EXECUTE format('ALTER TABLE %I ADD COLUMN ` + Newer + ` text NOT NULL DEFAULT %L', t, 'newer'); COMMIT; END LOOP; END $$`

func (s *server) addNewer(ctx context.Context) error {
	db, err := sql.Open("pgx", s.url(migratedTemplate))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, AddNewer)
	return errors.Join(err, db.Close())
}

func (s *server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(pgserver.Superuser), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.running.Dir}}.Encode()
	return u.String()
}

// create makes a fresh database and returns its name.
func (s *server) create(ctx context.Context, template string) (string, error) {
	if err := s.ensure(); err != nil {
		return "", err
	}
	if template == migratedTemplate {
		if err := s.ensureMigrated(ctx); err != nil {
			return "", fmt.Errorf("migrate template: %w", err)
		}
	}
	name := fmt.Sprintf("test_%d", s.count.Add(1))
	_, err := s.admin.ExecContext(ctx, `CREATE DATABASE `+name+` TEMPLATE `+template+s.strategy)
	return name, err
}

func freshDatabase(t testing.TB, template string) string {
	t.Helper()
	needs.Full(t, "PostgreSQL")
	name, err := shared.create(t.Context(), template)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		needs.Missing(t, err.Error(), ".ci/prepare installs them when run as root")
	}
	if err != nil {
		t.Fatalf("fresh PostgreSQL database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := shared.admin.Exec(`DROP DATABASE ` + name + ` WITH (FORCE)`); err != nil {
			t.Errorf("drop PostgreSQL database: %v", err)
		}
	})
	return shared.url(name)
}

// process is a running server and the watchdog shell that ends it.
type process struct {
	*pgserver.Server
	watchdog *exec.Cmd
	lifeline io.Closer
}

// watchdogScript makes and starts a server in the folder $2 with the programs of $1, says "ready", and ends it and
// removes the folder when its standard input closes. The kernel closes that also when the test binary is killed or
// panics, so nothing is left behind. Where PostgreSQL can, the server sorts as people do (ICU), so that a query shows
// that relies on the order of bytes.
const watchdogScript = `
bin=$1 dir=$2
cd "$dir" || exit 1
fail() { tail -n 20 log; cd /; rm -rf "$dir"; exit 1; }
make() { "$bin/initdb" -D data -U ` + pgserver.Superuser + ` -A trust -E UTF8 -N --locale=C "$@"; }
{ make --locale-provider=icu --icu-locale=en-US || { rm -rf data; make; }; } >log 2>&1 || fail
"$bin/postgres" -D data -k "$dir" -c listen_addresses= -F -c full_page_writes=off -c synchronous_commit=off \
  -c max_connections=300 -c shared_buffers=64MB -c autovacuum=off >>log 2>&1 </dev/null &
pid=$!
until grep -qs ready data/postmaster.pid; do kill -0 $pid 2>/dev/null || fail; sleep 0.05; done
echo ready
read -r _
kill -QUIT $pid
wait $pid
cd /
rm -rf "$dir"
`

// startPostgres runs a server of its own and returns when it takes connections.
func startPostgres(ctx context.Context) (*process, error) {
	s, err := pgserver.New("")
	if err != nil {
		return nil, err
	}
	p := &process{Server: s, watchdog: exec.Command("/bin/sh", "-c", watchdogScript, "sh", s.Programs, s.Dir)}
	// A process group of its own, so that an interrupt at the terminal reaches the test first and the server last.
	s.Prepare(p.watchdog)
	p.watchdog.Dir = "/"
	return p, p.run(ctx)
}

func (p *process) run(ctx context.Context) error {
	lifeline, err := p.watchdog.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.watchdog.StdoutPipe()
	if err != nil {
		return err
	}
	p.lifeline = lifeline
	if err := p.watchdog.Start(); err != nil {
		return errors.Join(err, os.RemoveAll(p.Dir))
	}
	defer context.AfterFunc(ctx, func() { _ = lifeline.Close() })()
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		if lines.Text() == "ready" {
			return nil
		}
		said = append(said, lines.Text())
	}
	return errors.Join(fmt.Errorf("start PostgreSQL: %s", strings.Join(said, "; ")), p.watchdog.Wait())
}

// stop ends the server and returns when its folder is gone.
func (p *process) stop() error {
	return errors.Join(p.lifeline.Close(), p.watchdog.Wait())
}

// Main runs the tests and then ends the private PostgreSQL, so that nothing of it is left when the test binary exits:
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
//
// Without it, or when the binary is killed, panics or runs out of time, a watchdog ends the server a moment later.
func Main(m *testing.M) {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func (s *server) stop() error {
	if s.running == nil || s.err != nil {
		return nil
	}
	_ = s.admin.Close()
	return s.running.stop()
}
