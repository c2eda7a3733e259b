package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
)

// eventAnswer is an event as its publisher sees it.
type eventAnswer struct {
	EventID    string          `json:"eventId"`
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	Subject    string          `json:"subject,omitempty"`
	AcceptedAt store.Time      `json:"acceptedAt"`
	Deliveries []eventDelivery `json:"deliveries"`
}

// eventDelivery is a delivery as the publisher of the event sees it: how it
// goes, but of another partner not where.
type eventDelivery struct {
	DeliveryID     string     `json:"deliveryId"`
	Status         string     `json:"status"`
	Reason         string     `json:"reason,omitempty"`
	Attempts       int64      `json:"attempts"`
	NextAttemptAt  store.Time `json:"nextAttemptAt,omitzero"`
	DeliveredAt    store.Time `json:"deliveredAt,omitzero"`
	PartnerID      string     `json:"partnerId,omitempty"`
	SubscriptionID string     `json:"subscriptionId,omitempty"`
}

// showEvent answers an event that the calling client published; another's is 404.
func (m *machineAPI) showEvent(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	found, err := m.DB.Event(ctx, c.Param("eventId"))
	if err != nil {
		return err
	}
	if found.ClientID != who.client.ID || found.PartnerID != who.partner.ID {
		return store.ErrNotFound
	}
	deliveries, err := m.DB.DeliveriesOf(ctx, found.ID)
	if err != nil {
		return err
	}
	answer := eventAnswer{
		EventID: found.ID, ID: found.CEID, Source: found.CESource, Type: found.CEType, Subject: found.CESubject,
		AcceptedAt: found.AcceptedAt, Deliveries: make([]eventDelivery, len(deliveries)),
	}
	for i, d := range deliveries {
		answer.Deliveries[i] = publisherView(d, who)
	}
	return c.JSON(http.StatusOK, answer)
}

func publisherView(d store.Delivery, who caller) eventDelivery {
	view := eventDelivery{DeliveryID: d.ID, Status: d.Status, Attempts: d.Attempts, NextAttemptAt: nextAttempt(d), DeliveredAt: d.DeliveredAt}
	// The own organisation knows its receivers; a partner must not learn of others.
	if who.partner.Own || d.PartnerID == who.partner.ID {
		view.Reason, view.PartnerID, view.SubscriptionID = d.Reason, d.PartnerID, d.SubscriptionID
	}
	return view
}

// nextAttempt is when an open delivery is tried next; zero for any other, and
// while it is being tried.
func nextAttempt(d store.Delivery) store.Time {
	if d.LeaseOwner != "" {
		return store.Time{}
	}
	if d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying {
		return d.DueAt
	}
	return store.Time{}
}
