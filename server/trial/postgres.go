package trial

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"schakel/store/pgserver"
)

// Postgres is a private server that can be killed and started again. It writes to
// disk before it answers, as one in use does, and listens on a port of the loopback
// and on a socket in its folder.
type Postgres struct {
	Port string

	*pgserver.Server
	server *exec.Cmd
	output Log
}

// NewPostgres makes and starts a server.
func NewPostgres(t T) (*Postgres, error) {
	t.Helper()
	s, err := pgserver.New("") // not in the folder of the test, which only we can enter
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.Dir) })
	if err := s.Init(); err != nil {
		return nil, err
	}
	p := &Postgres{Port: FreePort(t), Server: s}
	t.Cleanup(func() {
		if p.server != nil {
			_ = p.server.Process.Signal(syscall.SIGQUIT)
			_ = p.server.Wait()
		}
	})
	return p, p.Start(t)
}

// Start starts the server, for the first time or after Kill, and returns when it
// takes connections.
func (p *Postgres) Start(t T) error {
	t.Helper()
	p.server = p.Server.Postgres("port="+p.Port, "listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=64MB")
	p.server.Stdout, p.server.Stderr = &p.output, &p.output
	if err := p.server.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	Eventually(t, "PostgreSQL takes connections", func() (bool, string) {
		if err := p.Exec(t.Context(), "SELECT 1"); err != nil {
			return false, err.Error() + "\n" + p.output.Tail()
		}
		return true, ""
	})
	return nil
}

// Kill ends the server and all its processes as a power failure does.
func (p *Postgres) Kill() error {
	children, err := childrenOf(p.server.Process.Pid)
	if err != nil {
		return err
	}
	err = p.server.Process.Kill()
	for _, pid := range children { // each is in a group of its own; one that is gone is no error
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = p.server.Wait()
	p.server = nil
	return err
}

// childrenOf lists the processes that a process started.
func childrenOf(parent int) (children []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		raw, readErr := os.ReadFile(path)
		if readErr != nil {
			continue // it is gone
		}
		_, rest, _ := strings.Cut(string(raw), ") ") // after the name, which may hold anything
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, pid)
		}
	}
	return children, err
}

// Exec runs a statement in the database of the server itself.
func (p *Postgres) Exec(ctx context.Context, statement string) error {
	return p.ExecIn(ctx, "postgres", statement)
}

// ExecIn runs a statement in one of the databases.
func (p *Postgres) ExecIn(ctx context.Context, database, statement string) error {
	db, err := sql.Open("pgx", p.URL("127.0.0.1:"+p.Port, database))
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// Database makes a fresh database and gives its address.
func (p *Postgres) Database(t T, name string) string {
	t.Helper()
	Must(t, p.Exec(t.Context(), "CREATE DATABASE "+name))
	return p.URL("127.0.0.1:"+p.Port, name)
}

// URL is the address of a database of the server at a host and port, which may be
// those of a proxy.
func (p *Postgres) URL(host, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: host, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Standby makes a server that follows this one, from which it copies by way of an address, and starts it.
func (p *Postgres) Standby(t T, from string) (*Postgres, error) {
	t.Helper()
	files, err := pgserver.New("")
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(files.Dir) })
	host, port, _ := strings.Cut(from, ":")
	out, err := files.Command("pg_basebackup", "-D", "data", "-R", "-X", "stream", "-c", "fast", "-d",
		fmt.Sprintf("host=%s port=%s user=%s application_name=standby", host, port, pgserver.Superuser)).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("copy the primary: %w\n%s", err, out)
	}
	s := &Postgres{Port: FreePort(t), Server: files}
	t.Cleanup(func() {
		if s.server != nil {
			_ = s.server.Process.Signal(syscall.SIGQUIT)
			_ = s.server.Wait()
		}
	})
	return s, s.Start(t)
}

// Synchronous has commits wait until the standby has them on disk, from now on.
func (p *Postgres) Synchronous(t T) {
	t.Helper()
	Must(t, p.Exec(t.Context(), `ALTER SYSTEM SET synchronous_standby_names = 'standby'`))
	Must(t, p.Exec(t.Context(), `SELECT pg_reload_conf()`))
	p.await(t, "the standby is synchronous", `SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')`)
}

// Caught waits until the standby has on disk what the primary has now.
func (p *Postgres) Caught(t T) {
	t.Helper()
	p.await(t, "the standby has all", `SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE flush_lsn = pg_current_wal_flush_lsn())`)
}

// Promote makes a standby take writes.
func (p *Postgres) Promote(t T) {
	t.Helper()
	Must(t, p.Exec(t.Context(), `SELECT pg_promote()`))
	p.await(t, "the standby takes writes", `SELECT NOT pg_is_in_recovery()`)
}

// await waits until a query says so.
func (p *Postgres) await(t T, what, query string) {
	t.Helper()
	db := Must1[*sql.DB](t)(sql.Open("pgx", p.URL("127.0.0.1:"+p.Port, "postgres")))
	defer db.Close()
	Eventually(t, what, func() (bool, string) {
		var yes bool
		err := db.QueryRowContext(t.Context(), query).Scan(&yes)
		return yes, fmt.Sprint(err)
	})
}
