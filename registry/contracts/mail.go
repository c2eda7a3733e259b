package contracts

import (
	"net/url"

	"schakel/registry"
	"schakel/store"
)

func contractPage(id, version string) string {
	return "/contracts/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version)
}

func mailPublicationWaits(c registry.Config, row store.Contract, v store.ContractVersion) registry.Message {
	return c.Letter(row.Owner+" asks for the publication of "+row.Title+" "+v.Version, contractPage(row.ID, v.Version),
		v.RequestedBy+" of "+row.Owner+" asks for the publication of version "+v.Version+" of contract "+row.Title+" ("+row.ID+").",
		registry.Because(v.RequestReason), "See what it changes and decide:")
}

func mailPublicationRefused(c registry.Config, row store.Contract, v store.ContractVersion, reason string) registry.Message {
	return c.Letter("Publication of "+row.Title+" "+v.Version+" is turned down", contractPage(row.ID, v.Version),
		c.Organisation+" did not publish version "+v.Version+" of contract "+row.Title+". The draft is still there; upload it again when it is mended, and ask anew.",
		registry.Because(reason))
}

func mailPublished(c registry.Config, row store.Contract, v store.ContractVersion) registry.Message {
	return c.Letter(row.Title+" "+v.Version+" is published", contractPage(row.ID, v.Version),
		c.Organisation+" published version "+v.Version+" of contract "+row.Title+". From now on its bytes never change.")
}
