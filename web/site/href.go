package site

import "net/url"

// ContractHref gives the address of a contract.
func ContractHref(id string) string { return "/contracts/" + url.PathEscape(id) }

// EventTypeHref gives the address of an event type.
func EventTypeHref(name string) string { return "/event-types/" + url.PathEscape(name) }

// ContractVersionHref is the page of a version of a contract.
func ContractVersionHref(id, version string) string {
	return ContractHref(id) + "/versions/" + url.PathEscape(version)
}

// PartnerHref gives the address of a partner for administrators.
func PartnerHref(id string) string { return "/admin/partners/" + url.PathEscape(id) }
