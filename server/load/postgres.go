package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"schakel/server/trial"
	"schakel/store/pgserver"
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
	private, err := pgserver.New(scratch)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		return nil, errNoPostgres
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(private.Dir) })
	if err := private.Init(); err != nil {
		return nil, err
	}
	server := private.Postgres("listen_addresses=", "max_connections=300", "shared_buffers=256MB")
	output := &trial.Log{}
	server.Stdout, server.Stderr = output, output
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = server.Wait()
	})
	address := url.URL{Scheme: "postgres", User: url.User(pgserver.Superuser), Path: "/postgres", RawQuery: url.Values{"host": {private.Dir}}.Encode()}
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
