package contracts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/mirror"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of one run, and of what one source may have us keep.
const (
	maxRunTime       = 30 * time.Minute
	maxRunBytes      = 1 << 30
	maxRunLines      = 300
	mostMirrorCopies = 5000
	// recheckAfter limits our trust in a source that answers "unchanged"; after it its bytes are compared with ours again.
	recheckAfter = 24 * time.Hour
)

// MirrorScheduled is the cause of a run that nobody asked for.
const MirrorScheduled = "schedule"

// Outcomes of a line in the log of a run.
const (
	MirrorNew       = "new"
	MirrorChanged   = "changed"   // other bytes than our copy: an alarm
	MirrorRefused   = "refused"   // it cannot be kept
	MirrorMarked    = "marked"    // deprecated, withdrawn, gone, or back
	MirrorFailed    = "failed"    // it could not be fetched
	MirrorSkipped   = "skipped"   // it is a copy there itself
	MirrorDescribed = "described" // with another title or description
)

// MirrorLine tells of one contract or version that was not as before.
type MirrorLine struct {
	Contract string       `json:"contract"` // as the source calls it
	Version  string       `json:"version,omitempty"`
	Outcome  string       `json:"outcome"`
	Copy     string       `json:"copy,omitempty"` // the id of the contract here
	Text     i18n.Message `json:"text"`
}

// MirrorLines reads the log of a run.
func MirrorLines(run store.MirrorRun) ([]MirrorLine, error) {
	var lines []MirrorLine
	if err := json.Unmarshal([]byte(run.Lines), &lines); err != nil {
		return nil, fmt.Errorf("read log of run %s: %w", run.ID, err)
	}
	return lines, nil
}

// MirrorTask is the name of the work of a source among that of the cluster.
func MirrorTask(sourceID string) string { return "mirror " + sourceID }

// MirrorDue tells when a source has to be mirrored next, and why; seen is its task
// as it is now, with its name alone when it never ran. The zero time is never.
func MirrorDue(s store.MirrorSource, seen store.ClusterTask) (due time.Time, cause string) {
	plan, err := parseSchedule(s.Schedule)
	switch {
	case !s.Enabled || err != nil:
		return time.Time{}, ""
	case !seen.StartedAt.IsZero() && seen.Running():
		return seen.LeaseUntil.Time, MirrorScheduled // its node may have died
	case s.AskedAt.After(seen.StartedAt.Time):
		return s.AskedAt.Time, s.AskedBy
	}
	since := s.CreatedAt
	if seen.StartedAt.After(since.Time) {
		since = seen.StartedAt
	}
	return plan.Next(since.UTC()), MirrorScheduled
}

type mirrorRun struct {
	*Mirrors
	source  store.MirrorSource
	reads   mirror.Driver
	actor   registry.Actor
	row     store.MirrorRun
	lines   []MirrorLine
	bytes   int64
	copies  int // versions we keep of the source
	mustAll bool
}

// Run mirrors a source once and returns what it found; cause is MirrorScheduled or the name of the person who asked. Do not run
// one source twice at a time. The error is for faults of ours; the run holds those of the source.
func (m *Mirrors) Run(ctx context.Context, id, cause string) (store.MirrorRun, error) {
	source, err := m.cfg.DB.MirrorSource(ctx, id)
	if err != nil {
		return store.MirrorRun{}, registry.Found("mirror", err)
	}
	r := &mirrorRun{
		Mirrors: m, source: source, mustAll: cause != MirrorScheduled, row: store.MirrorRun{SourceID: id, Cause: cause, Lines: "[]"},
		actor: registry.Actor{Kind: registry.ActorSystem, Name: "Mirror of " + source.Name, Administrator: true},
	}
	if err := m.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.StartMirrorRun(ctx, &r.row) }); err != nil {
		return r.row, fmt.Errorf("start run: %w", err)
	}
	failure := r.work(ctx)
	return r.row, errors.Join(failure, r.finish(ctx, failure))
}

// finish writes what came of the run, also when it was stopped.
func (r *mirrorRun) finish(ctx context.Context, failure error) error {
	if failure != nil && r.row.Error == "" {
		r.row.Error = "contracts.run.unfinished"
	}
	text, err := json.Marshal(append([]MirrorLine{}, r.lines...))
	if err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	r.row.Lines = string(text)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = r.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.FinishMirrorRun(ctx, &r.row) })
	if errors.Is(err, store.ErrNotFound) {
		return store.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("finish run: %w", err)
	}
	r.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "register mirrored", slog.String("mirror", r.source.ID), slog.Int("new", r.row.Added),
		slog.Int("unchanged", r.row.Unchanged), slog.Int("changed", r.row.Changed), slog.Int("refused", r.row.Refused), slog.Int("failed", r.row.Failed))
	return nil
}

// work goes through all that the source has.
func (r *mirrorRun) work(ctx context.Context) error {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, maxRunTime)
	defer cancel()
	err := r.all(ctx)
	if errors.Is(err, errEnough) {
		r.row.Error, err = "contracts.run.enough", nil
	}
	if err != nil && ctx.Err() != nil && whole.Err() == nil {
		r.row.Error, err = "contracts.run.too-long", nil
	}
	return err
}

var errEnough = errors.New("enough for one run")

func (r *mirrorRun) all(ctx context.Context) error {
	counts, err := r.cfg.DB.CountMirrorCopies(ctx)
	if err != nil {
		return fmt.Errorf("count copies: %w", err)
	}
	r.copies = counts[r.source.ID]
	if r.reads, err = r.driver(r.source); err != nil {
		r.row.Error = string(sourceError(err))
		return nil
	}
	there, err := r.reads.Contracts(ctx)
	if err != nil {
		r.row.Error = string(sourceError(err))
		return ctx.Err()
	}
	known, err := r.cfg.DB.MirrorContracts(ctx, r.source.ID)
	if err != nil {
		return fmt.Errorf("list copies: %w", err)
	}
	ours := make(map[string]store.MirrorContract, len(known))
	for _, k := range known {
		ours[k.OriginID] = k
	}
	chosen := 0
	for _, c := range there {
		if !wanted(r.source.Contracts, c.ID) {
			continue
		}
		chosen++
		if gone, err := r.removed(ctx); gone || err != nil {
			return err
		}
		copied := ours[c.ID]
		delete(ours, c.ID)
		if err := r.contract(ctx, c, copied); err != nil {
			return err
		}
	}
	for _, k := range known { // in their order
		if left, ok := ours[k.OriginID]; ok && wanted(r.source.Contracts, k.OriginID) {
			if err := r.contractGone(ctx, left); err != nil {
				return err
			}
		}
	}
	if chosen == 0 && len(there) > 0 && len(r.source.Contracts) > 0 {
		r.row.Error = string(i18n.M("contracts.run.none-chosen",
			len(there), shown(strings.Join(r.source.Contracts, ", "), 200, false), shown(firstIDs(there), 200, false)))
	}
	return nil
}

// sourceError describes a failure at the source, for the log of the run.
func sourceError(err error) i18n.Message {
	return i18n.Raw(shown(registry.AsSentence(err.Error()), 600, false))
}

func firstIDs(list []mirror.Contract) string {
	var ids []string
	for _, c := range list[:min(len(list), 5)] {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, ", ")
}

// contract goes through the versions of one contract; copied is our copy, without an id when there is none.
func (r *mirrorRun) contract(ctx context.Context, c mirror.Contract, copied store.MirrorContract) error {
	if text := registry.CheckLine(c.ID, 1, 300); text != "" {
		r.note(MirrorLine{Contract: shown(c.ID, 60, false), Outcome: MirrorRefused, Text: i18n.M("contracts.run.id-refused", text)})
		return nil
	}
	if c.CopyOf != "" {
		r.note(MirrorLine{Contract: c.ID, Outcome: MirrorSkipped, Copy: copied.ContractID, Text: i18n.M("contracts.run.is-copy", shown(c.CopyOf, 300, false))})
		return nil
	}
	versions, complete, err := r.reads.Versions(ctx, c)
	if errors.Is(err, mirror.ErrGone) {
		return r.contractGone(ctx, copied)
	}
	if err != nil {
		r.note(MirrorLine{Contract: c.ID, Outcome: MirrorFailed, Copy: copied.ContractID, Text: sourceError(err)})
		return ctx.Err()
	}
	if !copied.GoneAt.IsZero() {
		if err := r.contractBack(ctx, copied); err != nil {
			return err
		}
	}
	if copied.ContractID != "" && c.Title != "" {
		if err := r.about(ctx, c, &copied, c.Title); err != nil {
			return err
		}
	}
	offered, sure := map[string]bool{}, true
	for _, v := range versions {
		number, known, err := r.version(ctx, c, &copied, v)
		if err != nil {
			return err
		}
		offered[number] = true
		sure = sure && known
	}
	if copied.ContractID == "" || !sure {
		return nil
	}
	return r.missing(ctx, c, copied, offered, complete)
}

// missing marks the versions that the source does not offer any more.
func (r *mirrorRun) missing(ctx context.Context, c mirror.Contract, copied store.MirrorContract, offered map[string]bool, complete bool) error {
	all, err := r.cfg.DB.MirrorCopies(ctx, copied.ContractID)
	if err != nil {
		return fmt.Errorf("list copied versions: %w", err)
	}
	status := store.MirrorGone
	if complete {
		status = store.VersionWithdrawn
	}
	for _, one := range all {
		if offered[one.Version] || one.SourceStatus == store.VersionWithdrawn {
			continue
		}
		if err := r.mark(ctx, c.ID, one, mirror.Version{Status: status}); err != nil {
			return err
		}
	}
	return nil
}

// note adds a line to the log and counts it.
func (r *mirrorRun) note(l MirrorLine) {
	switch l.Outcome {
	case MirrorNew:
		r.row.Added++
	case MirrorChanged:
		r.row.Changed++
	case MirrorRefused:
		r.row.Refused++
	case MirrorMarked:
		r.row.Marked++
	case MirrorFailed:
		r.row.Failed++
	}
	if len(r.lines) < maxRunLines {
		r.lines = append(r.lines, l)
	}
}
