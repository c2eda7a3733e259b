package partners

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Grant lists exactly what an approval of a subscription would give.
type Grant struct {
	Subscription store.Subscription
	Partner      store.Partner
	Endpoint     store.Endpoint
	Host         string // where events would be sent
	Types        []GrantType
	Sources      []GrantSource
	Dataset      *GrantDataset // nil for a subscription to event types
}

// Seen stands for what is asked for, to send along with an approval.
func (g Grant) Seen() string {
	asked := []any{g.Subscription.Types, g.Subscription.Versions, g.Subscription.Filters}
	if g.Dataset != nil {
		asked = append(asked, g.Dataset.Follower.AreaID, g.Dataset.Follower.ObjectTypes)
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

// Recent lists the newest events on which a partner can try the filters of a subscription to these types, in the lines of
// versions given for them (none is every version), without their data; those in another line are among them. It shows no
// more than the partner was granted: events of types and lines it has an approved subscription to, accepted since that
// approval, of the own organisation or along a route (guarantees G2, G3), and for it when they are for some partners.
// Filters on anything else would disclose what an administrator has not approved. Withheld lists the types it has no such
// subscription to. The own organisation may try them on every event.
func (s *Subscriptions) Recent(ctx context.Context, partner store.Partner, types []string, lines map[string]string, limit int) (events []store.Event, withheld []string, err error) {
	origins := []store.EventOrigin{{Types: types}}
	var grants map[string][]granted
	if !partner.Own {
		if grants, err = s.grants(ctx, partner.ID); err != nil {
			return nil, nil, err
		}
		if origins, withheld, err = s.grantedOrigins(ctx, partner.ID, types, lines, grants); err != nil {
			return nil, nil, err
		}
	}
	if events, err = s.cfg.DB.RecentEvents(ctx, origins, limit); err != nil {
		return nil, nil, fmt.Errorf("list recent events: %w", err)
	}
	if !partner.Own {
		events = slices.DeleteFunc(events, func(e store.Event) bool { return !covered(grants[e.CEType], e) })
	}
	return events, withheld, nil
}

// grantedOrigins lists the publishers from whom a partner gets these types, and since when.
func (s *Subscriptions) grantedOrigins(ctx context.Context, partnerID string, types []string, lines map[string]string,
	grants map[string][]granted,
) (origins []store.EventOrigin, withheld []string, err error) {
	own, err := s.cfg.DB.OwnPartner(ctx)
	if err != nil {
		return nil, nil, registry.Found("own organisation", err)
	}
	routes, err := s.cfg.DB.Routes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list routes: %w", err)
	}
	for _, name := range types {
		from, gets := concerning(grants[name], lines[name])
		if !gets {
			withheld = append(withheld, name)
			continue
		}
		origins = addOrigin(origins, store.EventOrigin{PartnerID: own.ID, Since: from, For: partnerID}, name)
		for _, r := range routes {
			if r.ToPartnerID == partnerID && r.EventType == name {
				origins = addOrigin(origins, store.EventOrigin{PartnerID: r.FromPartnerID, Since: from, For: partnerID}, name)
			}
		}
	}
	return origins, withheld, nil
}

// addOrigin keeps types of one sender and one moment together.
func addOrigin(origins []store.EventOrigin, of store.EventOrigin, name string) []store.EventOrigin {
	i := slices.IndexFunc(origins, func(o store.EventOrigin) bool { return o.PartnerID == of.PartnerID && o.Since.Equal(of.Since.Time) })
	if i < 0 {
		of.Types = []string{name}
		return append(origins, of)
	}
	origins[i].Types = append(origins[i].Types, name)
	return origins
}

// granted is that a partner gets an event type in one line of versions, or in all when it is empty, since a moment.
type granted struct {
	line  string
	since store.Time
}

// grants lists by event type the lines in which a partner gets it, and since when.
func (s *Subscriptions) grants(ctx context.Context, partnerID string) (map[string][]granted, error) {
	all := map[string][]granted{}
	f := store.SubscriptionFilter{PartnerID: partnerID}
	for f.Page = (store.Page{Number: 1, Size: 500}); ; f.Number++ {
		subs, total, err := s.cfg.DB.Subscriptions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list subscriptions: %w", err)
		}
		for _, sub := range subs {
			if !sub.Accepting {
				continue
			}
			for _, name := range sub.Types {
				all[name] = append(all[name], granted{sub.Versions[name], sub.DecidedAt})
			}
		}
		if f.Number*f.Size >= total {
			return all, nil
		}
	}
}

// covered reports whether any of these grants lets an event through.
func covered(grants []granted, e store.Event) bool {
	return slices.ContainsFunc(grants, func(g granted) bool {
		return !e.AcceptedAt.Before(g.since.Time) && store.FitsLine(e.ContractVersions, g.line)
	})
}

// concerning are the grants that an event of a wanted line can come by, and since when; every line is wanted when it is empty.
func concerning(grants []granted, wanted string) (since store.Time, any bool) {
	for _, g := range grants {
		if wanted != "" && g.line != "" && g.line != wanted {
			continue
		}
		if !any || g.since.Before(since.Time) {
			since, any = g.since, true
		}
	}
	return since, any
}
