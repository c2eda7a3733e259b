package site

import "net/url"

func ContractHref(id string) string { return "/contracts/" + url.PathEscape(id) }

func EventTypeHref(name string) string { return "/event-types/" + url.PathEscape(name) }

// ContractVersionHref is the page of a version of a contract.
func ContractVersionHref(id, version string) string {
	return ContractHref(id) + "/versions/" + url.PathEscape(version)
}

func PartnerHref(id string) string { return "/admin/partners/" + url.PathEscape(id) }
