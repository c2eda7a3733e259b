package main

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
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"schakel/server/trial"
)

// errNoPostgres is why the scenarios on PostgreSQL are left out.
var errNoPostgres = errors.New("no PostgreSQL programs (initdb, postgres) are installed, and --postgres names no server")

// postgres is a server on which each scenario gets a database of its own.
type postgres struct {
	url string // of a database that is there
	pid int    // 0 when the server is not ours
}

// startPostgres runs a private server that writes to disk before it answers, as one in use does. It listens on a Unix
// socket in its folder and nowhere else.
func startPostgres(t trial.T, scratch string) (*postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "schakel-load-pg-")
	if err != nil {
		return nil, fmt.Errorf("folder of PostgreSQL: %w", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as, err := postgresUser(dir)
	if err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.Env = dir, append(os.Environ(), "LC_ALL=C", "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
		return c
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=300", "-c", "shared_buffers=256MB")
	output := &trial.Log{}
	server.Stdout, server.Stderr = output, output
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = server.Wait()
	})
	address := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: url.Values{"host": {dir}}.Encode()}
	p := &postgres{url: address.String(), pid: server.Process.Pid}
	if err := p.await(t.Context()); err != nil {
		return nil, fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, output.Tail())
	}
	return p, nil
}

// await returns when the server takes connections.
func (p *postgres) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trial.Patience)
	defer cancel()
	for {
		err := p.do(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		rest(ctx, 50*time.Millisecond)
	}
}

// database makes a database that is dropped at the end, and names it.
func (p *postgres) database(t trial.T, name string) string {
	t.Helper()
	trial.Must(t, p.do(t.Context(), "CREATE DATABASE "+name))
	t.Cleanup(func() {
		if err := p.do(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	u, err := url.Parse(p.url)
	trial.Must(t, err)
	u.Path = "/" + name
	return u.String()
}

func (p *postgres) do(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", p.url)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
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
	return "", errNoPostgres
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
	return nil, fmt.Errorf("PostgreSQL refuses root, and there is no user %s", strings.Join([]string{"postgres", "nobody"}, " or "))
}
