// Package datasets serves datasets and their mutation files: publication, deltas, snapshots, areas, imports and subscriptions,
// as pages and as an API that has the shapes of PDOK's download API (MUT-50..53).
//
// Files are streamed in both ways, so their size is bounded by the disk alone. What a subscriber gets of a dataset is decided
// by its subscription, for every request.
package datasets

import (
	"schakel/web/api"
	"schakel/web/site"
)

// Pages serves the pages, and gives other features what they show of datasets.
type Pages struct{ *site.Portal }

// handlers serves the API.
type handlers struct{ *api.API }

// ownerPages serves the pages with which one organisation follows datasets.
type ownerPages struct {
	site.OwnerPages
	pages *Pages
}

// Mount registers the pages.
func Mount(p *site.Portal) *Pages {
	s := &Pages{p}
	s.mountDatasets()
	return s
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountMutations() }
