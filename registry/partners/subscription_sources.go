package partners

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Values of GrantSource.Source that are no source a client was granted.
const (
	AnySource = "any source"       // the profile does not bind sources to clients
	OverAMQP  = "messages by AMQP" // of a party
	BySchakel = "Schakel itself"
)

// grantSources lists from whom events of these types would go to the subscription now. It asks what intake asks of a client and
// what the engine asks of a partner (guarantee G3).
func (s *Subscriptions) grantSources(ctx context.Context, g Grant) ([]GrantSource, error) {
	routes, err := s.cfg.DB.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	senders, err := s.senders(ctx)
	if err != nil {
		return nil, err
	}
	passages := store.NewPassages(routes)
	var list []GrantSource
	for _, sender := range senders {
		for _, name := range g.Subscription.Types {
			if !passages.May(sender.partner.ID, sender.partner.Own, g.Partner.ID, g.Partner.Own, name) {
				continue
			}
			for _, source := range s.sources(sender, name) {
				list = append(list, GrantSource{PartnerName: sender.partner.Name, Own: sender.partner.Own, Type: name, Source: source})
			}
		}
	}
	for _, t := range g.Types {
		if s.ownDocument(t.Type.ContractID) {
			list = append(list, GrantSource{PartnerName: s.cfg.Organisation, Own: true, Type: t.Type.Name, Source: BySchakel})
		}
	}
	slices.SortFunc(list, func(a, b GrantSource) int {
		return strings.Compare(a.Type+" "+a.PartnerName+" "+a.Source, b.Type+" "+b.PartnerName+" "+b.Source)
	})
	return slices.Compact(list), nil
}

// ownDocument reports whether a contract describes what this program sends by itself.
func (s *Subscriptions) ownDocument(contractID string) bool {
	return slices.ContainsFunc(s.cfg.OwnDocuments, func(d registry.OwnDocument) bool { return d.ID == contractID })
}

// sender is a partner whose events are taken in now, with what it may send them by.
type sender struct {
	partner store.Partner
	clients []store.Client
	byAMQP  []string // event types of its processes
	bound   bool     // a client publishes from the sources alone that it was granted
}

// senders lists the approved partners with something to send events by.
func (s *Subscriptions) senders(ctx context.Context) ([]*sender, error) {
	state, err := s.profile.InForce(ctx)
	if err != nil {
		return nil, err
	}
	clients, err := s.cfg.DB.PublishingClients(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	receiving, err := s.cfg.DB.AMQPReceiving(ctx)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	byID := map[string]*sender{}
	of := func(partnerID string) *sender {
		if byID[partnerID] == nil {
			byID[partnerID] = &sender{bound: state.SourceBinding == registry.PolicyEnforce}
		}
		return byID[partnerID]
	}
	for _, c := range clients {
		of(c.PartnerID).clients = append(of(c.PartnerID).clients, c)
	}
	for _, r := range receiving {
		of(r.PartnerID).byAMQP = append(of(r.PartnerID).byAMQP, r.EventType)
	}
	var all []*sender
	for id, from := range byID {
		if from.partner, err = s.cfg.DB.Partner(ctx, id); err != nil {
			return nil, registry.Found("partner", err)
		}
		if from.partner.Status == store.PartnerApproved {
			all = append(all, from)
		}
	}
	return all, nil
}

// sources lists the sources of events of a type.
func (s *Subscriptions) sources(from *sender, eventType string) (list []string) {
	for _, c := range from.clients {
		switch {
		case s.mayPublish(c, eventType) != nil:
		case from.bound:
			list = append(list, c.PublishSources...)
		default:
			list = append(list, AnySource)
		}
	}
	if slices.Contains(from.byAMQP, eventType) {
		list = append(list, OverAMQP)
	}
	return list
}
