package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/registry"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/backup"
	"schakel/store/replicate"
)

// ReplicaFlags set where a SQLite database is copied to while the program works.
type ReplicaFlags struct {
	ReplicateTo       string        `placeholder:"FOLDER" help:"Copy each change of the SQLite database to this folder, on another disk or a share that is mounted; schakel restore --from FOLDER makes a database of it, as of any moment. Encrypted for --backup-recipient. Default: no replica."`
	ReplicateEvery    time.Duration `default:"1s" help:"Time between two copies of what changed, which bounds what is lost with the machine."`
	ReplicateSnapshot time.Duration `default:"24h" help:"Time between two copies of the whole file, which bounds how long a restore takes."`
	ReplicateKeep     time.Duration `default:"72h" help:"How far back the replica can be restored to."`
}

// check refuses values that cannot work with a database.
func (f ReplicaFlags) check(database string) error {
	switch {
	case f.ReplicateTo == "":
		return nil
	case !strings.HasPrefix(database, "sqlite:"):
		return errors.New("--replicate-to is for SQLite: PostgreSQL has replication of its own, see /docs/postgresql")
	case f.ReplicateEvery < 10*time.Millisecond || f.ReplicateSnapshot < time.Minute || f.ReplicateKeep < time.Minute:
		return errors.New("--replicate-every must be at least 10ms, --replicate-snapshot and --replicate-keep at least 1m")
	}
	return nil
}

// replica is the service that copies the database.
type replica struct {
	*replicate.Replicator
	folder  string
	started time.Time
	fail    func(error)

	cancel context.CancelFunc
	done   sync.WaitGroup
	err    error // of the end
}

// newReplica makes the service; it is nil without a folder.
func newReplica(db *store.DB, cfg ServeCmd, log *slog.Logger, fail func(error)) (*replica, error) {
	if cfg.ReplicateTo == "" {
		return nil, nil
	}
	recipients, err := backup.Recipients(cfg.BackupRecipients)
	if err != nil {
		return nil, err
	}
	r, err := replicate.New(db, strings.TrimPrefix(cfg.Database, "sqlite:"), replicate.Config{
		Folder: cfg.ReplicateTo, Recipients: recipients, Every: cfg.ReplicateEvery, Snapshot: cfg.ReplicateSnapshot, Keep: cfg.ReplicateKeep, Now: cli.Clock, Log: log,
		Made: func(ctx context.Context, bytes int64) {
			if err := installation.RecordBackup(ctx, db, "replica", installation.Record{Place: cfg.ReplicateTo, Bytes: bytes}); err != nil {
				log.WarnContext(ctx, "the database could not note that its replica has a new snapshot", "error", err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return &replica{Replicator: r, folder: cfg.ReplicateTo, started: cli.Clock(), fail: fail}, nil
}

// Name implements Service.
func (r *replica) Name() string { return "replica" }

// Start implements Service.
func (r *replica) Start(ctx context.Context) error {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.done.Go(func() {
		if r.err = r.Run(ctx); r.err != nil && ctx.Err() == nil {
			r.fail(r.err)
		}
	})
	return nil
}

// Stop implements Service: it copies what was committed until now.
func (r *replica) Stop(ctx context.Context) error {
	r.cancel()
	return errors.Join(waitFor(ctx, &r.done), r.err)
}

// fact describes the replica for the checks; nil when there is none.
func (r *replica) fact() *installation.Replica {
	if r == nil {
		return nil
	}
	s := r.State()
	return &installation.Replica{Folder: r.folder, Started: r.started, Since: s.Since, Failure: s.Failure}
}

// Describe implements prometheus.Collector.
func (r *replica) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, ch) }

// Collect implements prometheus.Collector.
func (r *replica) Collect(ch chan<- prometheus.Metric) {
	s := r.State()
	since := s.Since
	if since.IsZero() {
		since = r.started
	}
	age := prometheus.NewDesc("schakel_replica_age_seconds", "Age of the newest moment that the replica of the database can be restored to.", nil, nil)
	written := prometheus.NewDesc("schakel_replica_written_bytes_total", "Bytes written to the replica of the database.", nil, nil)
	ch <- prometheus.MustNewConstMetric(age, prometheus.GaugeValue, cli.Clock().Sub(since).Seconds())
	ch <- prometheus.MustNewConstMetric(written, prometheus.CounterValue, float64(s.Bytes))
}

// fromReplica makes a database of the folder of a replica.
func (c *RestoreCmd) fromReplica(ctx context.Context, streams cli.Streams) error {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	plan, err := replicate.Find(c.From, c.At)
	if err != nil {
		return err
	}
	path, ok := strings.CutPrefix(c.Database, "sqlite:")
	switch {
	case c.Check:
		err = plan.Check(ctx, replicate.Nowhere, identities)
	case !ok:
		err = errors.New("a replica is restored into SQLite: name a file with --database, and move that to PostgreSQL with schakel backup and schakel restore")
	default:
		err = plan.Restore(ctx, path, identities, store.Options{Now: cli.Clock})
	}
	if errors.Is(err, backup.ErrEncrypted) {
		err = fmt.Errorf("%w, as --identity FILE", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s is whole\nas of %s, with the changes of %s; the earliest moment in it is %s\n",
		c.From, plan.At.Format(time.RFC3339Nano), cli.Plural(int64(plan.Segments), "segment", "segments"), plan.Earliest.Format(time.RFC3339Nano))
	if c.Check {
		return nil
	}
	fmt.Fprintln(streams.Out, "restored; every page was checked, and the references between the tables")
	db, err := store.Open(ctx, c.Database, store.Options{Now: cli.Clock})
	if err != nil {
		return err
	}
	defer db.Close()
	key, err := registry.StoredKeyID(ctx, db)
	if err != nil {
		return err
	}
	if warning := keyWarning(ctx, c.keys(), key); warning != "" {
		fmt.Fprintln(streams.Err, "warning:", warning)
	}
	return nil
}
