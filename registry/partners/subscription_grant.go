package partners

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/sorted"
	"schakel/store"
)

// Grant lists exactly what an approval of a subscription would give.
type Grant struct {
	Subscription store.Subscription
	Partner      store.Partner
	Endpoint     store.Endpoint
	Host         string           // where events would be sent
	Party        *store.AMQPParty // whose queues they would be sent to; nil where the endpoint has none
	Types        []GrantType
	Sources      []GrantSource
	Dataset      *GrantDataset // nil for a subscription to event types
}

// Seen stands for what is asked for and where it would be sent, to send along with an approval.
func (g Grant) Seen() string {
	asked := []any{g.Subscription.Types, g.Subscription.Versions, g.Subscription.Filters, g.Endpoint.URL, g.Endpoint.TokenURL}
	if g.Dataset != nil {
		asked = append(asked, g.Dataset.Follower.AreaID, g.Dataset.Follower.ObjectTypes)
	}
	if p := g.Party; p != nil {
		asked = append(asked, p.BrokerID, p.HerID, p.AsyncQueue, p.SyncQueue, p.ErrorQueue)
	}
	text, _ := json.Marshal(asked) // texts cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// GrantDataset holds the part of a dataset that would be given.
type GrantDataset struct {
	Dataset  store.Dataset
	Follower store.MutationFollower
	Area     *store.MutationArea // nil: everything
}

// GrantType is one event type of a grant. Type is empty but for its name when the catalogue does not have it any more.
type GrantType struct {
	Type           store.EventType // as the newest version says that it gets
	Line           string          // of versions that it gets; empty for all (EDU-08)
	ContractTitle  string
	Classification string
	Known          bool
}

// GrantSource names a publisher of these types now, and its source.
type GrantSource struct {
	PartnerName string
	Own         bool
	Type        string
	Client      string // the client that publishes; empty for what comes another way
	ClientID    string
	Source      string // as allowed: one, or a prefix and a star; or AnySource, OverAMQP or BySchakel
}

// Grant lists what an approval of a subscription would give.
func (s *Subscriptions) Grant(ctx context.Context, scope registry.Scope, id string) (Grant, error) {
	sub, err := s.Get(ctx, scope, id)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{Subscription: sub}
	if g.Partner, err = s.cfg.DB.Partner(ctx, sub.PartnerID); err != nil {
		return Grant{}, registry.Found("partner", err)
	}
	if g.Endpoint, err = s.cfg.DB.Endpoint(ctx, sub.EndpointID); err != nil {
		return Grant{}, registry.Found("endpoint", err)
	}
	g.Host = EndpointHost(g.Endpoint)
	if g.Party, err = partyOf(ctx, &s.cfg.DB.Queries, g.Endpoint); err != nil {
		return Grant{}, err
	}
	if sub.DatasetID != "" {
		g.Dataset, err = s.grantDataset(ctx, sub)
		return g, err
	}
	for _, name := range sub.Types {
		t, err := s.grantType(ctx, name, sub.Versions[name])
		if err != nil {
			return Grant{}, err
		}
		g.Types = append(g.Types, t)
	}
	if !scope.All {
		return g, nil // who else publishes is the administrator's to know
	}
	g.Sources, err = s.grantSources(ctx, g)
	return g, err
}

// partyOf finds the party whose queues an endpoint sends to; nil for one without.
func partyOf(ctx context.Context, q *store.Queries, e store.Endpoint) (*store.AMQPParty, error) {
	if e.Kind != store.EndpointAMQP {
		return nil, nil
	}
	party, err := q.AMQPPartyByEndpoint(ctx, e.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &party, registry.Wrap("find party of endpoint", err)
}

func (s *Subscriptions) grantDataset(ctx context.Context, sub store.Subscription) (*GrantDataset, error) {
	row, err := s.cfg.DB.Dataset(ctx, sub.DatasetID)
	if err != nil {
		return nil, registry.Found("dataset", err)
	}
	f, err := registry.FollowerOf(ctx, &s.cfg.DB.Queries, sub)
	return &GrantDataset{Dataset: row, Follower: f.Follower, Area: f.Area}, err
}

func (s *Subscriptions) grantType(ctx context.Context, name, line string) (GrantType, error) {
	versions, err := s.cfg.DB.EventTypeVersions(ctx, name)
	if err != nil {
		return GrantType{}, fmt.Errorf("find event type: %w", err)
	}
	versions = slices.DeleteFunc(versions, func(v store.EventType) bool { return !store.FitsLine(v.ContractVersion, line) })
	if len(versions) == 0 {
		return GrantType{Type: store.EventType{Name: name}, Line: line}, nil
	}
	t := versions[0]
	c, err := s.cfg.DB.Contract(ctx, t.ContractID)
	if err != nil {
		return GrantType{}, registry.Found("contract", err)
	}
	return GrantType{Type: t, ContractTitle: c.Title, Classification: c.Classification, Known: true, Line: line}, nil
}

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
			list = append(list, s.sources(sender, name)...)
		}
	}
	for _, t := range g.Types {
		if s.ownDocument(t.Type.ContractID) {
			list = append(list, GrantSource{PartnerName: s.cfg.Organisation, Own: true, Type: t.Type.Name, Source: BySchakel})
		}
	}
	sorted.By(list, func(a, b GrantSource) int {
		key := func(s GrantSource) string {
			return strings.Join([]string{s.Type, s.PartnerName, s.Client, s.ClientID, s.Source}, " ")
		}
		return strings.Compare(key(a), key(b))
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

func (s *Subscriptions) sources(from *sender, eventType string) (list []GrantSource) {
	add := func(c store.Client, sources ...string) {
		for _, source := range sources {
			list = append(list, GrantSource{
				PartnerName: from.partner.Name, Own: from.partner.Own, Type: eventType, Client: c.Name, ClientID: c.ID, Source: source,
			})
		}
	}
	for _, c := range from.clients {
		switch {
		case s.mayPublish(c, eventType) != nil:
		case from.bound:
			add(c, c.PublishSources...)
		default:
			add(c, AnySource)
		}
	}
	if slices.Contains(from.byAMQP, eventType) {
		add(store.Client{}, OverAMQP)
	}
	return list
}

// RouteSources lists from whom events of a type would come along a route, open or not.
func (s *Subscriptions) RouteSources(ctx context.Context, actor registry.Actor, r store.Route) ([]GrantSource, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	senders, err := s.senders(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(senders, func(from *sender) bool { return from.partner.ID == r.FromPartnerID })
	if i < 0 {
		return nil, nil
	}
	return s.sources(senders[i], r.EventType), nil
}
