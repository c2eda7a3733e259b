package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/robfig/cron/v3"
	"schakel/delivery/inbox"
	"schakel/delivery/mutation/export"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/server/cli"
	"schakel/store"
)

const day = 24 * time.Hour

// A request may be repeated as long as its Idempotency-Key lives, and a day more for what is on its way; until then the
// event must be there, so that it is not taken for a new one (guarantee G4).
const (
	replayWindow  = day
	minKeepEvents = 8 * day
)

// keepQuarantine sets how long a quarantined request is kept after it was decided.
const keepQuarantine = 90 * day

// keepMirrors sets how long the runs of mirrors are kept, and other bytes whose alarm was settled.
const keepMirrors = 90 * day

// keepDownloads sets how long the downloads of a contract version are kept: over a year, for some build once a year.
const keepDownloads = 400 * day

// keepMutations sets how long the groups of a delta are kept after its end, as long as the delta itself (MUT-33); keepPublications
// sets how long the result of a publication can be read, and sending it again changes nothing; keepGone sets how long a
// download that is gone is told from one that never was.
const (
	keepMutations    = 31 * day
	keepPublications = 90 * day
	keepGone         = 90 * day
)

// keepTraffic sets how long counts by the hour are kept: charts go back 30 days, and compare those with the 30 days before.
const keepTraffic = 61 * day

// keepChanges sets how long the changes of endpoints are kept: timelines go back 30 days.
const keepChanges = 31 * day

// How often what has expired is removed, and when the rest is if nothing else is said.
const (
	expirySchedule  = "@every 5m"
	defaultSchedule = "17 * * * *"
)

// RetentionFlags set how long things are kept; 0 keeps them for ever.
type RetentionFlags struct {
	KeepEvents        time.Duration `default:"720h" help:"How long an event is kept with its deliveries and attempts, after the last of them ended. Events that are waiting, held or in the dead-letter queue stay. At least 192h; 0 keeps all."`
	KeepAttemptBodies time.Duration `default:"336h" help:"How long the bodies of answers to attempts are kept. 0 keeps them as long as the event."`
	KeepAudit         time.Duration `default:"17520h" help:"How long the audit trail is kept (17520h is two years). 0 keeps all."`
	KeepMails         time.Duration `default:"720h" help:"How long mails are kept that were sent. 0 keeps all."`
	KeepJobs          time.Duration `default:"2160h" help:"How long jobs are kept that ended: resends, discards and replays of many (2160h is 90 days). 0 keeps all."`
	PruneSchedule     string        `default:"17 * * * *" placeholder:"CRON" help:"When what is over is removed, as cron writes it, in UTC. One node of a cluster does it."`
}

// CheckFlags checks what flags cannot say one by one.
func (f RetentionFlags) CheckFlags() error {
	if f.KeepEvents != 0 && f.KeepEvents < minKeepEvents {
		return errors.New("--keep-events must be at least 192h (8 days), or a repeated event would be taken for a new one; 0 keeps all")
	}
	for _, keep := range []struct {
		flag string
		time.Duration
	}{{"--keep-attempt-bodies", f.KeepAttemptBodies}, {"--keep-audit", f.KeepAudit}, {"--keep-mails", f.KeepMails}, {"--keep-jobs", f.KeepJobs}} {
		if keep.Duration < 0 {
			return fmt.Errorf("%s must not be less than 0", keep.flag)
		}
	}
	if _, err := f.schedule(); err != nil {
		return fmt.Errorf("--prune-schedule: %w", err)
	}
	return nil
}

// CheckFlags checks what depends on more than one group of flags.
func (c ServeCmd) CheckFlags() error {
	if c.KeepEvents != 0 && c.KeepEvents < c.KeyLifetime+replayWindow {
		return fmt.Errorf("--keep-events must be at least a day longer than --key-lifetime, here %s, or a repeated event would be taken for a new one",
			c.KeyLifetime+replayWindow)
	}
	if c.asks(certificateAPIs()...) && c.TLSCert == "" && len(c.ClientCertificateProxy) == 0 {
		return errors.New("--client-certificates: no certificate would ever arrive; set --tls-cert, or --client-certificate-proxy of the proxy that hands them on in Client-Cert")
	}
	return c.check(c.Database)
}

func (f RetentionFlags) schedule() (cron.Schedule, error) {
	if f.PruneSchedule == "" {
		return cron.ParseStandard(defaultSchedule)
	}
	return cron.ParseStandard(f.PruneSchedule)
}

// lifetime returns how long something is kept, by the settings of this moment.
type lifetime func(context.Context) (time.Duration, error)

// pruneTask is a kind of things that are removed when they are old. Its name is also that of its row in the database
// and of its label in the metrics.
type pruneTask struct {
	name     string
	keep     time.Duration // what is older goes
	least    lifetime      // how long it must be kept anyway; nil: not at all
	schedule cron.Schedule
	step     pruneStep
}

// pruneStep removes a little of what was made before a moment, from a cursor on.
type pruneStep func(tx *store.Tx, ctx context.Context, before store.Time, cursor string, limit int) (store.Pruned, error)

// tasks lists the kinds that are not kept for ever:
//
//   - traffic: counts of what moved, for the charts; changes: what endpoints were, for their timelines;
//   - partitions makes those of days to come on PostgreSQL, and removes nothing;
//   - expired: sessions, links, begun registrations, single-use values, failed logins, Idempotency-Keys (error E2);
//   - objects: large data whose event is gone, then the memory of who had got it;
//   - events: events with their deliveries and attempts, by whole days on PostgreSQL; batches: groups of deliveries that are gone;
//   - identities: what subscriptions were handed, and what they were not handed again;
//   - quarantine: requests that were decided, with their events;
//   - mirrors: runs of mirrors, and other bytes of copies whose alarm was settled;
//   - downloads: who last fetched a version of a contract, and how many did on a day;
//   - mutations: groups of old deltas with the states that went in them; publications: what was taken in by one request;
//     mutation-downloads: what is known of downloads that are gone;
//   - mutation-files: the bytes of deltas and snapshots that are gone, or that nobody finished;
//   - amqp: messages by AMQP that are done with, and their traces;
//   - attempt-bodies empties what was answered to attempts;
//   - inbox: what test inboxes received;
//   - audit, mails, jobs: the audit trail, mails that were sent or could not be, and jobs that ended with their parts.
//
// Every other table is small, or what was agreed; a test of the store names each with the reason why it stays.
func (f RetentionFlags) tasks(keys lifetime, audit pruneStep) ([]pruneTask, error) {
	often, err := cron.ParseStandard(expirySchedule)
	if err != nil {
		return nil, fmt.Errorf("schedule of expiry: %w", err)
	}
	schedule, err := f.schedule()
	if err != nil {
		return nil, fmt.Errorf("schedule of pruning: %w", err)
	}
	sent := func(ctx context.Context) (time.Duration, error) {
		lives, err := keys(ctx)
		return lives + replayWindow, err
	}
	tasks := []pruneTask{
		{"traffic", keepTraffic, nil, often, (*store.Tx).PruneTraffic},
		{"changes", keepChanges, nil, schedule, (*store.Tx).PruneEndpointChanges},
		{"partitions", 0, nil, schedule, f.makePartitions},
		{"expired", 0, nil, often, (*store.Tx).PruneExpired},
		{"objects", 0, nil, schedule, (*store.Tx).PruneObjects},
		{"mutation-files", 0, nil, schedule, (*store.Tx).PruneMutationFiles},
	}
	for _, t := range []pruneTask{
		{"events", f.KeepEvents, sent, schedule, (*store.Tx).PruneEvents},
		{"batches", f.KeepEvents, nil, schedule, (*store.Tx).PruneBatches},
		{"identities", f.KeepEvents, sent, schedule, (*store.Tx).PruneHanded},
		{"quarantine", keepQuarantine, nil, schedule, (*store.Tx).PruneQuarantine},
		{"mirrors", keepMirrors, nil, schedule, (*store.Tx).PruneMirrors},
		{"downloads", keepDownloads, nil, schedule, (*store.Tx).PruneDownloads},
		{"mutations", keepMutations, nil, schedule, (*store.Tx).PruneMutations},
		{"publications", keepPublications, nil, schedule, (*store.Tx).PrunePublications},
		{"mutation-downloads", keepGone, nil, schedule, (*store.Tx).PruneMutationDownloads},
		{"amqp", f.KeepEvents, nil, schedule, (*store.Tx).PruneAMQP},
		{"attempt-bodies", f.KeepAttemptBodies, nil, schedule, (*store.Tx).PruneAttemptBodies},
		{"audit", f.KeepAudit, nil, schedule, audit},
		{"issue-events", f.KeepAudit, nil, schedule, (*store.Tx).PruneIssueEvents},
		{"mails", f.KeepMails, nil, schedule, (*store.Tx).PruneMails},
		{"jobs", f.KeepJobs, nil, schedule, (*store.Tx).PruneJobs},
		{"inbox", inbox.Keep, nil, often, (*store.Tx).PruneInbox},
	} {
		if t.keep > 0 {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// makePartitions makes the partitions of the days to come, of which there are about forty as long as events are kept. It is a
// step of a task, which it ends.
func (f RetentionFlags) makePartitions(tx *store.Tx, ctx context.Context, _ store.Time, _ string, _ int) (store.Pruned, error) {
	return store.Pruned{Done: true}, tx.MakePartitions(ctx, store.PartitionSpan(f.KeepEvents))
}

// newRetention makes the service that removes what is over. keys returns the lifetime of an Idempotency-Key: people can lengthen
// that while the program runs, and events are then kept longer too. audit removes old entries of the audit trail, and signs that.
func newRetention(db *store.DB, f RetentionFlags, keys lifetime, audit pruneStep, log *slog.Logger) (*retention, error) {
	tasks, err := f.tasks(keys, audit)
	if err != nil {
		return nil, err
	}
	return &retention{db: db, log: log, now: cli.Clock, node: db.NewID("node"), tasks: tasks, counts: newRetentionCounts(), first: f.makePartitions}, nil
}

// tellRaised warns where the settings have something kept longer than the flags say: the identity of an event must be known
// as long as a request with it can be repeated.
func (r *retention) tellRaised(ctx context.Context) error {
	for _, t := range r.tasks {
		if t.least == nil {
			continue
		}
		least, err := t.least(ctx)
		if err != nil {
			return fmt.Errorf("read how long to keep: %w", err)
		}
		if t.keep < least {
			r.log.WarnContext(ctx, "kept longer than --keep-events says, because the settings let an Idempotency-Key live longer (idempotency.ttl); raise the flag or shorten the lifetime",
				"task", t.name, "flag", t.keep, "kept", least)
		}
	}
	return nil
}

// liveKeyLifetime sets how long an Idempotency-Key lives by the profile.
func liveKeyLifetime(profiles *profile.Profiles) lifetime {
	return func(ctx context.Context) (time.Duration, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return 0, fmt.Errorf("lifetime of keys: %w", err)
		}
		return p.KeyLifetime, nil
	}
}

// retentionCounts counts the work of this process.
type retentionCounts struct {
	rows, failed *prometheus.CounterVec
}

func newRetentionCounts() *retentionCounts {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "schakel", Name: name, Help: help}, []string{"task"})
	}
	return &retentionCounts{
		rows:   vec("pruned_rows_total", "Rows that this process removed, or emptied, because they were old."),
		failed: vec("prune_failures_total", "Runs of pruning that failed in this process."),
	}
}

// metrics returns the counts of this process, and the result of the last run of each task on any node.
func (r *retention) metrics() []prometheus.Collector {
	for _, t := range r.tasks { // so that they stand at 0 before the first run
		r.counts.rows.WithLabelValues(t.name)
		r.counts.failed.WithLabelValues(t.name)
	}
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("schakel_prune_"+name, help, []string{"task"}, nil)
	}
	return []prometheus.Collector{r.counts.rows, r.counts.failed, &lastRuns{
		db:       r.db,
		started:  desc("last_start_timestamp_seconds", "When the last run began, on whichever node."),
		finished: desc("last_finish_timestamp_seconds", "When a run was last finished, on whichever node."),
		removed:  desc("last_removed_rows", "Rows that the last run removed, so far."),
		failed:   desc("last_failed", "1 when the last run failed."),
	}}
}

// lastRuns reads the last run of each task when it is asked.
type lastRuns struct {
	db                                 *store.DB
	started, finished, removed, failed *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (l *lastRuns) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.started, l.finished, l.removed, l.failed} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *lastRuns) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tasks, err := l.db.ClusterTasks(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(l.started, err)
		return
	}
	for _, t := range tasks {
		if strings.HasPrefix(t.Name, contracts.MirrorTask("")) || strings.HasPrefix(t.Name, export.DeltaTask("")) || strings.HasPrefix(t.Name, export.SnapshotTask("")) {
			continue // it removes nothing
		}
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, t.Name)
		}
		failed := 0.0
		if t.Error != "" {
			failed = 1
		}
		gauge(l.started, seconds(t.StartedAt))
		gauge(l.finished, seconds(t.FinishedAt))
		gauge(l.removed, float64(t.Removed))
		gauge(l.failed, failed)
	}
}

// seconds is a moment as Prometheus counts; 0 when it never was.
func seconds(t store.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
