package registry

import (
	"context"
	"slices"

	"schakel/store"
	"schakel/templates/i18n"
)

// Kinds of an Actor.
const (
	ActorAccount = "account"
	ActorClient  = "client"
	ActorSystem  = "system"
	ActorVisitor = "visitor"
)

// Actor identifies the person, client or part of the program that acts. The audit trail records every change under its name.
type Actor struct {
	Kind, ID, Name string
	PartnerID      string // whose rows it may change; that of who is of the organisation is not looked at
	// Administrator is set for who is of the organisation that runs this Schakel, and sees everything. What it may change its Role says,
	// where it is an account.
	Administrator bool
	Role          string // of ActorAccount
}

// AccountActor is someone who is logged in.
func AccountActor(a store.Account) Actor {
	return Actor{
		Kind: ActorAccount, ID: a.ID, Name: a.Name, PartnerID: a.PartnerID, Role: a.Role,
		Administrator: OfOrganisation(a),
	}
}

// OfOrganisation reports whether an account is of the organisation that runs this Schakel, and not of a partner.
func OfOrganisation(a store.Account) bool { return slices.Contains(everyOrganisationRole, a.Role) }

// SystemActor is the program itself, or whoever has its command line.
func SystemActor() Actor {
	return Actor{Kind: ActorSystem, Name: "Schakel", Administrator: true}
}

// CommandActor is whoever has the command line, for what people must be able to tell from what the program does by itself.
func CommandActor() Actor {
	return Actor{Kind: ActorSystem, Name: "Schakel (command line)", Administrator: true}
}

// Label names the actor in a text.
func (a Actor) Label() i18n.Message {
	if a.Name == "" {
		return "audit.someone"
	}
	return i18n.Raw(a.Name)
}

// Scope limits what the actor sees.
func (a Actor) Scope() Scope { return Scope{PartnerID: a.PartnerID, All: a.Administrator} }

// RequireAdministrator refuses who is not of the organisation that runs this Schakel. What a role allows the route decides; what only
// some may do is looked at again with [Actor.Require].
func (a Actor) RequireAdministrator() error {
	if a.Administrator {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: "registry.administrator-only"}
}

// Scope bounds what a reader sees (guarantee G7). The zero Scope sees nothing,
// so that a forgotten partner id shows an empty page and not everyone's rows.
type Scope struct {
	PartnerID string
	All       bool // an administrator
}

// ScopeOf sees the rows of one partner.
func ScopeOf(partnerID string) Scope { return Scope{PartnerID: partnerID} }

// Sees reports whether rows of a partner are within the scope.
func (s Scope) Sees(partnerID string) bool {
	return s.All || s.PartnerID != "" && s.PartnerID == partnerID
}

// Narrow gives the partner id to filter a list by. ok is false when the scope sees nothing of what is wanted.
func (s Scope) Narrow(wanted string) (partnerID string, ok bool) {
	switch {
	case s.All:
		return wanted, true
	case s.PartnerID == "" || wanted != "" && wanted != s.PartnerID:
		return "", false
	}
	return s.PartnerID, true
}

// OwnerFor finds the partner an actor acts for, who must be approved: its own,
// or the one an administrator names (the own organisation when none is named).
func OwnerFor(ctx context.Context, tx *store.Tx, actor Actor, partnerID string) (store.Partner, error) {
	if !actor.Administrator {
		if _, ok := actor.Scope().Narrow(partnerID); !ok {
			return store.Partner{}, NotFound("partner")
		}
		partnerID = actor.PartnerID
	}
	owner, err := PartnerOrOwn(ctx, &tx.Queries, partnerID)
	if err != nil {
		return owner, Found("partner", err)
	}
	return owner, RequireApproved(owner)
}

// PartnerOrOwn finds a partner, or the own organisation when no id is given.
func PartnerOrOwn(ctx context.Context, q *store.Queries, id string) (store.Partner, error) {
	if id == "" {
		return q.OwnPartner(ctx)
	}
	return q.Partner(ctx, id)
}

// AllowChange refuses an actor that may not change a row of a partner. A partner that is not approved can look, but not change.
func AllowChange(ctx context.Context, tx *store.Tx, actor Actor, what, partnerID string) error {
	if !actor.Scope().Sees(partnerID) {
		return NotFound(what)
	}
	if actor.Kind == ActorAccount && (actor.Role == store.RoleAuditor || actor.Role == store.RoleReader) {
		return &Error{Code: CodeForbidden, Message: "registry.reads-only"}
	}
	if actor.Administrator {
		return nil
	}
	owner, err := tx.Partner(ctx, partnerID)
	if err != nil {
		return Found("partner", err)
	}
	return RequireApproved(owner)
}

// RequireApproved refuses what a partner may do only once it is approved.
func RequireApproved(p store.Partner) error {
	if p.Status == store.PartnerApproved {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: i18n.M("registry.partner-not-approved", p.Name, i18n.Word("registry.state", p.Status))}
}

// maxPerPartner limits the endpoints, and the clients, of a partner: each costs the engine memory and the
// database rows, and whoever registers is a stranger. An administrator may make more.
const maxPerPartner = 100

// WithinMost refuses one more than a partner may have.
func WithinMost(actor Actor, what string, there int) error {
	if actor.Administrator || there < maxPerPartner {
		return nil
	}
	return Conflict("registry.most", there, i18n.Word("registry.plural", what))
}

// Reader identifies a reader of contracts and the catalogue. The zero Reader is anyone: it sees what is public and published.
type Reader struct {
	// PartnerID of an approved partner: it sees what is for partners and what is
	// shown to it by name too, and all of the contracts it owns.
	PartnerID string
	// Internal is set for the own organisation, which sees all that is published.
	Internal bool
	// Administrator sees drafts and what is withdrawn too.
	Administrator bool
}

// ReaderOf gives what a partner may read; one that is not approved reads as anyone.
func ReaderOf(p store.Partner) Reader {
	if p.Status != store.PartnerApproved {
		return Reader{}
	}
	return Reader{PartnerID: p.ID, Internal: p.Own}
}

// Sight limits the contracts the reader sees, whatever the versions; nil is all.
func (r Reader) Sight() *store.Sight {
	switch {
	case r.Internal || r.Administrator:
		return nil
	case r.PartnerID != "":
		return &store.Sight{Visibilities: []string{store.VisibilityPublic, store.VisibilityPartners}, PartnerID: r.PartnerID}
	}
	return &store.Sight{Visibilities: []string{store.VisibilityPublic}}
}

// Maintains reports whether the reader maintains a contract.
func (r Reader) Maintains(c store.Contract) bool { return r.Administrator || r.Owns(c) }

// Owns reports whether the reader is the partner that maintains a contract.
func (r Reader) Owns(c store.Contract) bool {
	return r.PartnerID != "" && r.PartnerID == c.OwnerPartnerID
}

// Statuses lists the states of the versions the reader sees; nil is all.
func (r Reader) Statuses(c store.Contract) []string {
	if r.Maintains(c) {
		return nil
	}
	return []string{store.VersionPublished, store.VersionDeprecated}
}

// Transition is one way a thing may change its state.
type Transition struct {
	verb   string // "approve", for texts
	Action string // of the audit trail
	From   []string
	To     string
	Admin  bool // only an administrator may do it
	Reason bool // a reason must be given
}

// Check refuses an actor that cannot make this change in state now.
func (t Transition) Check(actor Actor, what, now, reason string) error {
	if t.Admin {
		if err := actor.RequireAdministrator(); err != nil {
			return err
		}
	}
	if !slices.Contains(t.From, now) {
		return Conflict("registry.transition", i18n.Word("registry.verb", t.verb), i18n.Word("registry.this", what), i18n.Word("registry.state", now), anyState(t.From))
	}
	return CheckReason(reason, t.Reason)
}

// anyState names states of which one is needed.
func anyState(states []string) i18n.Message {
	text := i18n.Word("registry.state", states[0])
	for _, s := range states[1:] {
		text = i18n.M("registry.or", text, i18n.Word("registry.state", s))
	}
	return text
}

// Named gives a transition its verb.
func (t Transition) Named(verb string) Transition {
	t.verb = verb
	return t
}
