package identity

import (
	"fmt"

	"schakel/registry"
	"schakel/store"
)

func mailClientWaits(c registry.Config, p store.Partner, client store.Client) registry.Message {
	return c.Letter("Client of "+p.Name+" asks for more", "/admin/clients/"+client.ID,
		"Client "+client.Name+" of "+p.Name+" asks for what only an administrator can grant:",
		registry.Bullets(client.RequestedScopes, client.RequestedTypes, client.RequestedSources))
}

func mailClientDecision(c registry.Config, asked store.Client, owner store.Partner, d Decision) registry.Message {
	verb := "rejected"
	if d.Approve {
		verb = "granted"
	}
	return c.Letter("Request of client "+asked.Name+" is "+verb, registry.PartnerPath(owner)+"/clients/"+asked.ID,
		fmt.Sprintf("%s %s what client %s asked for:", c.Organisation, verb, asked.Name),
		registry.Bullets(asked.RequestedScopes, asked.RequestedTypes, asked.RequestedSources), registry.Because(d.Reason))
}
