package registry

import "schakel/store"

func mailConfirm(c Config, p store.Partner, token string) message {
	return c.letter("Confirm your registration at "+c.Organisation, LinkConfirmEmail.Path(token),
		"Someone, we think you, registered "+p.Name+" ("+Numbers(p)+") to exchange events with "+c.Organisation+".",
		"Follow this link within 24 hours to confirm your e-mail address and choose a password. It works once. "+
			"If it was not you, do nothing: the registration lapses.")
}

func mailAccountExists(c Config) message {
	return c.letter("You have an account already", "/login",
		"Someone, we think you, registered an organisation at "+c.Organisation+" with your e-mail address.",
		"You have an account with this address already, so nothing was changed. You can log in:")
}

func mailNumberExists(c Config, number string) message {
	return c.letter("This organisation is registered already", "",
		"Someone, we think you, registered an organisation with "+number+" at "+c.Organisation+".",
		"There is a registration with this number already, so nothing was changed. Ask your colleagues who registered, "+
			"or "+c.Organisation+" when you think this is wrong.")
}

func mailNewRegistration(c Config, p store.Partner) message {
	return c.letter("New registration: "+p.Name, "/admin/partners/"+p.ID,
		p.Name+" ("+Numbers(p)+") registered and waits for approval.",
		"Contact: "+p.ContactName+", "+p.ContactEmail+". See what it asks for and decide:")
}

func mailContactChanged(c Config, p store.Partner) message {
	return c.letter("The contact person of "+p.Name+" has changed", "",
		"From now on messages about "+p.Name+" go to another address than this one.",
		"If you do not expect this, tell "+c.Organisation+".")
}

func mailPartnerDecision(c Config, p store.Partner, verb string) message {
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
