package registry

import (
	"context"

	"schakel/store"
)

// Kinds of an Actor.
const (
	ActorAccount = "account"
	ActorClient  = "client"
	ActorSystem  = "system"
	ActorVisitor = "visitor"
)

// Actor is who does something. Every change is written in the audit trail under
// its name.
type Actor struct {
	Kind, ID, Name string
	PartnerID      string // whose rows it may change; an administrator's is not looked at
	Administrator  bool
}

// AccountActor is someone who is logged in.
func AccountActor(a store.Account) Actor {
	return Actor{
		Kind: ActorAccount, ID: a.ID, Name: a.Name, PartnerID: a.PartnerID,
		Administrator: a.Role == store.RoleAdministrator,
	}
}

// SystemActor is the program itself, or whoever has its command line.
func SystemActor() Actor {
	return Actor{Kind: ActorSystem, Name: "Schakel", Administrator: true}
}

// Scope is what the actor may see.
func (a Actor) Scope() Scope { return Scope{PartnerID: a.PartnerID, All: a.Administrator} }

func (a Actor) requireAdministrator() error {
	if a.Administrator {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: "Only an administrator can do this."}
}

// Scope bounds what a reader sees (guarantee G7). The zero Scope sees nothing,
// so that a forgotten partner id shows an empty page and not everyone's rows.
type Scope struct {
	PartnerID string
	All       bool // an administrator
}

// ScopeOf sees the rows of one partner.
func ScopeOf(partnerID string) Scope { return Scope{PartnerID: partnerID} }

func (s Scope) sees(partnerID string) bool {
	return s.All || s.PartnerID != "" && s.PartnerID == partnerID
}

// narrow gives the partner id to filter a list by. ok is false when the scope
// sees nothing of what is wanted.
func (s Scope) narrow(wanted string) (partnerID string, ok bool) {
	switch {
	case s.All:
		return wanted, true
	case s.PartnerID == "" || wanted != "" && wanted != s.PartnerID:
		return "", false
	}
	return s.PartnerID, true
}

// ownerFor finds the partner an actor acts for, who must be approved: its own,
// or the one an administrator names (the own organisation when none is named).
func ownerFor(ctx context.Context, tx *store.Tx, actor Actor, partnerID string) (store.Partner, error) {
	if !actor.Administrator {
		if _, ok := actor.Scope().narrow(partnerID); !ok {
			return store.Partner{}, notFound("partner")
		}
		partnerID = actor.PartnerID
	}
	owner, err := partnerOrOwn(ctx, &tx.Queries, partnerID)
	if err != nil {
		return owner, found("partner", err)
	}
	return owner, requireApproved(owner)
}

func partnerOrOwn(ctx context.Context, q *store.Queries, id string) (store.Partner, error) {
	if id == "" {
		return q.OwnPartner(ctx)
	}
	return q.Partner(ctx, id)
}

// allowChange tells whether an actor may change a row of a partner. A partner
// that is not approved can look, but not change.
func allowChange(ctx context.Context, tx *store.Tx, actor Actor, what, partnerID string) error {
	if !actor.Scope().sees(partnerID) {
		return notFound(what)
	}
	if actor.Administrator {
		return nil
	}
	owner, err := tx.Partner(ctx, partnerID)
	if err != nil {
		return found("partner", err)
	}
	return requireApproved(owner)
}

func requireApproved(p store.Partner) error {
	if p.Status == store.PartnerApproved {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: "This is possible once the registration of " + p.Name + " is approved; it is " + p.Status + " now."}
}
