package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ConfirmSettings names a change of the settings, which may wait for a second person.
const ConfirmSettings = "settings.change"

// EnoughPeople reports whether two different people can take actions of a kind.
type EnoughPeople func(ctx context.Context, q *store.Queries, kind string) (bool, error)

// Configure makes changes wait for a second person where the settings say so; nil: they do not wait.
func (p *Profiles) Configure(second registry.SecondPerson, enough EnoughPeople) {
	p.second, p.enough = second, enough
}

// MailBy makes every change mailed to the administrators by a configuration.
func (p *Profiles) MailBy(cfg registry.Config) { p.mail = cfg.MailChange }

// mailChanges tells the administrators which settings somebody changed, so that a session that was stolen does not relax one unseen.
func (p *Profiles) mailChanges(ctx context.Context, tx *store.Tx, actor registry.Actor, changes []SettingChange) error {
	if p.mail == nil {
		return nil
	}
	var lines []registry.Change
	for _, c := range changes {
		lines = append(lines, registry.Change{What: c.Title, From: c.Text(c.Before), To: c.Text(c.After)})
	}
	return p.mail(ctx, tx, actor, "", "profile.mail.changed", registry.ChangePages{Administrator: "/admin/settings"}, lines)
}

// Confirmed makes the change that a second person confirmed.
func (p *Profiles) Confirmed(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
	var in ProfileChange
	if err := json.Unmarshal([]byte(c.Args), &in); err != nil {
		return fmt.Errorf("read settings that were asked for: %w", err)
	}
	_, _, err := p.Save(ctx, actor, in)
	return err
}

// hold changes the settings by do, or makes that wait. One person alone never turns off that something waits for a second one: whoever took
// over one account would go on alone.
func (p *Profiles) hold(ctx context.Context, actor registry.Actor, in ProfileChange, wanted registry.Profile, do func(context.Context) error) error {
	if p.second == nil {
		return do(ctx)
	}
	state, err := p.Load(ctx)
	if err != nil {
		return err
	}
	changes := changesOf(&state.Profile, &wanted)
	if len(changes) == 0 {
		return do(ctx)
	}
	return p.second.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoSettings, Action: ConfirmSettings, Object: registry.ObjectOf("profile", "profile", "the settings", ""),
		Args: in, Reason: in.Reason, Always: weakens(state.Profile, changes),
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			state, err := p.Load(ctx)
			if err != nil {
				return nil, "", err
			}
			var lines []i18n.Message
			for _, c := range changesOf(&state.Profile, &wanted) {
				lines = append(lines, i18n.M("audit.setting-change", c.Title, c.Text(c.Before), c.Text(c.After)))
			}
			fingerprint, err := registry.Fingerprint(state.Version)
			return lines, fingerprint, err
		},
	}, do)
}

// weakens reports whether a change turns off that something waits for a second person. Where approvals do, letting new destinations count without
// one is that too.
func weakens(before registry.Profile, changes []SettingChange) bool {
	for _, c := range changes {
		frees := c.Key == newDestination && (c.Before == registry.DestinationApproval || c.After == registry.DestinationAtOnce)
		if strings.HasPrefix(c.Key, twoPeople) && c.After == registry.PolicyOff || frees && before.TwoApprovals == registry.PolicyOn {
			return true
		}
	}
	return false
}

// enoughPeople refuses to make something wait for a second person where there is none.
func (p *Profiles) enoughPeople(ctx context.Context, q *store.Queries, actor registry.Actor, changes []SettingChange) error {
	if p.enough == nil || actor.Kind != registry.ActorAccount {
		return nil
	}
	wrong := registry.Problems{}
	for _, c := range changes {
		kind, two := strings.CutPrefix(c.Key, twoPeople)
		if !two || c.After != registry.PolicyOn {
			continue
		}
		enough, err := p.enough(ctx, q, kind)
		if err != nil {
			return err
		}
		wrong.AddIf(!enough, c.Key, i18n.M("profile.access-two.too-few", registry.AnyRole(registry.ConfirmationNeeds(kind), true)))
	}
	return wrong.Err()
}
