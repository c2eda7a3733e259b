package mandate

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ErrUnknown is the error while the register cannot be asked and the operator did not choose to go on without: answer 503.
var ErrUnknown = errors.New("the register of mandates cannot be asked now")

// maxShown bounds the answers about one intermediary on a page.
const maxShown = 100

// RecipientAttribute implements registry.Mandates.
func (c *Checker) RecipientAttribute() string { return c.cfg.Attribute }

// MaySend implements registry.Mandates. The own organisation may: it relays for the whole chain.
func (c *Checker) MaySend(ctx context.Context, sender store.Partner, eventType, source string) error {
	oin, ok := registry.OINIn(source)
	service, asked := c.serviceOf(eventType)
	if !ok || !asked || sender.Own || registry.IsOINOf(oin, sender) {
		return nil
	}
	if sender.OIN == "" {
		return &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("identity.mandate-no-oin", oin)}
	}
	m, err := c.ask(ctx, sender.OIN, oin, service)
	switch {
	case err != nil:
		return err
	case m.Mandated:
		return nil
	case m.Unknown:
		return ErrUnknown
	}
	return &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("identity.mandate-missing", oin, sender.Name, service)}
}

// AudienceOf implements registry.Mandates. Who subscribes later gets none of the event, also not by a replay.
func (c *Checker) AudienceOf(ctx context.Context, eventType, recipient string) (store.Audience, error) {
	oin, ok := registry.OINIn(recipient)
	service, asked := c.serviceOf(eventType)
	if !ok || !asked {
		return "", nil
	}
	subscribers, err := c.cfg.DB.SubscribersOf(ctx, eventType)
	if err != nil {
		return "", fmt.Errorf("list subscribers: %w", err)
	}
	var allowed []string
	for _, p := range subscribers {
		switch {
		case registry.IsOINOf(oin, p):
			allowed = append(allowed, p.ID)
			continue
		case p.OIN == "":
			continue // nobody can have mandated it
		}
		m, err := c.ask(ctx, p.OIN, oin, service)
		switch {
		case err != nil:
			return "", err
		case m.Mandated:
			allowed = append(allowed, p.ID)
		case m.Unknown:
			return "", ErrUnknown
		}
	}
	return store.OnlyFor(allowed...), nil
}

// Last implements registry.Mandates.
func (c *Checker) Last(ctx context.Context, oin string) ([]registry.Mandate, error) {
	if oin == "" {
		return nil, nil
	}
	rows, err := c.cfg.DB.MandatesOf(ctx, oin, maxShown)
	var list []registry.Mandate
	for _, r := range rows {
		list = append(list, registry.Mandate{Service: r.Service, Organisation: r.Organisation, Mandated: r.Mandated, Asked: r.AskedAt.Time})
	}
	return list, registry.Wrap("list mandates", err)
}
