package partners

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
)

// maxFlows bounds the flows that are listed at once.
const maxFlows = 5_000

// Flow is an event type on its way from a partner that may publish it now to a subscription that gets it, as intake and the engine
// decide. Filters of the subscription are not looked at.
type Flow struct {
	From            store.Partner // without an id when nobody may publish the type
	Schakel         bool          // this program publishes it by itself
	EventType       string
	ContractID      string // empty when the catalogue does not have the type any more
	ContractVersion string // the newest that the subscription gets
	SubscriptionID  string
	To              store.Partner // its id, its name, and whether it is the own organisation
	EndpointID      string
	Sending         bool // attempts may start; else events are kept and wait
}

// Flows lists who sends what to whom, for administrators: for each event type of each subscription that accepts events a flow from
// each partner whose events of the type pass (guarantee G3), or one from nobody. more is set when there are more than are listed.
func (s *Subscriptions) Flows(ctx context.Context, actor registry.Actor) (flows []Flow, more bool, err error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, false, err
	}
	targets, err := s.cfg.DB.FanoutTargets(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list subscriptions: %w", err)
	}
	routes, err := s.cfg.DB.Routes(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list routes: %w", err)
	}
	var names []string
	for _, t := range targets { // which are sorted by type
		if len(names) == 0 || names[len(names)-1] != t.EventType {
			names = append(names, t.EventType)
		}
	}
	all, err := s.cfg.DB.EventTypeVersions(ctx, names...)
	if err != nil {
		return nil, false, fmt.Errorf("list event types: %w", err)
	}
	senders, err := s.senders(ctx)
	if err != nil {
		return nil, false, err
	}
	own, err := s.cfg.DB.OwnPartner(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("find own organisation: %w", err)
	}
	versions := make(map[string][]store.EventType)
	for _, v := range all {
		versions[v.Name] = append(versions[v.Name], v)
	}
	receivers := make([]string, 0, len(targets))
	for _, t := range targets[:min(maxFlows, len(targets))] {
		receivers = append(receivers, t.PartnerID)
	}
	slices.Sort(receivers)
	named, err := s.cfg.DB.PartnerNames(ctx, slices.Compact(receivers))
	if err != nil {
		return nil, false, err
	}
	passages, publishers := store.NewPassages(routes), map[string][]store.Partner{}
	for _, t := range targets {
		if len(flows) >= maxFlows {
			return flows, true, nil
		}
		to := store.Partner{ID: t.PartnerID, Name: named[t.PartnerID], Own: t.PartnerID == own.ID}
		f := Flow{EventType: t.EventType, SubscriptionID: t.SubscriptionID, To: to, EndpointID: t.EndpointID, Sending: t.Sending}
		for _, v := range versions[t.EventType] {
			if store.FitsLine(v.ContractVersion, t.Version) {
				f.ContractID, f.ContractVersion = v.ContractID, v.ContractVersion
				break
			}
		}
		if _, known := publishers[t.EventType]; !known {
			publishers[t.EventType] = s.publishersOf(senders, t.EventType)
		}
		before := len(flows)
		if s.ownDocument(f.ContractID) {
			f.From, f.Schakel = own, true
			flows = append(flows, f)
			f.Schakel = false
		}
		for _, from := range publishers[t.EventType] {
			if passages.May(from.ID, from.Own, to.ID, to.Own, t.EventType) {
				f.From = from
				flows = append(flows, f)
			}
		}
		if len(flows) == before {
			flows = append(flows, f)
		}
	}
	return flows, false, nil
}

// publishersOf lists the partners that may publish a type now, by name.
func (s *Subscriptions) publishersOf(senders []*sender, eventType string) []store.Partner {
	list := []store.Partner{}
	for _, from := range senders {
		if len(s.sources(from, eventType)) > 0 {
			list = append(list, from.partner)
		}
	}
	sorted.By(list, func(a, b store.Partner) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	return list
}
