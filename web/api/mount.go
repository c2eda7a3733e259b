package api

import "schakel/web/site"

// EventsBase begins the paths of the API for events; several features serve a part of it.
const EventsBase = "/events/v1"

// Scoped makes a group of routes of an API for callers whose token has one of scopes.
func (m *API) Scoped(base string, scopes ...string) site.RouteGroup {
	return m.App.API(MaxJSONBytes, base, m.App.RequireScope(scopes...), m.WithCaller)
}

// MountTokens registers the token endpoint and the descriptions of all APIs.
func (m *API) MountTokens() {
	g := m.App.API(MaxTokenForm*2, "/oauth")
	g.POST("/token", m.postToken)
	g.GET("/jwks", m.showJWKS)
	m.Describe(g, "oauth")
	known := m.App.API(MaxJSONBytes, "/.well-known")
	known.GET("/oauth-authorization-server", m.showMetadata)
}
