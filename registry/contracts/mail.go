package registry

import (
	"net/url"

	"schakel/store"
)

func contractPage(id, version string) string {
	return "/contracts/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version)
}

func mailPublicationWaits(c Config, row store.Contract, v store.ContractVersion) message {
	return c.letter(row.Owner+" asks for the publication of "+row.Title+" "+v.Version, contractPage(row.ID, v.Version),
		v.RequestedBy+" of "+row.Owner+" asks for the publication of version "+v.Version+" of contract "+row.Title+" ("+row.ID+").",
		because(v.RequestReason), "See what it changes and decide:")
}

func mailPublicationRefused(c Config, row store.Contract, v store.ContractVersion, reason string) message {
	return c.letter("Publication of "+row.Title+" "+v.Version+" is turned down", contractPage(row.ID, v.Version),
		c.Organisation+" did not publish version "+v.Version+" of contract "+row.Title+". The draft is still there; upload it again when it is mended, and ask anew.",
		because(reason))
}

func mailPublished(c Config, row store.Contract, v store.ContractVersion) message {
	return c.letter(row.Title+" "+v.Version+" is published", contractPage(row.ID, v.Version),
		c.Organisation+" published version "+v.Version+" of contract "+row.Title+". From now on its bytes never change.")
}
