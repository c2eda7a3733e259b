package partners

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

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

// GrantType is one event type of a grant. Type is empty but for its name when
// the catalogue does not have it any more.
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
