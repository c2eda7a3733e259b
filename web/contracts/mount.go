// Package contracts serves the contract register: contracts, versions, their reading view, changes and feeds, event types,
// mirrors of other registers, read keys, and the register's API.
//
// A published version has the same bytes for ever (guarantee G8): what is served of it carries their digest. Who sees a
// contract is decided by registry/contracts for every request; documents of strangers are shown as text.
package contracts

import (
	"schakel/web/api"
	"schakel/web/site"
)

// pages serves the pages.
type pages struct{ *site.Portal }

// handlers serves the API.
type handlers struct {
	*api.API
	// converted caches documents in their other form.
	converted *api.ConvertedDocuments
}

// ownerPages serves the pages about the read keys of one organisation.
type ownerPages struct {
	site.OwnerPages
	pages *pages
}

// Mount registers the pages.
func Mount(p *site.Portal) { (&pages{p}).mountContracts() }

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m, api.NewConvertedDocuments()}).mountRegister() }
