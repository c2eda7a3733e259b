package confirm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// store keeps an action until it is confirmed, and mails who can do that. When the same action on the same object waits already, that is it.
func (s *Confirmations) store(ctx context.Context, actor registry.Actor, ask registry.Ask, changes []i18n.Message, fingerprint string) error {
	args, err := json.Marshal(ask.Args)
	if err != nil {
		return fmt.Errorf("keep what was asked: %w", err)
	}
	p, err := s.profile(ctx)
	if err != nil {
		return err
	}
	waits := &registry.Waits{Text: "confirm.asked"}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.expire(ctx, tx); err != nil {
			return err
		}
		account, err := tx.Account(ctx, actor.ID)
		if err != nil {
			return registry.Found("account", err)
		}
		row := ask.Object.Confirmation()
		row.Kind, row.Action, row.Args, row.Fingerprint = ask.Kind, ask.Action, string(args), fingerprint
		row.AskedBy, row.AskedName, row.AskedEmail = actor.ID, actor.Name, account.Email
		row.ExpiresAt = store.At(tx.Now.Add(p.ConfirmationAge))
		if row.Reason = strings.TrimSpace(ask.Reason); row.Reason == "" {
			row.Reason = strings.TrimSpace(registry.ReasonOf(ctx))
		}
		for _, change := range changes {
			row.Changes = append(row.Changes, string(change))
		}
		other, err := tx.WaitingConfirmation(ctx, row.Action, row.ObjectID, tx.Now)
		if err == nil {
			waits.ID, waits.Text = other.ID, i18n.M("confirm.asked-before", other.AskedName)
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("look what waits: %w", err)
		}
		if err := tx.InsertConfirmation(ctx, &row); err != nil {
			return fmt.Errorf("keep what was asked: %w", err)
		}
		waits.ID = row.ID
		if err := registry.Record(ctx, tx, actor, registry.ActionConfirmationAsked, objectOf(row), detailsOf(row)); err != nil {
			return err
		}
		return s.mailAsked(ctx, tx, row)
	})
	if errors.Is(err, store.ErrConflict) {
		return registry.Conflict("confirm.asked-at-once")
	}
	if err != nil {
		return err
	}
	return waits
}

// decide writes a decision about an action that waits, when the actor may take it.
func (s *Confirmations) decide(ctx context.Context, tx *store.Tx, actor registry.Actor, row *store.Confirmation, status, reason string) error {
	fresh, err := registry.Locked(ctx, tx, "confirmation", "confirmation", row.ID, tx.Confirmation)
	if err != nil {
		return err
	}
	*row = fresh
	if !row.WaitsAt(tx.Now) {
		return registry.Conflict("confirm.over", i18n.Word("confirm.state", s.stateAt(*row, tx.Now)))
	}
	if status == store.ConfirmationWithdrawn {
		if row.AskedBy != actor.ID {
			return registry.Forbidden("confirm.not-yours")
		}
	} else if err := s.second(ctx, &tx.Queries, actor, *row, status == store.ConfirmationConfirmed); err != nil {
		return err
	}
	row.Status, row.Outcome = status, reason
	return s.decided(ctx, tx, actor, row)
}

// second refuses who is not a second person for an action, and makes it stale when who asked may not do it any more.
func (s *Confirmations) second(ctx context.Context, q *store.Queries, actor registry.Actor, row store.Confirmation, confirms bool) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	if actor.Kind != registry.ActorAccount {
		return registry.Forbidden("confirm.no-account")
	}
	if err := actor.Require(registry.ConfirmationNeeds(row.Kind)); err != nil {
		return err
	}
	account, err := q.Account(ctx, actor.ID)
	if err != nil {
		return registry.Found("account", err)
	}
	same, err := samePerson(ctx, q, account, row)
	if err != nil {
		return err
	}
	if same {
		return registry.Forbidden("confirm.own")
	}
	if !confirms {
		return nil
	}
	asked, err := q.Account(ctx, row.AskedBy)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find who asked: %w", err)
	}
	if err != nil || asked.Status != store.AccountActive || !registry.Allows(asked.Role, registry.ConfirmationNeeds(row.Kind)) {
		return staleError{i18n.M("confirm.stale-person", row.AskedName)}
	}
	return nil
}

// samePerson reports whether an account is of who asked, as far as accounts tell. What issuers call people is compared across issuers: the
// same subject at two of them is rather one person with two logins than two persons.
func samePerson(ctx context.Context, q *store.Queries, account store.Account, row store.Confirmation) (bool, error) {
	if account.ID == row.AskedBy || mailbox(account.Email) == mailbox(row.AskedEmail) {
		return true, nil
	}
	if asked, err := q.Account(ctx, row.AskedBy); err == nil && mailbox(account.Email) == mailbox(asked.Email) {
		return true, nil
	}
	mine, err := q.AccountSubjects(ctx, account.ID)
	if err != nil || len(mine) == 0 {
		return false, registry.Wrap("read what issuers call people", err)
	}
	theirs, err := q.AccountSubjects(ctx, row.AskedBy)
	same := slices.ContainsFunc(mine, func(subject string) bool { return slices.Contains(theirs, subject) })
	return same, registry.Wrap("read what issuers call people", err)
}

// mailbox is an address without what follows a plus sign in its name: most mail servers deliver both to one person.
func mailbox(email string) string {
	name, domain, _ := strings.Cut(registry.CleanEmail(email), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + domain
}

// decided writes what became of an action, and mails who asked.
func (s *Confirmations) decided(ctx context.Context, tx *store.Tx, actor registry.Actor, row *store.Confirmation) error {
	row.DecidedBy, row.DecidedName = actor.ID, actor.Name
	if err := tx.DecideConfirmation(ctx, row); err != nil {
		return fmt.Errorf("decide about what waits: %w", err)
	}
	action := map[string]string{
		store.ConfirmationConfirmed: registry.ActionConfirmationConfirmed, store.ConfirmationDeclined: registry.ActionConfirmationDeclined,
		store.ConfirmationWithdrawn: registry.ActionConfirmationWithdrawn, store.ConfirmationStale: registry.ActionConfirmationStale,
		store.ConfirmationExpired: registry.ActionConfirmationExpired,
	}[row.Status]
	details := detailsOf(*row)
	details["reason"] = row.Outcome
	if err := registry.Record(ctx, tx, actor, action, objectOf(*row), details); err != nil {
		return err
	}
	if row.Status == store.ConfirmationWithdrawn {
		return nil
	}
	return s.mailDecided(ctx, tx, *row)
}

// ExpireDue ends what waited for too long, and mails who asked for it.
func (s *Confirmations) ExpireDue(ctx context.Context) error {
	due, err := s.cfg.DB.HasExpiredConfirmations(ctx, store.At(s.cfg.Now()))
	if err != nil || !due {
		return registry.Wrap("look what waited too long", err)
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error { return s.expire(ctx, tx) })
}

func (s *Confirmations) expire(ctx context.Context, tx *store.Tx) error {
	rows, err := tx.ExpireConfirmations(ctx)
	if err != nil {
		return fmt.Errorf("end what waited too long: %w", err)
	}
	for _, row := range rows {
		if err := registry.Record(ctx, tx, registry.SystemActor(), registry.ActionConfirmationExpired, objectOf(row), detailsOf(row)); err != nil {
			return err
		}
		if err := s.mailDecided(ctx, tx, row); err != nil {
			return err
		}
	}
	return nil
}

func objectOf(c store.Confirmation) registry.Object {
	return registry.ObjectOf(c.ObjectKind, c.ObjectID, c.ObjectName, "") // what waits is not told to partners
}

func detailsOf(c store.Confirmation) registry.Details {
	return registry.Details{"confirmation": c.ID, "action": c.Action, "changes": []string(c.Changes), "from": c.AskedName, "reason": c.Reason}
}
