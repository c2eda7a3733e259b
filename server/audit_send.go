package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry/audit"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/server/release"
	"schakel/store"
)

// AuditFlags name the systems that get entries of the audit trail as they come.
type AuditFlags struct {
	AuditSyslog string `placeholder:"HOST:PORT" help:"Syslog server that gets each entry of the audit trail: RFC 5424 over TLS (RFC 5425). Its certificate is held against --ca-file, or the roots of the system; when it asks for one it is shown --outbound-certificate. tcp://HOST:PORT is without TLS, for a program on this machine alone. Default: none."`
	AuditEvents bool   `help:"Hand each entry of the audit trail that comes to subscribers of the own organisation, as the event nl.schakel.audit.recorded.v1."`
}

// CheckFlags checks what flags cannot say one by one.
func (f AuditFlags) CheckFlags() error {
	if f.AuditSyslog == "" {
		return nil
	}
	address, plain := f.syslog()
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return fmt.Errorf("--audit-syslog: %q is not HOST:PORT, as logs.example.nl:6514", f.AuditSyslog)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("--audit-syslog: %q is no port", port)
	}
	if plain && !installation.Local("http://"+address) {
		return errors.New("--audit-syslog: without TLS entries go to this machine alone, as tcp://127.0.0.1:601; give HOST:PORT for a server elsewhere")
	}
	return nil
}

// syslog splits the flag into the address, and whether it goes without TLS.
func (f AuditFlags) syslog() (address string, plain bool) {
	return strings.CutPrefix(f.AuditSyslog, "tcp://")
}

// How entries are sent.
const (
	auditSendEvery = 2 * time.Second  // how often a node looks whether there are new ones
	auditSendRest  = 15 * time.Second // after a failure
	auditSendMost  = 500              // entries that are sent and noted together
)

// The cluster tasks that send entries; the cursor of each is the place in the chain of the last entry that it sent.
const (
	auditSyslogTask = "audit-syslog"
	auditEventsTask = "audit-events"
)

// auditTarget is a system that gets entries.
type auditTarget struct {
	task string
	to   string // as people are told
	send func(ctx context.Context, lines []audit.Line) error
	// fromNow leaves out what was there before the target was first used.
	fromNow bool
}

// auditSender is the service that sends the entries of the audit trail to other systems, in the order of the chain. It reads what is
// committed, so that no work waits for it. Of all nodes one sends to a target at a time; how far it is is noted after each batch, so that
// after a kill some entries are sent twice and none is left out. What retention removed meanwhile is not sent; the log names it.
type auditSender struct {
	db      *store.DB
	log     *slog.Logger
	now     func() time.Time
	targets []auditTarget
	leases  leases

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// auditSender makes the sender of the flags; nil when they name no target.
func (p *program) auditSender(cfg ServeCmd, shown *certificateFile, log *slog.Logger) (*auditSender, error) {
	s := &auditSender{db: p.db, log: log, now: cli.Clock}
	if cfg.AuditSyslog != "" {
		server, err := newSyslogServer(cfg.AuditFlags, cfg.OutboundFlags, shown)
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, auditTarget{task: auditSyslogTask, to: server.address, send: server.send})
	}
	if cfg.AuditEvents {
		e := auditEvents{db: p.db, accept: p.engine.Accept, base: p.base}
		s.targets = append(s.targets, auditTarget{task: auditEventsTask, to: audit.EventType, send: e.send, fromNow: true})
	}
	s.leases = leases{db: p.db, log: log, node: p.db.NewID("node"), lease: p.lease, beat: p.lease / 4, most: len(s.targets)}
	if len(s.targets) == 0 {
		return nil, nil
	}
	return s, nil
}

// Name implements Service.
func (s *auditSender) Name() string { return "audit sender" }

// Start implements Service.
func (s *auditSender) Start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range s.targets {
		s.done.Go(func() {
			for cli.Pause(ctx, auditSendEvery) {
				if err := s.look(ctx, t); err != nil && ctx.Err() == nil {
					s.log.WarnContext(ctx, "entries of the audit trail wait; they are sent later", "to", t.to, "error", err)
				}
			}
		})
	}
	return nil
}

// Stop implements Service: what is not sent yet another node sends, or the next start.
func (s *auditSender) Stop(ctx context.Context) error {
	s.cancel()
	return waitFor(ctx, &s.done)
}

// look sends what is new, unless another node does or the last try failed a moment ago.
func (s *auditSender) look(ctx context.Context, t auditTarget) error {
	seen, err := s.leases.seen(ctx, t.task)
	if err != nil {
		return err
	}
	head, err := s.db.AuditHead(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read head of the audit trail: %w", err)
	case seen.Cursor == "" && head.Seq == 0 && !t.fromNow, seen.Cursor != "" && sentSeq(seen) >= head.Seq:
		return nil
	case !seen.StartedAt.IsZero() && seen.Running() && s.now().Before(seen.LeaseUntil.Time):
		return nil // a node is at it
	case seen.Error != "" && s.now().Sub(seen.FinishedAt.Time) < auditSendRest:
		return nil
	case !s.leases.begin(t.task):
		return nil
	}
	defer s.leases.end(t.task)
	return s.leases.turn(ctx, seen, func(ctx context.Context) error { return s.sendAll(ctx, t, seen, head) })
}

// sentSeq is the place in the chain of the last entry that a task sent.
func sentSeq(t store.ClusterTask) int64 {
	seq, _ := strconv.ParseInt(t.Cursor, 10, 64) // one that never ran has none
	return seq
}

// sendAll sends entries until there are no more.
func (s *auditSender) sendAll(ctx context.Context, t auditTarget, seen store.ClusterTask, head store.AuditHead) error {
	at := sentSeq(seen)
	if seen.Cursor == "" {
		at = head.FloorSeq
		if t.fromNow {
			return s.keep(ctx, t.task, head.Seq)
		}
	}
	for {
		rows, err := s.db.AuditsAfter(ctx, at, auditSendMost)
		if err != nil || len(rows) == 0 {
			return err
		}
		if rows[0].Seq > at+1 {
			s.log.WarnContext(ctx, "retention removed entries of the audit trail before they were sent", "to", t.to, "first", at+1, "last", rows[0].Seq-1)
		}
		lines := make([]audit.Line, len(rows))
		for i, row := range rows {
			lines[i] = audit.LineOf(head.Chain, row)
		}
		if err := t.send(ctx, lines); err != nil {
			return err
		}
		at = rows[len(rows)-1].Seq
		if err := s.keep(ctx, t.task, at); err != nil {
			return err
		}
	}
}

// keep notes how far a target is, as long as this node has the task.
func (s *auditSender) keep(ctx context.Context, task string, seq int64) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.StepTask(ctx, task, s.leases.node, store.At(tx.Now.Add(s.leases.lease))); err != nil {
			return err
		}
		return tx.KeepTask(ctx, task, store.Pruned{Cursor: strconv.FormatInt(seq, 10)})
	})
	if err != nil {
		return fmt.Errorf("note what was sent of the audit trail: %w", err)
	}
	return nil
}

// auditEvents hands entries to the engine, for subscribers of the own organisation alone.
type auditEvents struct {
	db     *store.DB
	accept func(context.Context, outbox.Submission) (outbox.Receipt, error)
	base   string
}

func (e auditEvents) send(ctx context.Context, lines []audit.Line) error {
	for _, l := range lines {
		s, err := ownEvent(ctx, e.db, e.base, store.OnlyFor(), l.Event())
		if err == nil {
			_, err = e.accept(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("hand in entry %d: %w", l.Seq, err)
		}
	}
	return nil
}

// auditFacts finds how far each target of the flags is.
func (e *examiner) auditFacts(ctx context.Context) []installation.AuditTarget {
	var list []installation.AuditTarget
	if e.db == nil {
		return nil
	}
	address, _ := e.flags.syslog()
	for _, sent := range []struct {
		task, to string
		on       bool
	}{{auditSyslogTask, address, address != ""}, {auditEventsTask, audit.EventType, e.flags.AuditEvents}} {
		if !sent.on {
			continue
		}
		seen, err := seenTask(ctx, e.db, sent.task)
		if err != nil || sent.task == auditEventsTask && seen.Cursor == "" {
			continue // the check of the database says so; events begin with the first look
		}
		at := sentSeq(seen)
		waiting, err := e.db.AuditsAfter(ctx, at, 1)
		if err != nil {
			continue
		}
		t := installation.AuditTarget{To: sent.to, Failure: seen.Error}
		if len(waiting) > 0 {
			head, err := e.db.AuditHead(ctx)
			if err != nil {
				continue
			}
			t.Waiting, t.Since = head.Seq-waiting[0].Seq+1, waiting[0].At.Time
		}
		list = append(list, t)
	}
	return list
}

// syslogVersion is the version that messages name.
func syslogVersion() string { return release.Current().Version }
