package partners

import (
	"schakel/registry"
	"schakel/store"
)

func mailSubscriptionWaits(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint) registry.Message {
	subject, asks := p.Name+" asks for a subscription", p.Name+" asks for these event types at endpoint "+e.Name+":"
	switch {
	case s.DatasetID != "" && s.StatusReason != "": // it was open before
		subject = p.Name + " asks for another area"
		asks = p.Name + " changed what it gets at endpoint " + e.Name + ", and gets nothing until you decide:"
	case s.DatasetID != "":
		asks = p.Name + " asks for this at endpoint " + e.Name + ":"
	}
	return c.Letter(subject, "/admin/subscriptions/"+s.ID, asks, registry.Bullets(registry.TypesWithVersions(s)), "Purpose: "+s.Purpose)
}

func mailSubscriptionDecision(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, verb string) registry.Message {
	done := map[string]string{
		"approve": "approved", "reject": "rejected", "suspend": "suspended", "resume": "resumed",
		"pause": "paused", "unpause": "resumed", "end": "ended",
	}[verb]
	return c.Letter("Subscription is "+done, registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		c.Organisation+" "+done+" your subscription at endpoint "+e.Name+" to:", registry.Bullets(registry.TypesWithVersions(s)), registry.Because(s.StatusReason))
}

func mailChangeRejected(c registry.Config, s store.Subscription, p store.Partner, e store.Endpoint, reason string) registry.Message {
	return c.Letter("Change of a subscription is rejected", registry.PartnerPath(p)+"/subscriptions/"+s.ID,
		c.Organisation+" rejected the change that you asked for of your subscription to dataset "+s.DatasetID+" at endpoint "+e.Name+".",
		registry.Because(reason), "You go on getting what you got before.")
}
