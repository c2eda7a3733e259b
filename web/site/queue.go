package web

import (
	"github.com/labstack/echo/v4"
	"schakel/store"
)

// deliveryArea is whose pages about deliveries these are. An administrator sees
// everybody's; a partner sees its own, by the session alone (guarantee G7).
type deliveryArea struct {
	base  string // "/admin" or "/partner"
	admin bool
}

// scope is the partner that all look-ups are limited to; "" for an administrator.
func (a deliveryArea) scope(c echo.Context) string {
	if a.admin {
		return ""
	}
	return partnerID(c)
}

// partnerOf is the partner whose names may be shown with a job; "" is everybody's.
func (a deliveryArea) partnerOf(j store.ResendJob) string {
	if a.admin {
		return ""
	}
	return j.PartnerID
}

func (a deliveryArea) delivery(id string) string { return a.base + "/deliveries/" + id }

func (a deliveryArea) job(id string) string { return a.base + "/jobs/" + id }

// deliveryQueue is one list of deliveries, with what it holds and what can be done there.
type deliveryQueue struct {
	deliveryArea
	path, title, lead, caption string
	// statuses limits the list; empty lets the reader choose.
	statuses []string
	// errors narrows held deliveries to what the receiver refused, and asks
	// whether to show the others too.
	errors bool
	// empty is the text of an empty list when nothing is filtered.
	empty string
}

func errorQueue() deliveryQueue {
	return deliveryQueue{
		deliveryArea: administratorArea(), path: "/admin/errors", title: "Error queue", caption: "Refused deliveries",
		lead:     "Deliveries that the other side told us it could not take. Trying again by itself would give the same, so each waits for a person.",
		statuses: []string{store.DeliveryHeld}, errors: true,
		empty: "The other side refused nothing.",
	}
}

func deadLetterQueue() deliveryQueue {
	return deliveryQueue{
		deliveryArea: administratorArea(), path: "/admin/dead-letters", title: "Dead letters", caption: "Dead letters",
		lead:     "Deliveries that are no longer tried. Nothing leaves this list but by a resend or a discard.",
		statuses: []string{store.DeliveryDead},
		empty:    "Nothing has stopped being tried.",
	}
}

func allDeliveries() deliveryQueue {
	return deliveryQueue{
		deliveryArea: administratorArea(), path: "/admin/deliveries", title: "Deliveries", caption: "Deliveries",
		lead:  "Every event for every subscription, newest first.",
		empty: "Nothing was sent yet. Deliveries appear when an event is accepted that a partner is subscribed to.",
	}
}

func ownDeliveries() deliveryQueue {
	return deliveryQueue{
		deliveryArea: partnerArea(), path: "/partner/deliveries", title: "Deliveries", caption: "Deliveries to you",
		lead:  "What we sent to your endpoints, newest first, and what is still to come.",
		empty: "Nothing was sent to you yet. Deliveries appear when an event is accepted that you are subscribed to.",
	}
}

func administratorArea() deliveryArea { return deliveryArea{base: "/admin", admin: true} }

func partnerArea() deliveryArea { return deliveryArea{base: "/partner"} }

// resendable are the states that "all that match" covers.
func (q deliveryQueue) resendable(chosen string) []string {
	switch {
	case len(q.statuses) > 0:
		return q.statuses
	case chosen != "":
		return []string{chosen}
	}
	return []string{store.DeliveryHeld, store.DeliveryDead}
}

// troubled are the states in which a delivery of this list can have a kind of error.
func (q deliveryQueue) troubled() []string {
	if len(q.statuses) > 0 {
		return q.statuses
	}
	return []string{store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded}
}
