package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
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
			s.err = s.admin.PingContext(ctx)
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
	return makeMigrated(s.url(migratedTemplate))
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
	_, err := s.admin.ExecContext(ctx, `CREATE DATABASE `+name+` TEMPLATE `+template)
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
