package trial

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoPostgres is answered when no PostgreSQL is installed.
var ErrNoPostgres = errors.New("no PostgreSQL programs (initdb, postgres) are installed on this machine")

// Postgres is a private server that can be killed and started again. It writes to
// disk before it answers, as one in use does, and listens on a port of the loopback
// and on a socket in its folder.
type Postgres struct {
	Port string

	dir, bin string
	as       *syscall.Credential
	server   *exec.Cmd
	output   Log
}

// NewPostgres makes and starts a server.
func NewPostgres(t T) (*Postgres, error) {
	t.Helper()
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "schakel-pg-") // not the test's own, which only we can enter
	if err != nil {
		return nil, fmt.Errorf("folder of PostgreSQL: %w", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Postgres{Port: FreePort(t), dir: dir, bin: bin}
	if p.as, err = postgresUser(dir); err != nil {
		return nil, err
	}
	out, err := p.command("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	t.Cleanup(func() {
		if p.server != nil {
			_ = p.server.Process.Signal(syscall.SIGQUIT)
			_ = p.server.Wait()
		}
	})
	return p, p.Start(t)
}

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(p.bin, name), args...)
	c.Dir, c.Env = p.dir, append(os.Environ(), "LC_ALL=C", "HOME="+p.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	return c
}

// Start starts the server, for the first time or after Kill, and returns when it
// takes connections.
func (p *Postgres) Start(t T) error {
	t.Helper()
	p.server = p.command("postgres", "-D", "data", "-k", p.dir, "-p", p.Port, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200", "-c", "shared_buffers=64MB")
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

// postgresPrograms finds the folder of the newest PostgreSQL, as Debian installs it or on the PATH.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(bin string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	for _, bin := range found {
		if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
			return bin, nil
		}
	}
	return "", ErrNoPostgres
}

// postgresUser gives the folder to a user that the server runs as, because it refuses root; nil is the user we are.
func postgresUser(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, fmt.Errorf("folder of PostgreSQL: %w", err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses root, and there is no user postgres or nobody")
}
