package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

const (
	// profileSetting names the row of the settings that holds the profile.
	profileSetting = "profile"
	// profileAge bounds how long a node works by a profile that another changed.
	profileAge = 2 * time.Second
)

// Profiles keeps the profile of the chain collaboration. What was never chosen is as the installation says.
type Profiles struct {
	db       *store.DB
	now      func() time.Time
	defaults registry.Profile
	second   registry.SecondPerson // nil: changes do not wait
	enough   EnoughPeople
	mail     mailChange // nil: nobody is mailed

	mu     sync.Mutex
	kept   *ProfileState
	readAt time.Time
}

// mailChange is [registry.Config.MailChange].
type mailChange func(ctx context.Context, tx *store.Tx, actor registry.Actor, partnerID string, subject i18n.Message, pages registry.ChangePages, changes []registry.Change) error

// NewProfiles makes the service; DefaultProfile fills the zero members of defaults.
func NewProfiles(db *store.DB, now func() time.Time, defaults registry.Profile) *Profiles {
	return &Profiles{db: db, now: now, defaults: completed(defaults)}
}

// ProfileState is a profile as it was saved. It does not change.
type ProfileState struct {
	registry.Profile
	// Version counts the changes; 0 is a profile that nobody changed.
	Version   int64
	UpdatedAt time.Time
	UpdatedBy string

	stored string
}

// Values writes every setting as text, by key.
func (s *ProfileState) Values() map[string]string { return valuesOf(&s.Profile) }

// profileRow is the document in the database: only what differs from what the
// installation says, so that a flag still counts where nobody chose.
type profileRow struct {
	Version   int64             `json:"version"`
	UpdatedAt time.Time         `json:"updatedAt"`
	UpdatedBy string            `json:"updatedBy"`
	Values    map[string]string `json:"values"`
}

// Current is the profile in force, at most two seconds old. While the database is away it is the last one that was read.
func (p *Profiles) Current(ctx context.Context) (*ProfileState, error) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := now.Sub(p.readAt); p.kept != nil && age >= 0 && age <= profileAge {
		return p.kept, nil
	}
	state, err := p.read(ctx, &p.db.Queries)
	switch {
	case err == nil:
		p.kept, p.readAt = state, now
	case p.kept == nil:
		return nil, err
	}
	return p.kept, nil
}

// EncryptsData reports whether the data of events and messages is encrypted, by the profile that was read last. It does not read it again, so
// that it can be asked within a transaction: intake reads it for each request.
func (p *Profiles) EncryptsData(ctx context.Context) bool {
	p.mu.Lock()
	kept := p.kept
	p.mu.Unlock()
	if kept == nil {
		var err error
		if kept, err = p.Current(ctx); err != nil {
			return false
		}
	}
	return kept.DataEncryption == registry.PolicyOn
}

// InForce returns the profile of Current, without who chose it. It implements ProfileSource.
func (p *Profiles) InForce(ctx context.Context) (*registry.Profile, error) {
	state, err := p.Current(ctx)
	if err != nil {
		return nil, err
	}
	return &state.Profile, nil
}

// Load reads the profile from the database.
func (p *Profiles) Load(ctx context.Context) (*ProfileState, error) {
	return p.read(ctx, &p.db.Queries)
}

// Defaults are the values of an installation where nobody chose, by key.
func (p *Profiles) Defaults() map[string]string { return valuesOf(&p.defaults) }

func (p *Profiles) read(ctx context.Context, q *store.Queries) (*ProfileState, error) {
	text, err := q.Setting(ctx, profileSetting)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	state := &ProfileState{Profile: p.defaults, stored: text}
	if text == "" {
		return state, nil
	}
	var row profileRow
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	found, wrong := profileOf(p.defaults, row.Values, false)
	if err := wrong.Err(); err != nil {
		// Not wrapped: it is no refusal of what someone sent.
		return nil, fmt.Errorf("read profile: %s", err.Error())
	}
	state.Profile, state.Version, state.UpdatedAt, state.UpdatedBy = found, row.Version, row.UpdatedAt, row.UpdatedBy
	return state, nil
}

// ProfileChange is a profile as someone wants it.
type ProfileChange struct {
	// Version is that of the profile that was looked at.
	Version int64
	// Values by key; what is not named becomes as the installation says.
	Values map[string]string
	// Reason is kept in the audit trail; may be empty.
	Reason string
}

// SettingChange is one setting that becomes another.
type SettingChange struct {
	Setting
	Before, After string
}

// Compare lists what the values would change, without changing it. It answers an
// *Error with fields named by the keys of settings.
func (p *Profiles) Compare(ctx context.Context, values map[string]string) (*ProfileState, []SettingChange, error) {
	state, err := p.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := p.wanted(values)
	if err != nil {
		return state, nil, err
	}
	return state, changesOf(&state.Profile, &wanted), nil
}

// wanted reads values that someone gave.
func (p *Profiles) wanted(values map[string]string) (registry.Profile, error) {
	wanted, wrong := profileOf(p.defaults, values, true)
	for key := range values {
		if _, known := SettingOf(key); !known {
			wrong.Add(key, "profile.unknown")
		}
	}
	return wanted, wrong.Err()
}

func changesOf(p, wanted *registry.Profile) []SettingChange {
	var list []SettingChange
	for _, s := range Settings() {
		if before, after := s.Value(p), s.Value(wanted); before != after {
			list = append(list, SettingChange{s, before, after})
		}
	}
	return list
}

// Relaxations lists the settings in which the profile departs from what the Edukoppeling profile asks for.
func (s *ProfileState) Relaxations() []SettingChange { return Relaxations(s.Profile) }

// StrictValues returns the values of the profile with every relaxation taken back.
func (s *ProfileState) StrictValues() map[string]string {
	strict := strictOf(s.Profile)
	return valuesOf(&strict)
}

// Standard is the value that a setting is reverted to from the one given: what the profile asks for when that is relaxed, else what the
// installation started with. differs is false when it has that value.
func (p *Profiles) Standard(s Setting, value string) (standard string, differs bool) {
	standard = s.Value(&p.defaults)
	if s.Standing(value) == StandingRelaxed {
		standard = s.Strict
	}
	return standard, standard != value
}

// Revert takes one setting back to its standard, in a profile that was looked at in this version. It answers the value of now.
func (p *Profiles) Revert(ctx context.Context, actor registry.Actor, key string, version int64) (Setting, string, error) {
	s, known := SettingOf(key)
	if !known {
		return s, "", registry.NotFound("setting")
	}
	state, err := p.Load(ctx)
	if err != nil {
		return s, "", err
	}
	values := state.Values()
	values[key], _ = p.Standard(s, values[key])
	_, _, err = p.Save(ctx, actor, ProfileChange{Version: version, Values: values})
	return s, values[key], err
}

// Save makes values the profile. When it was changed since Version the error is an *Error of CodeConflict.
func (p *Profiles) Save(ctx context.Context, actor registry.Actor, in ProfileChange) (*ProfileState, []SettingChange, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, nil, err
	}
	if err := registry.CheckReason(in.Reason, false); err != nil {
		return nil, nil, err
	}
	wanted, err := p.wanted(in.Values)
	if err != nil {
		return nil, nil, err
	}
	var saved *ProfileState
	var changes []SettingChange
	err = p.hold(ctx, actor, in, wanted, func(ctx context.Context) error {
		return p.db.Write(ctx, func(tx *store.Tx) (err error) {
			saved, changes, err = p.save(ctx, tx, actor, in, wanted)
			return err
		})
	})
	if errors.Is(err, store.ErrConflict) {
		err = changedMeanwhile()
	}
	if err != nil {
		return nil, nil, err
	}
	store.AfterCommit(ctx, func() {
		p.mu.Lock()
		p.kept, p.readAt = saved, p.now()
		p.mu.Unlock()
	})
	return saved, changes, nil
}

func changedMeanwhile() error {
	return registry.Conflict("profile.changed-meanwhile")
}

func (p *Profiles) save(ctx context.Context, tx *store.Tx, actor registry.Actor, in ProfileChange, wanted registry.Profile) (*ProfileState, []SettingChange, error) {
	before, err := p.read(ctx, &tx.Queries)
	if err != nil {
		return nil, nil, err
	}
	if before.Version != in.Version {
		return nil, nil, changedMeanwhile()
	}
	changes := changesOf(&before.Profile, &wanted)
	if len(changes) == 0 {
		return before, nil, nil
	}
	if err := p.enoughPeople(ctx, &tx.Queries, actor, changes); err != nil {
		return nil, nil, err
	}
	row := profileRow{Version: before.Version + 1, UpdatedAt: tx.Now.Time, UpdatedBy: actor.Name, Values: map[string]string{}}
	for _, c := range changesOf(&p.defaults, &wanted) {
		row.Values[c.Key] = c.After
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, nil, fmt.Errorf("write profile: %w", err)
	}
	if err := tx.SwapSetting(ctx, profileSetting, before.stored, string(text)); err != nil {
		return nil, nil, fmt.Errorf("save profile: %w", err)
	}
	saved := &ProfileState{Profile: wanted, Version: row.Version, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy, stored: string(text)}
	object := registry.ObjectOf("profile", "profile", "the settings", "")
	if err := registry.Record(ctx, tx, actor, registry.ActionProfileChanged, object, profileDetails(changes, saved.Version, in.Reason)); err != nil {
		return nil, nil, err
	}
	return saved, changes, p.mailChanges(ctx, tx, actor, changes)
}

// profileDetails are the changes as messages, which are written for who reads the audit trail, and as values, which scripts read.
func profileDetails(changes []SettingChange, version int64, reason string) registry.Details {
	var told []string
	before, after := map[string]string{}, map[string]string{}
	for _, c := range changes {
		told = append(told, string(i18n.M("audit.setting-change", c.Title, c.Text(c.Before), c.Text(c.After))))
		before[c.Key], after[c.Key] = c.Before, c.After
	}
	return registry.Details{"settings": told, "before": before, "after": after, "version": version, "reason": reason}
}
