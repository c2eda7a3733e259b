package contracts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/registry/contracts/mirror"
	"schakel/store"
)

// Mirrors copy the contracts of registers of others into ours (EDU-06e, EDU-N06). A copy is a contract like any other, internal
// at first, that names the origin of its bytes (EDU-N05); they are immutable. Nothing of it reaches others without a person's
// step: not the contract itself, nor a new version of one that is shown to others, which stays a draft. A copy defines no event
// types here, and no subscription or payload check follows it by itself.
type Mirrors struct {
	cfg       registry.Config
	contracts *Contracts
}

// NewMirrors makes the service.
func NewMirrors(cfg registry.Config, contracts *Contracts) *Mirrors { return &Mirrors{cfg, contracts} }

// MirrorState is a source with what is known of its mirror.
type MirrorState struct {
	store.MirrorSource
	Last   *store.MirrorRun // nil: it never ran
	Next   time.Time        // when it runs by its schedule; zero when it is switched off
	Copies int              // versions
	Alarms int              // that are not settled
}

// allow lets in who acts for the own organisation.
func (m *Mirrors) allow(ctx context.Context, actor registry.Actor) error {
	if actor.Administrator {
		return nil
	}
	own, err := m.cfg.DB.OwnPartner(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find own organisation: %w", err)
	}
	if actor.PartnerID == "" || own.ID != actor.PartnerID {
		return &registry.Error{Code: registry.CodeForbidden, Message: "contracts.mirror-refused.own-only"}
	}
	return nil
}

// List lists all sources by name.
func (m *Mirrors) List(ctx context.Context, actor registry.Actor) ([]MirrorState, error) {
	if err := m.allow(ctx, actor); err != nil {
		return nil, err
	}
	rows, err := m.cfg.DB.MirrorSources(ctx)
	if err != nil {
		return nil, fmt.Errorf("list mirrors: %w", err)
	}
	return m.states(ctx, rows)
}

// Get finds one source.
func (m *Mirrors) Get(ctx context.Context, actor registry.Actor, id string) (MirrorState, error) {
	if err := m.allow(ctx, actor); err != nil {
		return MirrorState{}, err
	}
	row, err := m.cfg.DB.MirrorSource(ctx, id)
	if err != nil {
		return MirrorState{}, registry.Found("mirror", err)
	}
	states, err := m.states(ctx, []store.MirrorSource{row})
	if err != nil {
		return MirrorState{}, err
	}
	return states[0], nil
}

func (m *Mirrors) states(ctx context.Context, rows []store.MirrorSource) ([]MirrorState, error) {
	last, err := m.cfg.DB.LastMirrorRuns(ctx)
	if err != nil {
		return nil, fmt.Errorf("find last runs: %w", err)
	}
	copies, err := m.cfg.DB.CountMirrorCopies(ctx)
	if err != nil {
		return nil, fmt.Errorf("count copies: %w", err)
	}
	alarms, err := m.cfg.DB.CountMirrorAsides(ctx)
	if err != nil {
		return nil, fmt.Errorf("count alarms: %w", err)
	}
	list := make([]MirrorState, len(rows))
	for i, row := range rows {
		s := MirrorState{MirrorSource: row, Copies: copies[row.ID], Alarms: alarms[row.ID]}
		if run, ok := last[row.ID]; ok {
			s.Last = &run
		}
		if plan, err := parseSchedule(row.Schedule); err == nil && row.Enabled {
			s.Next = plan.Next(m.cfg.Now().UTC())
		}
		list[i] = s
	}
	return list, nil
}

// Runs lists the runs of a mirror, newest first, with their total count.
func (m *Mirrors) Runs(ctx context.Context, actor registry.Actor, id string, p store.Page) ([]store.MirrorRun, int, error) {
	if err := m.allow(ctx, actor); err != nil {
		return nil, 0, err
	}
	if _, err := m.cfg.DB.MirrorSource(ctx, id); err != nil {
		return nil, 0, registry.Found("mirror", err)
	}
	rows, total, err := m.cfg.DB.MirrorRuns(ctx, id, p)
	return rows, total, registry.Wrap("list runs", err)
}

// OneRun finds a run of a mirror.
func (m *Mirrors) OneRun(ctx context.Context, actor registry.Actor, id, runID string) (store.MirrorRun, error) {
	if err := m.allow(ctx, actor); err != nil {
		return store.MirrorRun{}, err
	}
	run, err := m.cfg.DB.MirrorRun(ctx, runID)
	if err == nil && run.SourceID != id {
		err = store.ErrNotFound
	}
	return run, registry.Found("run", err)
}

// Alarms lists bytes that sources gave for versions of which we have other bytes, newest first, with their total count.
func (m *Mirrors) Alarms(ctx context.Context, actor registry.Actor, f store.MirrorAsideFilter) ([]store.MirrorAside, int, error) {
	if err := m.allow(ctx, actor); err != nil {
		return nil, 0, err
	}
	rows, total, err := m.cfg.DB.MirrorAsides(ctx, f)
	return rows, total, registry.Wrap("list alarms", err)
}

// Alarm finds one alarm of a mirror.
func (m *Mirrors) Alarm(ctx context.Context, actor registry.Actor, id, alarmID string) (store.MirrorAside, error) {
	if err := m.allow(ctx, actor); err != nil {
		return store.MirrorAside{}, err
	}
	row, err := m.cfg.DB.MirrorAside(ctx, alarmID)
	if err == nil && row.SourceID != id {
		err = store.ErrNotFound
	}
	return row, registry.Found("alarm", err)
}

// AlarmContent reads the bytes that are kept aside.
func (m *Mirrors) AlarmContent(ctx context.Context, actor registry.Actor, id, alarmID string) (store.MirrorAside, []byte, error) {
	row, err := m.Alarm(ctx, actor, id, alarmID)
	if err != nil {
		return row, nil, err
	}
	content, err := m.cfg.DB.MirrorAsideContent(ctx, alarmID)
	return row, content, registry.Found("alarm", err)
}

// AlarmChanges compares what is kept aside with our copy: what the source changed.
// What is not a document that can be read, or compared, is refused (CodeConflict).
func (m *Mirrors) AlarmChanges(ctx context.Context, actor registry.Actor, id, alarmID string) ([]compare.Change, error) {
	row, content, err := m.AlarmContent(ctx, actor, id, alarmID)
	if err != nil {
		return nil, err
	}
	ours, err := m.cfg.DB.ContractVersion(ctx, row.ContractID, row.Version)
	if err != nil {
		return nil, registry.Found("version", err)
	}
	leave, err := m.contracts.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	old, err := m.contracts.readVersion(ctx, ours)
	if err != nil {
		return nil, err
	}
	read, _, err := contract.ReadUpload(content, "", contract.Limits{})
	if err != nil {
		return nil, fmt.Errorf("read what is kept aside: %w", err)
	}
	if read == nil {
		return nil, registry.Conflict("contracts.mirror-refused.unreadable")
	}
	changes, err := compare.Documents(old, read.Document)
	if err != nil {
		return nil, registry.Conflict("contracts.mirror-refused.incomparable")
	}
	return changes, nil
}

// Settle ends an alarm: somebody found out with the source why the bytes differ. Our copy stays as it is. Field: reason.
func (m *Mirrors) Settle(ctx context.Context, actor registry.Actor, id, alarmID, reason string) error {
	reason = strings.TrimSpace(reason)
	row, err := m.Alarm(ctx, actor, id, alarmID)
	if err != nil {
		return err
	}
	if err := registry.CheckReason(reason, true); err != nil {
		return err
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		err := tx.SettleMirrorAside(ctx, alarmID, actor.Name, reason)
		if errors.Is(err, store.ErrConflict) {
			return registry.Conflict("contracts.mirror-refused.settled")
		}
		if err != nil {
			return fmt.Errorf("settle alarm: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionCopySettled, registry.ObjectOf("contract", row.ContractID, row.ContractID+" "+row.Version, ""), registry.Details{"reason": reason, "version": row.Version})
	})
}

// Origins finds the copies among some contracts, and the origin of each.
func (c *Contracts) Origins(ctx context.Context, ids ...string) (map[string]store.MirrorContract, error) {
	rows, err := c.cfg.DB.MirrorContractsOf(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find origins: %w", err)
	}
	origins := make(map[string]store.MirrorContract, len(rows))
	for _, row := range rows {
		origins[row.ContractID] = row
	}
	return origins, nil
}

// CopyOf returns the origin of the bytes of a version; ok is false when it is no copy.
func (c *Contracts) CopyOf(ctx context.Context, v store.ContractVersion) (from store.MirrorCopy, ok bool, err error) {
	from, err = c.cfg.DB.MirrorCopy(ctx, v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return from, false, nil
	}
	if err != nil {
		return from, false, fmt.Errorf("find origin: %w", err)
	}
	return from, true, nil
}

func isCopy(ctx context.Context, tx *store.Tx, contractID string) (bool, error) {
	_, err := tx.MirrorContract(ctx, contractID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find origin: %w", err)
	}
	return true, nil
}

// refuseCopy refuses to change the documents of a copy: they come from its source alone (EDU-N05).
func refuseCopy(ctx context.Context, tx *store.Tx, contractID string) error {
	is, err := isCopy(ctx, tx, contractID)
	if err == nil && is {
		return registry.Conflict("contracts.version-refused.is-copy")
	}
	return err
}

func (m *Mirrors) driver(s store.MirrorSource) (mirror.Driver, error) {
	cfg := mirror.Config{Kind: s.Kind, URL: s.URL, List: s.URLs, HTTP: m.cfg.MirrorHTTP, MaxDocument: m.cfg.MaxDocumentBytes}
	if m.cfg.MirrorHTTP == nil {
		return nil, errors.New("this program fetches nothing")
	}
	if s.Secret != "" {
		plain, err := m.cfg.Vault.Open(mirrorSecretPurpose, s.Secret)
		if err != nil {
			return nil, fmt.Errorf("open key of mirror: %w", err)
		}
		cfg.Secret = string(plain)
	}
	return mirror.Open(cfg)
}
