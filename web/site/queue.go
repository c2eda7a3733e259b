package site

import (
	"github.com/labstack/echo/v4"
	"schakel/store"
)

// DeliveryArea is whose pages about deliveries these are. An administrator sees
// everybody's; a partner sees its own, by the session alone (guarantee G7).
type DeliveryArea struct {
	Base  string // "/admin" or "/partner"
	Admin bool
}

// Scope is the partner that all look-ups are limited to; "" for an administrator.
func (a DeliveryArea) Scope(c echo.Context) string {
	if a.Admin {
		return ""
	}
	return PartnerID(c)
}

// PartnerOf is the partner whose names may be shown with a job; "" is everybody's.
func (a DeliveryArea) PartnerOf(j store.ResendJob) string {
	if a.Admin {
		return ""
	}
	return j.PartnerID
}

// Delivery gives the address of a delivery.
func (a DeliveryArea) Delivery(id string) string { return a.Base + "/deliveries/" + id }

// Job gives the address of a job.
func (a DeliveryArea) Job(id string) string { return a.Base + "/jobs/" + id }

// DeliveryQueue is one list of deliveries, with what it holds and what can be done there.
type DeliveryQueue struct {
	DeliveryArea
	Path, Title, Lead, Caption string
	// Statuses limits the list; empty lets the reader choose.
	Statuses []string
	// Errors narrows held deliveries to what the receiver refused, and asks
	// whether to show the others too.
	Errors bool
	// Empty is the text of an empty list when nothing is filtered.
	Empty string
}

// ErrorQueue describes the list of what was refused.
func ErrorQueue() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/errors", Title: "Error queue", Caption: "Refused deliveries",
		Lead:     "Deliveries that the other side told us it could not take. Trying again by itself would give the same, so each waits for a person.",
		Statuses: []string{store.DeliveryHeld}, Errors: true,
		Empty: "The other side refused nothing.",
	}
}

// DeadLetterQueue describes the list of what stopped being tried.
func DeadLetterQueue() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/dead-letters", Title: "Dead letters", Caption: "Dead letters",
		Lead:     "Deliveries that are no longer tried. Nothing leaves this list but by a resend or a discard.",
		Statuses: []string{store.DeliveryDead},
		Empty:    "Nothing has stopped being tried.",
	}
}

// AllDeliveries describes the list of all deliveries.
func AllDeliveries() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/deliveries", Title: "Deliveries", Caption: "Deliveries",
		Lead:  "Every event for every subscription, newest first.",
		Empty: "Nothing was sent yet. Deliveries appear when an event is accepted that a partner is subscribed to.",
	}
}

// OwnDeliveries describes the list of the deliveries of one partner.
func OwnDeliveries() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: PartnerArea(), Path: "/partner/deliveries", Title: "Deliveries", Caption: "Deliveries to you",
		Lead:  "What we sent to your endpoints, newest first, and what is still to come.",
		Empty: "Nothing was sent to you yet. Deliveries appear when an event is accepted that you are subscribed to.",
	}
}

// AdministratorArea gives the addresses for administrators.
func AdministratorArea() DeliveryArea { return DeliveryArea{Base: "/admin", Admin: true} }

// PartnerArea gives the addresses for partners.
func PartnerArea() DeliveryArea { return DeliveryArea{Base: "/partner"} }

// Resendable are the states that "all that match" covers.
func (q DeliveryQueue) Resendable(chosen string) []string {
	switch {
	case len(q.Statuses) > 0:
		return q.Statuses
	case chosen != "":
		return []string{chosen}
	}
	return []string{store.DeliveryHeld, store.DeliveryDead}
}

// Troubled are the states in which a delivery of this list can have a kind of error.
func (q DeliveryQueue) Troubled() []string {
	if len(q.Statuses) > 0 {
		return q.Statuses
	}
	return []string{store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded}
}

// Batch is the page of a batch.
func (a DeliveryArea) Batch(id string) string { return a.Base + "/batches/" + id }
