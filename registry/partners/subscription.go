package partners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Subscriptions are the wishes of partners to get event types, or what changes in a dataset, at an endpoint.
type Subscriptions struct {
	cfg            registry.Config
	profile        registry.ProfileSource
	keepRecipients RecipientKeeper
	mayPublish     PublishRight
	readSetting    SettingReader
}

// PublishRight refuses the events of a type that a client may not publish now.
type PublishRight func(client store.Client, eventType string) error

// NewSubscriptions makes the service.
func NewSubscriptions(cfg registry.Config, profile registry.ProfileSource, keepRecipients RecipientKeeper, mayPublish PublishRight, readSetting SettingReader) *Subscriptions {
	return &Subscriptions{cfg, profile, keepRecipients, mayPublish, readSetting}
}

// SubscriptionRequest holds the request of a partner.
type SubscriptionRequest struct {
	Name       string // may be empty
	EndpointID string
	Types      []string
	Versions   map[string]string // by type the line of versions wanted, such as 1 or 1.x, or AnyVersion; the newest where it says none
	Purpose    string            // what the partner needs the data for
	Filters    string            // JSON list in the dialects of CloudEvents subscriptions (OPEN-11); empty for all events
	OrderBy    string            // context attribute by whose value events come in order (guarantee G5); empty for none
	Retry      RetryInput        // how it is retried (EDU-18)
	Encrypt    string            // whom its data is encrypted for, a JWK, a JWK set or the address of one; empty for nobody
	Dedupe     bool              // leave out events that it was handed before, by source and id (EDU-18b)
}

const maxSubscriptionTypes = 200

// Request asks for a subscription (EDU-13, EDU-14). It starts when an administrator approves it. An administrator may ask for any
// partner's endpoint. Fields: name, endpoint, types, versions, purpose, filters, orderBy, retryWaits, retryAttempts,
// retryDeadline, encryption.
func (s *Subscriptions) Request(ctx context.Context, actor registry.Actor, in SubscriptionRequest) (store.Subscription, error) {
	in.Name, in.Purpose, in.Types = strings.TrimSpace(in.Name), strings.TrimSpace(in.Purpose), registry.TidyList(in.Types)
	in.Filters, in.OrderBy = tidyFilters(in.Filters), strings.TrimSpace(in.OrderBy)
	set, err := s.profile.InForce(ctx)
	if err != nil {
		return store.Subscription{}, err
	}
	retry, wrong := in.Retry.read(*set, s.readSetting)
	maps.Copy(wrong, selectionProblems(s.cfg, in.Filters, in.OrderBy))
	in.Encrypt = s.checkRecipient(ctx, in.Encrypt, wrong)
	if err := in.check(wrong).Err(); err != nil {
		return store.Subscription{}, err
	}
	var sub store.Subscription
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		endpoint, partner, err := endpointFor(ctx, tx, actor, in.EndpointID)
		if err != nil {
			return err
		}
		if endpoint.Kind == store.EndpointFiles {
			return registry.Invalid(registry.Problems{"endpoint": i18n.M("partners.subscription.endpoint-files", endpoint.Name)})
		}
		if err := checkEncryptable(ctx, tx, endpoint, in.Encrypt); err != nil {
			return err
		}
		if err := checkTypes(ctx, tx, partner, in.Types); err != nil {
			return err
		}
		versions, err := settleVersions(ctx, &tx.Queries, in.Types, in.Versions)
		if err != nil {
			return err
		}
		if err := checkOthers(ctx, tx, endpoint, in.Types, versions); err != nil {
			return err
		}
		sub = store.Subscription{
			PartnerID: partner.ID, EndpointID: endpoint.ID, Name: in.Name, Purpose: in.Purpose,
			Filters: in.Filters, OrderBy: in.OrderBy, Dedupe: in.Dedupe, Retry: retry, Status: store.SubscriptionRequested,
			Types: in.Types, Versions: versions, Encrypt: in.Encrypt,
		}
		if sub.Encrypt != "" {
			sub.EncryptSeed = s.newSeed()
		}
		if err := tx.InsertSubscription(ctx, &sub); err != nil {
			return fmt.Errorf("add subscription: %w", err)
		}
		what := selectionDetails(sub, partner, endpoint)
		if err := registry.Record(ctx, tx, actor, registry.ActionSubscriptionRequested, subscriptionObject(sub), what); err != nil {
			return err
		}
		return s.cfg.MailAllowed(ctx, tx, registry.DecideApprovals, mailSubscriptionWaits(s.cfg, sub, partner, endpoint))
	})
	return sub, err
}

// check adds what is wrong with the rest of a request.
func (in SubscriptionRequest) check(wrong registry.Problems) registry.Problems {
	wrong.Add("name", registry.CheckLine(in.Name, 0, 120))
	wrong.Add("purpose", registry.CheckProse(in.Purpose, 3, 2000))
	switch {
	case len(in.Types) == 0:
		wrong.Add("types", "partners.subscription.choose-type")
	case len(in.Types) > maxSubscriptionTypes:
		wrong.Add("types", "partners.subscription.most-types")
	}
	wrong.AddIf(in.EndpointID == "", "endpoint", "partners.subscription.choose-endpoint")
	return wrong
}

// endpointFor finds an endpoint that a subscription of the actor can use, and its partner, who must be approved.
func endpointFor(ctx context.Context, tx *store.Tx, actor registry.Actor, id string) (endpoint store.Endpoint, partner store.Partner, err error) {
	if err := tx.Lock(ctx, "endpoint", id); err != nil {
		return endpoint, partner, endpointProblem(err)
	}
	if endpoint, err = tx.Endpoint(ctx, id); err != nil {
		return endpoint, partner, endpointProblem(err)
	}
	if !actor.Scope().Sees(endpoint.PartnerID) || endpoint.Status == store.EndpointEnded {
		return store.Endpoint{}, partner, endpointProblem(store.ErrNotFound)
	}
	if partner, err = tx.Partner(ctx, endpoint.PartnerID); err != nil {
		return endpoint, partner, registry.Found("partner", err)
	}
	return endpoint, partner, registry.RequireApproved(partner)
}

// endpointProblem makes an unknown endpoint a mistake in the form.
func endpointProblem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return registry.Invalid(registry.Problems{"endpoint": "partners.subscription.endpoint-gone"})
	}
	return registry.Found("endpoint", err)
}

// checkTypes wants types of the catalogue as the partner sees it.
func checkTypes(ctx context.Context, tx *store.Tx, partner store.Partner, types []string) error {
	reader := registry.ReaderOf(partner)
	for _, name := range types {
		t, err := tx.EventType(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find event type: %w", err)
		}
		seen, second := tx.SeesContract(ctx, reader.Sight(), t.ContractID)
		if second != nil {
			return fmt.Errorf("look who sees the event type: %w", second)
		}
		if err != nil || !seen {
			return registry.Invalid(registry.Problems{"types": i18n.M("partners.subscription.type-unknown", name)})
		}
	}
	return nil
}

// checkOthers wants types that the endpoint does not get already, at these versions.
func checkOthers(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, types []string, versions map[string]string) error {
	others, err := registry.OpenSubscriptions(ctx, &tx.Queries, store.SubscriptionFilter{EndpointID: endpoint.ID})
	if err != nil {
		return err
	}
	for _, other := range others {
		for _, name := range types {
			if slices.Contains(other.Types, name) && overlaps(other.Versions, versions, name) {
				return registry.Invalid(registry.Problems{"types": i18n.M("partners.subscription.type-twice", endpoint.Name, name)})
			}
		}
	}
	return nil
}

// Get finds a subscription within a scope.
func (s *Subscriptions) Get(ctx context.Context, scope registry.Scope, id string) (store.Subscription, error) {
	sub, err := s.cfg.DB.Subscription(ctx, id)
	return registry.Visible(scope, "subscription", sub, sub.PartnerID, err)
}

// List lists subscriptions within a scope, newest first, with their total count.
func (s *Subscriptions) List(ctx context.Context, scope registry.Scope, f store.SubscriptionFilter) ([]store.Subscription, int, error) {
	id, ok := scope.Narrow(f.PartnerID)
	if !ok {
		return nil, 0, nil
	}
	f.PartnerID = id
	rows, total, err := s.cfg.DB.Subscriptions(ctx, f)
	return rows, total, registry.Wrap("list subscriptions", err)
}

// Counts counts all subscriptions by status.
func (s *Subscriptions) Counts(ctx context.Context) (map[string]int, error) {
	counts, err := s.cfg.DB.CountSubscriptions(ctx)
	return counts, registry.Wrap("count subscriptions", err)
}

func subscriptionObject(s store.Subscription) registry.Object {
	return registry.ObjectOf("subscription", s.ID, s.Name, s.PartnerID)
}

func subscriptionDetails(s store.Subscription, p store.Partner, e store.Endpoint, reason string) registry.Details {
	d := registry.Details{"partner": p.Name, "endpoint": e.Name, "types": registry.SubscribedTo(s), "reason": reason}
	if len(s.Versions) > 0 {
		d["versions"] = s.Versions
	}
	return d
}

// Settled returns the lines of a subscription to these types, as settleVersions decides. Fields: versions.
func (s *Subscriptions) Settled(ctx context.Context, types []string, asked map[string]string) (map[string]string, error) {
	return settleVersions(ctx, &s.cfg.DB.Queries, types, asked)
}

// settleVersions decides at which line each type is subscribed to: as asked, or at the newest one. Nothing switches by
// itself after that (EDU-08). What is left out of the answer comes in every version.
func settleVersions(ctx context.Context, q *store.Queries, types []string, asked map[string]string) (map[string]string, error) {
	settled := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.Contains(types, name) {
			return nil, registry.Invalid(registry.Problems{"versions": i18n.M("partners.subscription.version-of-other", name)})
		}
	}
	for _, name := range types {
		rows, err := q.EventTypeVersions(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("list versions of event type: %w", err)
		}
		lines := registry.Lines(rows)
		want := strings.TrimSpace(asked[name])
		switch line := strings.TrimSuffix(want, ".x"); {
		case want == registry.AnyVersion:
			continue
		case want == "" && len(lines) > 0:
			settled[name] = lines[0].Line
		case slices.ContainsFunc(lines, func(l registry.VersionLineOf) bool { return l.Line == line }):
			settled[name] = line
		default:
			return nil, registry.Invalid(registry.Problems{"versions": i18n.M("partners.subscription.version-unknown", want, name, lineNames(lines))})
		}
	}
	return settled, nil
}

func lineNames(lines []registry.VersionLineOf) string {
	var names []string
	for _, l := range lines {
		names = append(names, registry.LineName(l.Line))
	}
	return strings.Join(append(names, registry.AnyVersion), ", ")
}

// overlaps reports whether two subscriptions would both get an event of a type: unless each wants a line of its own.
func overlaps(a, b map[string]string, name string) bool {
	return a[name] == "" || b[name] == "" || a[name] == b[name]
}

// lineLeft reports whether any version of the line that a subscription wants can still be used.
func lineLeft(ctx context.Context, tx *store.Tx, name, line string) (bool, error) {
	rows, err := tx.EventTypeVersions(ctx, name)
	if err != nil {
		return false, fmt.Errorf("list versions of event type: %w", err)
	}
	return line == "" || slices.ContainsFunc(rows, func(v store.EventType) bool { return store.VersionLine(v.ContractVersion) == line }), nil
}
