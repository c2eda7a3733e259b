package registry

import (
	"fmt"
	"net/url"
	"strings"

	"schakel/store"
)

// letter makes a mail of paragraphs, with the link it leads to.
func (c Config) letter(subject, path string, paragraphs ...string) message {
	var kept []string
	for _, p := range paragraphs {
		if p != "" {
			kept = append(kept, p)
		}
	}
	if path != "" {
		kept = append(kept, c.BaseURL+path)
	}
	kept = append(kept, "This message was sent by Schakel of "+c.Organisation+".")
	return message{subject: oneLine(subject), body: strings.Join(kept, "\n\n") + "\n"}
}

// oneLine keeps what people typed from adding header lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// deskOf is below which address the people of a partner find what is theirs. Those of the own organisation are administrators, who
// may not open the pages of partners.
func deskOf(p store.Partner) string {
	if p.Own {
		return "/admin/own"
	}
	return "/partner"
}

// areaOf is below which address the people of a partner find its deliveries and its datasets.
func areaOf(p store.Partner) string {
	if p.Own {
		return "/admin"
	}
	return "/partner"
}

func because(reason string) string {
	if reason = strings.TrimSpace(reason); reason == "" {
		return ""
	}
	return "The reason: " + reason
}

func (c Config) mailConfirm(p store.Partner, token string) message {
	return c.letter("Confirm your registration at "+c.Organisation, LinkConfirmEmail.Path(token),
		"Someone, we think you, registered "+p.Name+" ("+Numbers(p)+") to exchange events with "+c.Organisation+".",
		"Follow this link within 24 hours to confirm your e-mail address and choose a password. It works once. "+
			"If it was not you, do nothing: the registration lapses.")
}

func (c Config) mailAccountExists() message {
	return c.letter("You have an account already", "/login",
		"Someone, we think you, registered an organisation at "+c.Organisation+" with your e-mail address.",
		"You have an account with this address already, so nothing was changed. You can log in:")
}

func (c Config) mailNumberExists(number string) message {
	return c.letter("This organisation is registered already", "",
		"Someone, we think you, registered an organisation with "+number+" at "+c.Organisation+".",
		"There is a registration with this number already, so nothing was changed. Ask your colleagues who registered, "+
			"or "+c.Organisation+" when you think this is wrong.")
}

func (c Config) mailNewRegistration(p store.Partner) message {
	return c.letter("New registration: "+p.Name, "/admin/partners/"+p.ID,
		p.Name+" ("+Numbers(p)+") registered and waits for approval.",
		"Contact: "+p.ContactName+", "+p.ContactEmail+". See what it asks for and decide:")
}

func (c Config) mailContactChanged(p store.Partner) message {
	return c.letter("The contact person of "+p.Name+" has changed", "",
		"From now on messages about "+p.Name+" go to another address than this one.",
		"If you do not expect this, tell "+c.Organisation+".")
}

func (c Config) mailPartnerDecision(p store.Partner, verb string) message {
	const path = "/partner"
	switch verb {
	case "approve":
		return c.letter(p.Name+" is approved", path, c.Organisation+" approved the registration of "+p.Name+".",
			"You can add endpoints and clients, and ask for subscriptions:")
	case "reject":
		return c.letter("The registration of "+p.Name+" is rejected", path,
			c.Organisation+" rejected the registration of "+p.Name+".", because(p.StatusReason))
	case "suspend":
		return c.letter(p.Name+" is suspended", path, c.Organisation+" suspended the exchange with "+p.Name+". "+
			"Nothing is sent or accepted until this is lifted.", because(p.StatusReason))
	case "resume":
		return c.letter(p.Name+" can exchange again", path, c.Organisation+" lifted the suspension of "+p.Name+". "+
			"Your clients need new access tokens.")
	default:
		return c.letter("The exchange with "+p.Name+" has ended", path,
			c.Organisation+" ended the exchange with "+p.Name+".", because(p.StatusReason))
	}
}

func (c Config) mailClientWaits(p store.Partner, client store.Client) message {
	return c.letter("Client of "+p.Name+" asks for more", "/admin/clients/"+client.ID,
		"Client "+client.Name+" of "+p.Name+" asks for what only an administrator can grant:",
		bullets(client.RequestedScopes, client.RequestedTypes, client.RequestedSources))
}

func (c Config) mailClientDecision(asked store.Client, owner store.Partner, d Decision) message {
	verb := "rejected"
	if d.Approve {
		verb = "granted"
	}
	return c.letter("Request of client "+asked.Name+" is "+verb, deskOf(owner)+"/clients/"+asked.ID,
		fmt.Sprintf("%s %s what client %s asked for:", c.Organisation, verb, asked.Name),
		bullets(asked.RequestedScopes, asked.RequestedTypes, asked.RequestedSources), because(d.Reason))
}

// mailEndpoint is what the partner is told that an administrator, or the engine by itself, did to its endpoint.
func (c Config) mailEndpoint(e store.Endpoint, p store.Partner, verb string) message {
	path := deskOf(p) + "/endpoints/" + e.ID
	if verb == "suspend" {
		return c.letter("Endpoint "+e.Name+" is suspended", path,
			c.Organisation+" suspended endpoint "+e.Name+": nothing is sent to it.", because(e.StatusReason))
	}
	return c.letter("Endpoint "+e.Name+" gets events again", path, c.Organisation+" lifted the suspension of endpoint "+e.Name+".")
}

func (c Config) mailSubscriptionWaits(s store.Subscription, p store.Partner, e store.Endpoint) message {
	subject, asks := p.Name+" asks for a subscription", p.Name+" asks for these event types at endpoint "+e.Name+":"
	switch {
	case s.DatasetID != "" && s.StatusReason != "": // it was open before
		subject = p.Name + " asks for another area"
		asks = p.Name + " changed what it gets at endpoint " + e.Name + ", and gets nothing until you decide:"
	case s.DatasetID != "":
		asks = p.Name + " asks for this at endpoint " + e.Name + ":"
	}
	return c.letter(subject, "/admin/subscriptions/"+s.ID, asks, bullets(typesWithVersions(s)), "Purpose: "+s.Purpose)
}

func (c Config) mailSubscriptionDecision(s store.Subscription, p store.Partner, e store.Endpoint, verb string) message {
	done := map[string]string{
		"approve": "approved", "reject": "rejected", "suspend": "suspended", "resume": "resumed",
		"pause": "paused", "unpause": "resumed", "end": "ended",
	}[verb]
	return c.letter("Subscription is "+done, deskOf(p)+"/subscriptions/"+s.ID,
		c.Organisation+" "+done+" your subscription at endpoint "+e.Name+" to:", bullets(typesWithVersions(s)), because(s.StatusReason))
}

func (c Config) mailChangeRejected(s store.Subscription, p store.Partner, e store.Endpoint, reason string) message {
	return c.letter("Change of a subscription is rejected", deskOf(p)+"/subscriptions/"+s.ID,
		c.Organisation+" rejected the change that you asked for of your subscription to dataset "+s.DatasetID+" at endpoint "+e.Name+".",
		because(reason), "You go on getting what you got before.")
}

func (c Config) mailPublicationWaits(row store.Contract, v store.ContractVersion) message {
	return c.letter(row.Owner+" asks for the publication of "+row.Title+" "+v.Version, contractPage(row.ID, v.Version),
		v.RequestedBy+" of "+row.Owner+" asks for the publication of version "+v.Version+" of contract "+row.Title+" ("+row.ID+").",
		because(v.RequestReason), "See what it changes and decide:")
}

func (c Config) mailPublicationRefused(row store.Contract, v store.ContractVersion, reason string) message {
	return c.letter("Publication of "+row.Title+" "+v.Version+" is turned down", contractPage(row.ID, v.Version),
		c.Organisation+" did not publish version "+v.Version+" of contract "+row.Title+". The draft is still there; upload it again when it is mended, and ask anew.",
		because(reason))
}

func (c Config) mailPublished(row store.Contract, v store.ContractVersion) message {
	return c.letter(row.Title+" "+v.Version+" is published", contractPage(row.ID, v.Version),
		c.Organisation+" published version "+v.Version+" of contract "+row.Title+". From now on its bytes never change.")
}

func contractPage(id, version string) string {
	return "/contracts/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version)
}

func (c Config) mailPassword(purpose LinkPurpose, token string) message {
	return c.letter("Choose a password", purpose.Path(token),
		"Follow this link to choose a password for your account at "+c.Organisation+". It works once. "+
			"If you did not ask for it, do nothing.")
}

func bullets(lists ...[]string) string {
	var lines []string
	for _, list := range lists {
		for _, item := range list {
			lines = append(lines, "- "+item)
		}
	}
	return strings.Join(lines, "\n")
}
