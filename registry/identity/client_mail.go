package registry

import (
	"fmt"

	"schakel/store"
)

func mailClientWaits(c Config, p store.Partner, client store.Client) message {
	return c.letter("Client of "+p.Name+" asks for more", "/admin/clients/"+client.ID,
		"Client "+client.Name+" of "+p.Name+" asks for what only an administrator can grant:",
		bullets(client.RequestedScopes, client.RequestedTypes, client.RequestedSources))
}

func mailClientDecision(c Config, asked store.Client, owner store.Partner, d Decision) message {
	verb := "rejected"
	if d.Approve {
		verb = "granted"
	}
	return c.letter("Request of client "+asked.Name+" is "+verb, deskOf(owner)+"/clients/"+asked.ID,
		fmt.Sprintf("%s %s what client %s asked for:", c.Organisation, verb, asked.Name),
		bullets(asked.RequestedScopes, asked.RequestedTypes, asked.RequestedSources), because(d.Reason))
}
