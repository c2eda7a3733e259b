package registry

// mostOfAKind limits the endpoints, and the clients, of a partner: each costs the engine memory and the
// database rows, and whoever registers is a stranger. An administrator may make more.
const mostOfAKind = 100

// WithinMost refuses one more than a partner may have.
func WithinMost(actor Actor, what string, there int) error {
	if actor.Administrator || there < mostOfAKind {
		return nil
	}
	return Conflict("Your organisation has %d %s, which is as many as it may have. End one that is not used, or ask the administrator.", there, what)
}
