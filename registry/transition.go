package registry

import (
	"slices"
	"strings"
)

// transition is one way a thing may change its state.
type transition struct {
	verb   string // "approve", for texts
	action string // of the audit trail
	from   []string
	to     string
	admin  bool // only an administrator may do it
	reason bool // a reason must be given
}

// check tells why an actor cannot make this change to what is in state now.
func (t transition) check(actor Actor, what, now, reason string) error {
	if t.admin {
		if err := actor.requireAdministrator(); err != nil {
			return err
		}
	}
	if !slices.Contains(t.from, now) {
		return conflict("You cannot %s this %s: it is %s, not %s.", t.verb, what, now, strings.Join(t.from, " or "))
	}
	return checkReason(reason, t.reason)
}

func (t transition) named(verb string) transition {
	t.verb = verb
	return t
}
