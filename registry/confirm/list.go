package confirm

import (
	"context"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Get finds an action that waits or waited, for the people of the organisation.
func (s *Confirmations) Get(ctx context.Context, actor registry.Actor, id string) (store.Confirmation, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Confirmation{}, err
	}
	row, err := s.cfg.DB.Confirmation(ctx, id)
	if err == nil {
		row.Status = s.stateAt(row, store.At(s.cfg.Now()))
	}
	return row, registry.Found("confirmation", err)
}

// stateAt is the state of an action at a moment: it has expired before anybody writes that.
func (s *Confirmations) stateAt(row store.Confirmation, now store.Time) string {
	if row.Status == store.ConfirmationWaiting && !row.WaitsAt(now) {
		return store.ConfirmationExpired
	}
	return row.Status
}

// List lists actions that wait or waited, newest first, with their total count.
func (s *Confirmations) List(ctx context.Context, actor registry.Actor, f store.ConfirmationFilter) ([]store.Confirmation, int, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, 0, err
	}
	f.Now = store.At(s.cfg.Now())
	rows, total, err := s.cfg.DB.Confirmations(ctx, f)
	for i := range rows {
		rows[i].Status = s.stateAt(rows[i], f.Now)
	}
	return rows, total, registry.Wrap("list what waits for a second person", err)
}

// Waiting lists what waits about objects, given by kind and ids; without ids about any of the kind.
func (s *Confirmations) Waiting(ctx context.Context, kind string, ids ...string) ([]store.Confirmation, error) {
	rows, _, err := s.cfg.DB.Confirmations(ctx, store.ConfirmationFilter{
		Status: store.ConfirmationWaiting, ObjectKinds: []string{kind}, ObjectIDs: ids, Now: store.At(s.cfg.Now()), Page: store.Page{Number: 1, Size: 10},
	})
	return rows, registry.Wrap("list what waits for a second person", err)
}

// WhyNot gives the reason why somebody cannot confirm or decline an action that waits; empty when it can be done.
func (s *Confirmations) WhyNot(ctx context.Context, actor registry.Actor, row store.Confirmation) (i18n.Message, error) {
	err := s.second(ctx, &s.cfg.DB.Queries, actor, row, false)
	if refused, ok := err.(*registry.Error); ok {
		return refused.Message, nil
	}
	return "", err
}

// People lists the names of who can confirm an action.
func (s *Confirmations) People(ctx context.Context, row store.Confirmation) ([]string, error) {
	people, err := s.seconds(ctx, &s.cfg.DB.Queries, row)
	var names []string
	for _, a := range people {
		names = append(names, a.Name)
	}
	return names, err
}

// seconds lists the accounts that can confirm an action.
func (s *Confirmations) seconds(ctx context.Context, q *store.Queries, row store.Confirmation) ([]store.Account, error) {
	accounts, err := q.Accounts(ctx, "")
	if err != nil {
		return nil, registry.Wrap("list people", err)
	}
	var people []store.Account
	for _, a := range accounts {
		if a.Status != store.AccountActive || !registry.Allows(a.Role, registry.ConfirmationNeeds(row.Kind)) {
			continue
		}
		same, err := samePerson(ctx, q, a, row)
		if err != nil {
			return nil, err
		}
		if !same {
			people = append(people, a)
		}
	}
	return people, nil
}

// EnoughPeople reports whether two different people can take actions of a kind, so that what waits can be confirmed.
func EnoughPeople(ctx context.Context, q *store.Queries, kind string) (bool, error) {
	emails, err := registry.PeopleAllowed(ctx, q, registry.ConfirmationNeeds(kind))
	for _, email := range emails {
		if mailbox(email) != mailbox(emails[0]) {
			return true, err
		}
	}
	return false, err
}

// mailAsked mails everybody who can confirm an action.
func (s *Confirmations) mailAsked(ctx context.Context, tx *store.Tx, row store.Confirmation) error {
	people, err := s.seconds(ctx, &tx.Queries, row)
	if err != nil {
		return err
	}
	letter := s.cfg.Letter(i18n.M("confirm.mail.asked-subject", row.AskedName), Path(row.ID), i18n.M("confirm.mail.asked", row.AskedName)).
		Lines(bullets(row)...).Lines(registry.Because(row.Reason)).Lines("confirm.mail.asked-advice")
	for _, a := range people {
		if err := s.cfg.Mail(ctx, tx, a.Email, letter); err != nil {
			return err
		}
	}
	return nil
}

// mailDecided mails who asked what became of it.
func (s *Confirmations) mailDecided(ctx context.Context, tx *store.Tx, row store.Confirmation) error {
	state := i18n.Word("confirm.state", row.Status)
	letter := s.cfg.Letter(i18n.M("confirm.mail.decided-subject", state), Path(row.ID), s.outcome(row)).
		Lines(bullets(row)...).Lines(registry.Because(row.Outcome))
	return s.cfg.Mail(ctx, tx, row.AskedEmail, letter)
}

func (s *Confirmations) outcome(row store.Confirmation) i18n.Message {
	switch row.Status {
	case store.ConfirmationConfirmed:
		return i18n.M("confirm.mail.confirmed", row.DecidedName)
	case store.ConfirmationDeclined:
		return i18n.M("confirm.mail.declined", row.DecidedName)
	case store.ConfirmationStale:
		return "confirm.mail.stale"
	}
	return "confirm.mail.expired"
}

func bullets(row store.Confirmation) []i18n.Message {
	lines := make([]i18n.Message, len(row.Changes))
	for i, change := range row.Changes {
		lines[i] = registry.Bullet(i18n.Message(change))
	}
	return lines
}

// Path is the address of the page about an action that waits.
func Path(id string) string { return "/admin/confirmations/" + id }
