package partners

import (
	"schakel/registry"
	"schakel/store"
)

// mailEndpoint composes the mail to a partner about what an administrator, or the engine by itself, did to its endpoint.
func mailEndpoint(c registry.Config, e store.Endpoint, p store.Partner, verb string) registry.Message {
	path := registry.PartnerPath(p) + "/endpoints/" + e.ID
	if verb == "suspend" {
		return c.Letter("Endpoint "+e.Name+" is suspended", path,
			c.Organisation+" suspended endpoint "+e.Name+": nothing is sent to it.", registry.Because(e.StatusReason))
	}
	return c.Letter("Endpoint "+e.Name+" gets events again", path, c.Organisation+" lifted the suspension of endpoint "+e.Name+".")
}
