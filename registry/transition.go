package registry

import (
	"slices"
	"strings"
)

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
		return Conflict("You cannot %s this %s: it is %s, not %s.", t.verb, what, now, strings.Join(t.From, " or "))
	}
	return CheckReason(reason, t.Reason)
}

// Named gives a transition its verb.
func (t Transition) Named(verb string) Transition {
	t.verb = verb
	return t
}
