package partners

import (
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

func mailConfirm(c registry.Config, p store.Partner, token string) registry.Message {
	return c.Letter(i18n.Message("Confirm your registration at "+c.Organisation), registry.LinkConfirmEmail.Path(token),
		i18n.Message("Someone, we think you, registered "+p.Name+" ("+Numbers(p)+") to exchange events with "+c.Organisation+"."),
		i18n.Message("Follow this link within 24 hours to confirm your e-mail address and choose a password. It works once. "+
			"If it was not you, do nothing: the registration lapses."))
}

func mailAccountExists(c registry.Config) registry.Message {
	return c.Letter("You have an account already", "/login",
		i18n.Message("Someone, we think you, registered an organisation at "+c.Organisation+" with your e-mail address."),
		"You have an account with this address already, so nothing was changed. You can log in:")
}

func mailNumberExists(c registry.Config, number string) registry.Message {
	return c.Letter("This organisation is registered already", "",
		i18n.Message("Someone, we think you, registered an organisation with "+number+" at "+c.Organisation+"."),
		i18n.Message("There is a registration with this number already, so nothing was changed. Ask your colleagues who registered, "+
			"or "+c.Organisation+" when you think this is wrong."))
}

func mailNewRegistration(c registry.Config, p store.Partner) registry.Message {
	return c.Letter(i18n.Message("New registration: "+p.Name), "/admin/partners/"+p.ID,
		i18n.Message(p.Name+" ("+Numbers(p)+") registered and waits for approval."),
		i18n.Message("Contact: "+p.ContactName+", "+p.ContactEmail+". See what it asks for and decide:"))
}

func mailContactChanged(c registry.Config, p store.Partner) registry.Message {
	return c.Letter(i18n.Message("The contact person of "+p.Name+" has changed"), "",
		i18n.Message("From now on messages about "+p.Name+" go to another address than this one."),
		i18n.Message("If you do not expect this, tell "+c.Organisation+"."))
}

func mailPartnerDecision(c registry.Config, p store.Partner, verb string) registry.Message {
	const path = "/partner"
	switch verb {
	case "approve":
		return c.Letter(i18n.Message(p.Name+" is approved"), path, i18n.Message(c.Organisation+" approved the registration of "+p.Name+"."),
			"You can add endpoints and clients, and ask for subscriptions:")
	case "reject":
		return c.Letter(i18n.Message("The registration of "+p.Name+" is rejected"), path,
			i18n.Message(c.Organisation+" rejected the registration of "+p.Name+"."), registry.Because(p.StatusReason))
	case "suspend":
		return c.Letter(i18n.Message(p.Name+" is suspended"), path, i18n.Message(c.Organisation+" suspended the exchange with "+p.Name+". "+
			"Nothing is sent or accepted until this is lifted."), registry.Because(p.StatusReason))
	case "resume":
		return c.Letter(i18n.Message(p.Name+" can exchange again"), path, i18n.Message(c.Organisation+" lifted the suspension of "+p.Name+". "+
			"Your clients need new access tokens."))
	default:
		return c.Letter(i18n.Message("The exchange with "+p.Name+" has ended"), path,
			i18n.Message(c.Organisation+" ended the exchange with "+p.Name+"."), registry.Because(p.StatusReason))
	}
}

// mailEndpoint composes the mail to a partner about what an administrator, or the engine by itself, did to its endpoint.
func mailEndpoint(c registry.Config, e store.Endpoint, p store.Partner, verb string) registry.Message {
	path := registry.PartnerPath(p) + "/endpoints/" + e.ID
	if verb == "suspend" {
		return c.Letter(i18n.Message("Endpoint "+e.Name+" is suspended"), path,
			i18n.Message(c.Organisation+" suspended endpoint "+e.Name+": nothing is sent to it."), registry.Because(e.StatusReason))
	}
	return c.Letter(i18n.Message("Endpoint "+e.Name+" gets events again"), path, i18n.Message(c.Organisation+" lifted the suspension of endpoint "+e.Name+"."))
}

func mailSubscriptionWaits(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint) registry.Message {
	subject, asks := p.Name+" asks for a subscription", p.Name+" asks for these event types at endpoint "+e.Name+":"
	switch {
	case s.DatasetID != "" && s.StatusReason != "": // it was open before
		subject = p.Name + " asks for another area"
		asks = p.Name + " changed what it gets at endpoint " + e.Name + ", and gets nothing until you decide:"
	case s.DatasetID != "":
		asks = p.Name + " asks for this at endpoint " + e.Name + ":"
	}
	return c.Letter(i18n.Message(subject), "/admin/subscriptions/"+s.ID, i18n.Message(asks), registry.Bullets(registry.TypesWithVersions(s)), i18n.Message("Purpose: "+s.Purpose))
}

func mailSubscriptionDecision(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, verb string) registry.Message {
	done := map[string]string{
		"approve": "approved", "reject": "rejected", "suspend": "suspended", "resume": "resumed",
		"pause": "paused", "unpause": "resumed", "end": "ended",
	}[verb]
	return c.Letter(i18n.Message("Subscription is "+done), registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		i18n.Message(c.Organisation+" "+done+" your subscription at endpoint "+e.Name+" to:"), registry.Bullets(registry.TypesWithVersions(s)), registry.Because(s.StatusReason))
}

func mailChangeRejected(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, reason string) registry.Message {
	return c.Letter("Change of a subscription is rejected", registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		i18n.Message(c.Organisation+" rejected the change that you asked for of your subscription to dataset "+s.DatasetID+" at endpoint "+e.Name+"."),
		registry.Because(reason), "You go on getting what you got before.")
}
