// Package confirm makes actions of one person wait until a second person confirms them, where a setting of the chain asks for it: approvals
// of registrations, subscriptions, clients and destinations, and changes that would stand in for one, routes, discards, and changes of the settings.
//
//	            ┌─confirm──▶ confirmed  the action is done, in the same transaction
//	            ├─decline──▶ declined   by a second person, with a reason
//	waiting ────┼─withdraw─▶ withdrawn  by who asked
//	            ├─time─────▶ expired    after the setting access.confirmation_age
//	            └─confirm──▶ stale      what it is about changed meanwhile, or who asked may not do it any more
//
// A feature wraps what it does in [registry.Config.Hold]. With the setting off that does it at once. With the setting on it is tried in a
// transaction that is rolled back, so that only what can be done is asked for, and then stored with its object, a fingerprint of that, what
// it does in words, the reason, and who asked. [Confirmations.Confirm] does it in one transaction with the decision.
//
// It guarantees that who confirms is another person than who asked, as far as accounts tell: not the same account, the same mailbox (whatever
// follows a plus sign in its name), or the same subject of an OpenID provider; that both have the permission at that moment; that nothing
// is done to another state of the object than the one that was shown; and that a setting which makes actions wait is never turned off, nor is
// any other setting changed while changes of settings wait, by one person.
//
// It does not know whether two accounts with unrelated addresses belong to one person: who may invite people is told to every administrator by
// mail. Rejections, suspensions, ends and closed routes do not wait: what stops data must not. Machines are refused what waits, for a machine is
// no person. The command line, and the program itself, wait for nobody: who has the machine can do anything.
package confirm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Do does an action that was confirmed, as who confirms it.
type Do func(ctx context.Context, actor registry.Actor, c store.Confirmation) error

// Confirmations holds what waits for a second person. It is safe for concurrent use once all actions are known.
type Confirmations struct {
	cfg     registry.Config
	profile func(context.Context) (registry.Profile, error)
	actions map[string]Do
}

// New makes the service. profile reads the settings as they are stored now.
func New(cfg registry.Config, profile func(context.Context) (registry.Profile, error)) *Confirmations {
	return &Confirmations{cfg: cfg, profile: profile, actions: map[string]Do{}}
}

// Handle names what does an action once it is confirmed; it is called while the program starts.
func (s *Confirmations) Handle(action string, do Do) { s.actions[action] = do }

// On reports whether actions of a kind wait for a second person.
func (s *Confirmations) On(ctx context.Context, kind string) (bool, error) {
	p, err := s.profile(ctx)
	if err != nil {
		return false, fmt.Errorf("read what waits for a second person: %w", err)
	}
	return registry.PolicyOn == map[string]string{
		registry.TwoApprovals: p.TwoApprovals, registry.TwoRoutes: p.TwoRoutes, registry.TwoDiscards: p.TwoDiscards, registry.TwoSettings: p.TwoSettings,
	}[kind], nil
}

// confirming marks a context in which an action is confirmed.
type confirming struct{ row *store.Confirmation }

type confirmingKey struct{}

// staleError says that an action would be done to something else than it was asked for.
type staleError struct{ why i18n.Message }

// Error implements error.
func (e staleError) Error() string { return "stale: " + e.why.String() }

// Hold implements registry.SecondPerson.
func (s *Confirmations) Hold(ctx context.Context, actor registry.Actor, ask registry.Ask, do func(context.Context) error) error {
	if now, ok := ctx.Value(confirmingKey{}).(confirming); ok && now.row.Action == ask.Action {
		return s.still(ctx, *now.row, ask, do)
	}
	if ask.Free || actor.Kind != registry.ActorAccount && actor.Kind != registry.ActorClient {
		return do(ctx)
	}
	on, err := s.On(ctx, ask.Kind)
	if err != nil {
		return err
	}
	if !on && !ask.Always {
		return do(ctx)
	}
	if actor.Kind == registry.ActorClient {
		return machineRefused(ask.Kind)
	}
	changes, fingerprint, err := ask.Describe(ctx)
	if err != nil {
		return err
	}
	if err := s.try(ctx, do); err != nil {
		return err
	}
	return s.store(ctx, actor, ask, changes, fingerprint)
}

// RefuseMachine refuses an action of a kind to a machine, when that waits for a second person: a machine is no person.
func (s *Confirmations) RefuseMachine(ctx context.Context, kind string) error {
	on, err := s.On(ctx, kind)
	if err == nil && on {
		err = machineRefused(kind)
	}
	return err
}

func machineRefused(kind string) error {
	return &registry.Error{Code: registry.CodeSecondPerson, Message: i18n.M("confirm.no-machine", i18n.Word("confirm.kind", kind))}
}

// try does an action and undoes it: its error is why it cannot be done.
func (s *Confirmations) try(ctx context.Context, do func(context.Context) error) error {
	ctx, tried := s.cfg.DB.Operation(ctx, func(*store.Tx) error { return nil })
	defer tried.Rollback()
	return do(ctx)
}

// still does an action that is confirmed, when it is about what it was asked for.
func (s *Confirmations) still(ctx context.Context, row store.Confirmation, ask registry.Ask, do func(context.Context) error) error {
	if ask.Lock != "" {
		if err := s.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.Lock(ctx, ask.Lock, row.ObjectID) }); err != nil {
			return err
		}
	}
	_, fingerprint, err := ask.Describe(ctx)
	if err != nil {
		return err
	}
	if fingerprint != row.Fingerprint {
		return staleError{"confirm.stale-changed"}
	}
	return do(ctx)
}

// Confirm does an action that waits. When it cannot be done as it was asked, it becomes stale and the error is an *Error of CodeConflict.
func (s *Confirmations) Confirm(ctx context.Context, actor registry.Actor, id string) error {
	row, err := s.Get(ctx, actor, id)
	if err != nil {
		return err
	}
	do := s.actions[row.Action]
	if do == nil {
		return registry.Conflict("confirm.unknown-action")
	}
	within, decision := s.cfg.DB.Operation(ctx, func(tx *store.Tx) error { return s.decide(ctx, tx, actor, &row, store.ConfirmationConfirmed, "") })
	defer decision.Rollback()
	// The decision comes first, so that of two who confirm at the same time one acts.
	if err := s.cfg.DB.Write(within, func(*store.Tx) error { return nil }); err != nil {
		return s.orStale(ctx, actor, id, err, true)
	}
	err = do(context.WithValue(within, confirmingKey{}, confirming{&row}), actor, row)
	if err == nil {
		err = decision.Commit(func(*store.Tx) error { return nil })
	}
	decision.Rollback()
	return s.orStale(ctx, actor, id, err, false)
}

// orStale makes an action stale when err says that it cannot be done as it was asked. A refusal of the decision itself leaves it as it was.
func (s *Confirmations) orStale(ctx context.Context, actor registry.Actor, id string, err error, ofDecision bool) error {
	why := i18n.Message("")
	stale, isStale := errors.AsType[staleError](err)
	refused, isRefused := errors.AsType[*registry.Error](err)
	explained, isExplained := errors.AsType[registry.Explained](err)
	switch {
	case isStale:
		why = stale.why
	case ofDecision:
		return err
	case isRefused:
		why = refused.Message
		for _, text := range refused.Fields {
			why = text
		}
	case isExplained:
		why = explained.Message
	case errors.Is(err, store.ErrNotFound):
		why = "confirm.stale-gone"
	case errors.Is(err, store.ErrConflict):
		why = "confirm.stale-changed"
	default:
		return err
	}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := registry.Locked(ctx, tx, "confirmation", "confirmation", id, tx.Confirmation)
		if err != nil {
			return err
		}
		row.Status, row.Outcome = store.ConfirmationStale, string(why)
		return s.decided(ctx, tx, actor, &row)
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return registry.Conflict("confirm.stale", why)
}

// Decline refuses an action that waits, as a second person.
func (s *Confirmations) Decline(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := registry.CheckReason(reason, true); err != nil {
		return err
	}
	return s.settle(ctx, actor, id, store.ConfirmationDeclined, strings.TrimSpace(reason))
}

// Withdraw takes back an action that waits, by who asked.
func (s *Confirmations) Withdraw(ctx context.Context, actor registry.Actor, id string) error {
	return s.settle(ctx, actor, id, store.ConfirmationWithdrawn, "")
}

func (s *Confirmations) settle(ctx context.Context, actor registry.Actor, id, status, reason string) error {
	row, err := s.Get(ctx, actor, id)
	if err != nil {
		return err
	}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error { return s.decide(ctx, tx, actor, &row, status, reason) })
	if stale, ok := errors.AsType[staleError](err); ok {
		return registry.Conflict("confirm.stale", stale.why)
	}
	return err
}
