package registry

import "schakel/store"

func mailSubscriptionWaits(c Config, s store.Subscription, p store.Partner, e store.Endpoint) message {
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

func mailSubscriptionDecision(c Config, s store.Subscription, p store.Partner, e store.Endpoint, verb string) message {
	done := map[string]string{
		"approve": "approved", "reject": "rejected", "suspend": "suspended", "resume": "resumed",
		"pause": "paused", "unpause": "resumed", "end": "ended",
	}[verb]
	return c.letter("Subscription is "+done, deskOf(p)+"/subscriptions/"+s.ID,
		c.Organisation+" "+done+" your subscription at endpoint "+e.Name+" to:", bullets(typesWithVersions(s)), because(s.StatusReason))
}

func mailChangeRejected(c Config, s store.Subscription, p store.Partner, e store.Endpoint, reason string) message {
	return c.letter("Change of a subscription is rejected", deskOf(p)+"/subscriptions/"+s.ID,
		c.Organisation+" rejected the change that you asked for of your subscription to dataset "+s.DatasetID+" at endpoint "+e.Name+".",
		because(reason), "You go on getting what you got before.")
}
