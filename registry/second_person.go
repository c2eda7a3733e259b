package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"schakel/templates/i18n"
)

// Kinds of actions that can be made to wait for a second person, each by a setting.
const (
	TwoApprovals = "approvals" // of registrations, subscriptions, destinations and what clients ask for, and what would stand in for one
	TwoRoutes    = "routes"    // of what one partner sends to another
	TwoDiscards  = "discards"  // of deliveries, messages and quarantined requests
	TwoSettings  = "settings"  // of the chain collaboration
)

// ConfirmationKinds lists the kinds in the order in which people read them.
func ConfirmationKinds() []string { return []string{TwoApprovals, TwoRoutes, TwoDiscards, TwoSettings} }

// ConfirmationNeeds returns the permission that both people need for an action of a kind.
func ConfirmationNeeds(kind string) Permission {
	switch kind {
	case TwoApprovals:
		return DecideApprovals
	case TwoRoutes:
		return ChangeRoutes
	case TwoDiscards:
		return DiscardDeliveries
	}
	return ChangeSettings
}

// Ask is an action that may have to wait for a second person.
type Ask struct {
	Kind   string
	Action string // such as partner.approve: names what is done once it is confirmed
	Object Object
	Args   any // what the action needs besides the object, as JSON; never a secret, unless sealed
	Reason string
	// Always holds it whatever the settings say.
	Always bool
	// Free does it at once whatever the settings say; one that waits already is still held against what it was asked for.
	Free bool
	// Lock is the table of the object, whose row nobody else changes between Describe and the action. Default none.
	Lock string
	// Describe lists in words what the action does, and gives a text that differs once what it is about differs.
	Describe func(context.Context) (changes []i18n.Message, fingerprint string, err error)
}

// SecondPerson makes actions wait for a second person.
type SecondPerson interface {
	// Hold does an action, or stores it until a second person confirms it: then the error is a *Waits. Actions that cannot be
	// done are refused at once. do must write by the database of the service, with the context it gets.
	Hold(ctx context.Context, actor Actor, ask Ask, do func(context.Context) error) error
}

// Waits is the error of an action that was not done, since it waits for a second person.
type Waits struct {
	ID   string       // of the confirmation
	Text i18n.Message // for who asked
}

// Error implements error.
func (w *Waits) Error() string { return "waits for a second person: " + w.ID }

// Hold does an action, unless it has to wait for a second person.
func (c Config) Hold(ctx context.Context, actor Actor, ask Ask, do func(context.Context) error) error {
	if c.SecondPerson == nil {
		return do(ctx)
	}
	return c.SecondPerson.Hold(ctx, actor, ask, do)
}

// Fingerprint makes the text that tells states of something apart, for [Ask].
func Fingerprint(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

type reasonKey struct{}

// WithReason gives the actions of a context a reason for the second person, where they have none themselves.
func WithReason(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, reason)
}

// ReasonOf returns the reason of a context; empty without one.
func ReasonOf(ctx context.Context) string {
	reason, _ := ctx.Value(reasonKey{}).(string)
	return reason
}
