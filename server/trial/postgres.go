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
	db, err := sql.Open("pgx", p.URL("127.0.0.1:"+p.Port, "postgres"))
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
