package web

import (
	"context"
	"encoding/base64"
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
	Object     *objectAnswer   `json:"object,omitempty"`
	LeftOut    int             `json:"leftOut,omitempty"`
	Deliveries []eventDelivery `json:"deliveries"`
}

// objectAnswer is the data of an event that is stored apart.
type objectAnswer struct {
	ObjectID  string     `json:"objectId"`
	DataRef   string     `json:"dataref"`
	Size      int64      `json:"size"`
	MediaType string     `json:"mediaType"`
	Digest    string     `json:"digest"`
	GoneAt    store.Time `json:"goneAt,omitzero"`
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
	if answer.Object, err = m.objectAnswer(ctx, found.ID); err != nil {
		return err
	}
	if who.partner.Own {
		left, err := m.DB.LeftOutOf(ctx, found.ID)
		if err != nil {
			return err
		}
		answer.LeftOut = len(left)
	}
	return c.JSON(http.StatusOK, answer)
}

// objectAnswer is the object of an event; nil when its data is in it.
func (m *machineAPI) objectAnswer(ctx context.Context, eventID string) (*objectAnswer, error) {
	objects, err := m.DB.ObjectsOf(ctx, eventID)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	o := objects[0]
	return &objectAnswer{
		ObjectID: o.ID, DataRef: m.app.absolute(objectsPath + o.ID), Size: o.Size, MediaType: o.ContentType,
		Digest: "sha-256=:" + base64.StdEncoding.EncodeToString(o.Digest) + ":", GoneAt: o.GoneAt,
	}, nil
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
