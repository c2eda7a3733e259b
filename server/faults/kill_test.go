package faults

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestKill kills the process two hundred times, in turn while publishers send and
// while only deliveries are under way, on both databases. Afterwards every event
// that was answered 202 was delivered to each approved subscription or lies in a
// queue for it, in order where that was asked.
//
// Rules: EDU-09, EDU-17, EDU-19, EDU-N01, EDU-N02, EDU-N09
func TestKill(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		database func(testing.TB) string
		rounds   int
	}{
		"sqlite":   {func(t testing.TB) string { return trial.SQLitePath(t) }, 150},
		"postgres": {storetest.PostgresURL, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, kind.database(t))
			for n := range kind.rounds {
				c.Start(t)
				c.killRound(t, n%2 == 0)
				if t.Failed() {
					return
				}
			}
			c.Start(t)
			c.settle(t)
		})
	}
}

// killRound lets the publishers send for a moment and kills the process, meanwhile
// or when only deliveries are under way.
func (c *chain) killRound(t *testing.T, intake bool) {
	t.Helper()
	stop := c.publish(t)
	trial.Pause(time.Duration(20+rand.IntN(200)) * time.Millisecond)
	if !intake {
		stop()
		trial.Pause(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	c.Kill(t)
	stop()
	c.receiver.Quiet(t)
}

// How many rows the tables of the old version have, and how often their migration
// is broken off.
const (
	oldRows       = 50_000
	interruptions = 5
)

// TestMigrationInterrupted kills `schakel migrate` while it brings a database of
// the first version, with many rows, to this one. Whatever it was doing, it goes on
// at the next start, to the end, and no row is lost.
func TestMigrationInterrupted(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		database := trial.SQLitePath(t)
		path := strings.TrimPrefix(database, "sqlite:")
		old := oldDatabase(t, "sqlite3", path, goose.DialectSQLite3, "sqlite")
		trial.Must(t, old.Close())
		raw, err := os.ReadFile(path)
		trial.Must(t, err)
		interrupt(t, database, func() {
			_, _ = os.Remove(path+"-wal"), os.Remove(path+"-shm")
			trial.Must(t, os.WriteFile(path, raw, 0o600))
		})
		checkOld(t, database, "sqlite3", path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := newPostgres(t)
		database := server.Database(t, "template")
		old := oldDatabase(t, "pgx", database, goose.DialectPostgres, "postgres")
		trial.Must(t, old.Close())
		database = server.URL("127.0.0.1:"+server.Port, "migrated")
		interrupt(t, database, func() {
			trial.Must(t, server.Exec(t.Context(), "DROP DATABASE IF EXISTS migrated WITH (FORCE)"))
			trial.Must(t, server.Exec(t.Context(), "CREATE DATABASE migrated TEMPLATE template"))
		})
		checkOld(t, database, "pgx", database)
	})
}

// oldDatabase makes tables as the first version had them, with rows.
func oldDatabase(t *testing.T, driver, dsn string, dialect goose.Dialect, folder string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	trial.Must(t, err)
	provider, err := goose.NewProvider(dialect, db, os.DirFS("../../store/migrations/"+folder), goose.WithDisableGlobalRegistry(true))
	trial.Must(t, err)
	_, err = provider.UpTo(t.Context(), 1)
	trial.Must(t, err)
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 100001 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, 100000+oldRows)
	for _, statement := range []string{
		`INSERT INTO event (id, partner_id, client_id, ce_id, ce_source, ce_type, attributes, data_kind, data, accepted_at)
			` + numbers + `SELECT 'evt_' || i, 'prt_a', 'cli_a', 'id-' || i, 'urn:a', 'nl.a', $1, 0, $1, 1700000000000000 + i FROM n`,
		`INSERT INTO delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, status, idempotency_key, key_expires_at, created_at, updated_at, delivered_at)
			` + numbers + `SELECT 'dlv_' || i, 'evt_' || i, 'sub_a', 'ept_a', 'prt_a', 'nl.a', 'delivered', 'key-' || i, 0, i, i, i FROM n WHERE $1 = $1`,
		`INSERT INTO attempt (id, delivery_id, number, started_at, duration_us, response_body)
			` + numbers + `SELECT 'att_' || i, 'dlv_' || i, 1, i, 1, $1 FROM n`,
	} {
		_, err = db.ExecContext(t.Context(), statement, []byte(`{}`))
		trial.Must(t, err)
	}
	return db
}

// interrupt breaks migrations off. Each goes on where the last one was broken off;
// when one was faster than the kill, the next begins anew and is killed sooner.
func interrupt(t *testing.T, database string, anew func()) {
	t.Helper()
	anew()
	began := time.Now()
	if !migrate(t, database, trial.Patience) {
		t.Fatal("the migration did not end")
	}
	whole := time.Since(began)
	anew()
	for wait, broken := whole/2, 0; broken < interruptions; {
		if migrate(t, database, wait) {
			anew()
			wait /= 2
			continue
		}
		broken++
		wait += whole / 4 // so that what is left comes into reach
	}
}

// migrate runs the subcommand and kills it after a while; it reports whether it ended
// by itself.
func migrate(t *testing.T, database string, wait time.Duration) bool {
	t.Helper()
	cmd := exec.Command(trial.Path(t), "migrate", "--database", database)
	var said trial.Log
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	trial.Must(t, cmd.Start())
	timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if err != nil && cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("migrate: %v\n%s", err, said.Tail())
	}
	return err == nil
}

// checkOld starts the program, which does what is left of the migration, and counts
// the rows.
func checkOld(t *testing.T, database, driver, dsn string) {
	t.Helper()
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), database)
	s.Start(t)
	s.Stop(t)
	db, err := sql.Open(driver, dsn)
	trial.Must(t, err)
	defer db.Close()
	for _, table := range []string{"event", "delivery", "attempt"} {
		var n int
		// Not the events about the installation that the program writes itself.
		trial.Must(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table+` WHERE LENGTH(id) = `+strconv.Itoa(len("evt_100001"))).Scan(&n))
		if n != oldRows {
			t.Errorf("%s has %d rows, want %d", table, n, oldRows)
		}
	}
}
