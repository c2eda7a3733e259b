package partners

import (
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

func mailConfirm(c registry.Config, p store.Partner, token string) registry.Message {
	return c.Letter(i18n.M("partners.mail.confirm-subject", c.Organisation), registry.LinkConfirmEmail.Path(token),
		i18n.M("partners.mail.confirm-registered", p.Name, Numbers(p), c.Organisation), "partners.mail.confirm-link").AnyoneCauses()
}

func mailDraft(c registry.Config, token string) registry.Message {
	return c.Letter(i18n.M("partners.mail.draft-subject", c.Organisation), registry.LinkResume.Path(token),
		i18n.M("partners.mail.draft-begun", c.Organisation), "partners.mail.draft-ignore").AnyoneCauses()
}

func mailAccountExists(c registry.Config) registry.Message {
	return c.Letter("partners.mail.account-exists-subject", "/login",
		i18n.M("partners.mail.account-exists-registered", c.Organisation), "partners.mail.account-exists-login").AnyoneCauses()
}

func mailNumberExists(c registry.Config, number string) registry.Message {
	return c.Letter("partners.mail.number-exists-subject", "",
		i18n.M("partners.mail.number-exists-registered", number, c.Organisation), i18n.M("partners.mail.number-exists-ask", c.Organisation)).AnyoneCauses()
}

func mailNewRegistration(c registry.Config, p store.Partner, doubts []i18n.Message) registry.Message {
	lines := make([]i18n.Message, len(doubts))
	for i, doubt := range doubts {
		lines[i] = registry.Bullet(doubt)
	}
	msg := c.Letter(i18n.M("partners.mail.new-registration-subject", p.Name), "/admin/partners/"+p.ID, i18n.M("partners.mail.new-registration-waits", p.Name, Numbers(p)))
	if len(doubts) > 0 {
		msg = msg.Lines(append([]i18n.Message{"partners.mail.new-registration-doubts"}, lines...)...)
	}
	return msg.Lines(i18n.M("partners.mail.new-registration-contact", p.ContactName, p.ContactEmail))
}

func mailContactChanged(c registry.Config, p store.Partner) registry.Message {
	return c.Letter(i18n.M("partners.mail.contact-changed-subject", p.Name), "",
		i18n.M("partners.mail.contact-changed-address", p.Name), i18n.M("partners.mail.contact-changed-tell", c.Organisation))
}

func mailPartnerDecision(c registry.Config, p store.Partner, verb string) registry.Message {
	const path = "/partner"
	switch verb {
	case "approve":
		return c.Letter(i18n.M("partners.mail.approved-subject", p.Name), path, i18n.M("partners.mail.approved", c.Organisation, p.Name), "partners.mail.approved-next")
	case "reject":
		return c.Letter(i18n.M("partners.mail.rejected-subject", p.Name), path, i18n.M("partners.mail.rejected", c.Organisation, p.Name), registry.Because(p.StatusReason))
	case "suspend":
		return c.Letter(i18n.M("partners.mail.suspended-subject", p.Name), path, i18n.M("partners.mail.suspended", c.Organisation, p.Name), registry.Because(p.StatusReason))
	case "resume":
		return c.Letter(i18n.M("partners.mail.resumed-subject", p.Name), path, i18n.M("partners.mail.resumed", c.Organisation, p.Name))
	default:
		return c.Letter(i18n.M("partners.mail.ended-subject", p.Name), "", i18n.M("partners.mail.ended", c.Organisation, p.Name), registry.Because(p.StatusReason))
	}
}

// mailEndpoint composes the mail to a partner about what an administrator, or the engine by itself, did to its endpoint.
func mailEndpoint(c registry.Config, e store.Endpoint, p store.Partner, verb string) registry.Message {
	path := registry.PartnerPath(p) + "/endpoints/" + e.ID
	if verb == "suspend" {
		return c.Letter(i18n.M("partners.mail.endpoint-suspended-subject", e.Name), path,
			i18n.M("partners.mail.endpoint-suspended", c.Organisation, e.Name), registry.Because(e.StatusReason))
	}
	return c.Letter(i18n.M("partners.mail.endpoint-released-subject", e.Name), path, i18n.M("partners.mail.endpoint-released", c.Organisation, e.Name))
}

func mailSubscriptionWaits(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint) registry.Message {
	subject, asks := i18n.M("partners.mail.subscription-asked-subject", p.Name), i18n.M("partners.mail.subscription-asked", p.Name, e.Name)
	switch {
	case s.DatasetID != "" && s.StatusReason != "": // it was open before
		subject, asks = i18n.M("partners.mail.area-asked-subject", p.Name), i18n.M("partners.mail.area-asked", p.Name, e.Name)
	case s.DatasetID != "":
		asks = i18n.M("partners.mail.dataset-asked", p.Name, e.Name)
	}
	return c.Letter(subject, "/admin/subscriptions/"+s.ID, asks, registry.Bullets(registry.TypesWithVersions(s)), i18n.M("partners.mail.purpose", s.Purpose)).Of(p.ID)
}

func mailSubscriptionDecision(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, verb string) registry.Message {
	var subject i18n.Message
	var done string
	switch verb {
	case "approve":
		subject, done = "partners.mail.subscription-approved-subject", "partners.mail.subscription-approved"
	case "reject":
		subject, done = "partners.mail.subscription-rejected-subject", "partners.mail.subscription-rejected"
	case "suspend":
		subject, done = "partners.mail.subscription-suspended-subject", "partners.mail.subscription-suspended"
	case "pause":
		subject, done = "partners.mail.subscription-paused-subject", "partners.mail.subscription-paused"
	case "resume", "unpause":
		subject, done = "partners.mail.subscription-resumed-subject", "partners.mail.subscription-resumed"
	default:
		subject, done = "partners.mail.subscription-ended-subject", "partners.mail.subscription-ended"
	}
	return c.Letter(subject, registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		i18n.M(done, c.Organisation, e.Name), registry.Bullets(registry.TypesWithVersions(s)), registry.Because(s.StatusReason))
}

func mailChangeRejected(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, reason string) registry.Message {
	return c.Letter("partners.mail.change-rejected-subject", registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		i18n.M("partners.mail.change-rejected", c.Organisation, s.DatasetID, e.Name), registry.Because(reason), "partners.mail.change-rejected-go-on")
}
