package registry

import "schakel/store"

// mailEndpoint is what the partner is told that an administrator, or the engine by itself, did to its endpoint.
func mailEndpoint(c Config, e store.Endpoint, p store.Partner, verb string) message {
	path := deskOf(p) + "/endpoints/" + e.ID
	if verb == "suspend" {
		return c.letter("Endpoint "+e.Name+" is suspended", path,
			c.Organisation+" suspended endpoint "+e.Name+": nothing is sent to it.", because(e.StatusReason))
	}
	return c.letter("Endpoint "+e.Name+" gets events again", path, c.Organisation+" lifted the suspension of endpoint "+e.Name+".")
}
