package amqp

import (
	"context"
	"net/url"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// orphanWarnings warn of processes whose messages nobody would get, of one party unless partyID is empty.
func (p *Pages) orphanWarnings(ctx context.Context, scope registry.Scope, partyID string) ([]ui.Named, error) {
	orphans, err := p.Registry.AMQP.Orphans(ctx, scope)
	if err != nil {
		return nil, err
	}
	var list []ui.Named
	for _, one := range orphans {
		if partyID != "" && one.PartyID != partyID {
			continue
		}
		list = append(list, ui.Named{
			Name: one.Name + " with " + one.Party + " (" + one.Receives + ")",
			Href: "/admin/amqp/parties/" + url.PathEscape(one.PartyID) + "/processes/" + url.PathEscape(one.ID),
		})
	}
	return list, nil
}

// OrphanedBy lists the processes that have no recipient while this subscription does not accept events.
func (p *Pages) OrphanedBy(ctx context.Context, sub store.Subscription) ([]ui.Named, error) {
	if sub.Accepting || len(sub.Types) == 0 {
		return nil, nil
	}
	orphans, err := p.Registry.AMQP.Orphans(ctx, registry.Scope{All: true})
	if err != nil {
		return nil, err
	}
	var list []ui.Named
	for _, one := range orphans {
		for _, name := range sub.Types {
			if one.Receives == name {
				list = append(list, ui.Named{Name: one.Name + " with " + one.Party, Href: "/admin/amqp/parties/" + url.PathEscape(one.PartyID)})
			}
		}
	}
	return list, nil
}
