package events

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// EventAnswer is an event as its publisher sees it.
type EventAnswer struct {
	EventID    string          `json:"eventId"`
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	Subject    string          `json:"subject,omitempty"`
	AcceptedAt store.Time      `json:"acceptedAt"`
	Object     *ObjectAnswer   `json:"object,omitempty"`
	LeftOut    int             `json:"leftOut,omitempty"`
	Deliveries []eventDelivery `json:"deliveries"`
}

// ObjectAnswer is the data of an event that is stored apart.
type ObjectAnswer struct {
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
func (m *handlers) showEvent(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	found, err := m.DB.Event(ctx, c.Param("eventId"))
	if err != nil {
		return err
	}
	if found.ClientID != who.Client.ID || found.PartnerID != who.Partner.ID {
		return store.ErrNotFound
	}
	deliveries, err := m.DB.DeliveriesOf(ctx, found.ID)
	if err != nil {
		return err
	}
	answer := EventAnswer{
		EventID: found.ID, ID: found.CEID, Source: found.CESource, Type: found.CEType, Subject: found.CESubject,
		AcceptedAt: found.AcceptedAt, Deliveries: make([]eventDelivery, len(deliveries)),
	}
	for i, d := range deliveries {
		answer.Deliveries[i] = publisherView(d, who)
	}
	if answer.Object, err = m.objectAnswer(ctx, found.ID); err != nil {
		return err
	}
	if who.Partner.Own {
		left, err := m.DB.LeftOutOf(ctx, found.ID)
		if err != nil {
			return err
		}
		answer.LeftOut = len(left)
	}
	return c.JSON(http.StatusOK, answer)
}

// objectAnswer is the object of an event; nil when its data is in it.
func (m *handlers) objectAnswer(ctx context.Context, eventID string) (*ObjectAnswer, error) {
	objects, err := m.DB.ObjectsOf(ctx, eventID)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	o := objects[0]
	return &ObjectAnswer{
		ObjectID: o.ID, DataRef: m.App.Absolute(site.ObjectsPath + o.ID), Size: o.Size, MediaType: o.ContentType,
		Digest: "sha-256=:" + base64.StdEncoding.EncodeToString(o.Digest) + ":", GoneAt: o.GoneAt,
	}, nil
}

func publisherView(d store.Delivery, who api.Caller) eventDelivery {
	view := eventDelivery{DeliveryID: d.ID, Status: d.Status, Attempts: d.Attempts, NextAttemptAt: site.NextAttempt(d), DeliveredAt: d.DeliveredAt}
	// The own organisation knows its receivers; a partner must not learn of others.
	if who.Partner.Own || d.PartnerID == who.Partner.ID {
		view.Reason, view.PartnerID, view.SubscriptionID = d.Reason, d.PartnerID, d.SubscriptionID
	}
	return view
}

// leftOut names the subscriptions that an event was left out for.
func (p *pages) leftOut(ctx context.Context, eventID string) (list []ui.Named, err error) {
	rows, err := p.DB.LeftOutOf(ctx, eventID)
	if err != nil {
		return nil, err
	}
	names := p.DeliveryNames()
	for _, row := range rows {
		partner, err := names.Partner(ctx, row.PartnerID)
		if err != nil {
			return nil, err
		}
		s, err := p.DB.Subscription(ctx, row.SubscriptionID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		list = append(list, ui.Named{Name: i18n.T(ctx, "events.page.left-out-one", partner, cmp.Or(s.Name, row.SubscriptionID)), Href: "/admin/subscriptions/" + row.SubscriptionID})
	}
	return list, nil
}

// eventObject sends the data of an event that is stored apart, to an administrator.
func (p *pages) eventObject(c echo.Context) error { return p.SendObject(c, c.Param("id"), "") }

// showObject answers data that is stored apart from its event, to the clients of those
// who may have the event: who published it, those it was delivered to or is meant
// for, with the scope to read, and the own organisation. To others it is not there (guarantee G7).
func (m *handlers) showObject(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	o, err := m.DB.Object(ctx, c.Param("objectId"))
	if err != nil {
		return err
	}
	may, had, err := m.objectRights(ctx, who, o)
	claims, _ := site.CallerOf(c)
	switch {
	case err != nil:
		return err
	case (may || had) && !who.Partner.Own && who.Client.ID != o.ClientID && !slices.Contains(claims.Scopes, site.ScopeEventsConsume):
		return site.ScopeNeeded(site.ScopeEventsConsume) // what others sent is read with the scope to read
	case may && o.GoneAt.IsZero():
		if err := m.noteObject(ctx, who, o); err != nil {
			return err
		}
		return m.serveObject(c, who, o)
	case may || had:
		return objectGone()
	}
	return store.ErrNotFound
}

// noteObject writes in the audit trail who fetches data that is stored apart: the affair of who reads it, or of the sender when the own organisation
// does. Who sent it had it.
func (m *handlers) noteObject(ctx context.Context, who api.Caller, o store.Object) error {
	if who.Client.ID == o.ClientID {
		return nil
	}
	affair := who.Partner.ID
	if who.Partner.Own {
		affair = o.PartnerID
	}
	e, err := m.DB.Event(ctx, o.OwnerID)
	about, details := registry.ObjectOf("event", e.ID, site.Shown(e.CEType), affair), registry.Details{"source": e.CESource, "ce_id": e.CEID}
	if errors.Is(err, store.ErrNotFound) {
		about, details = registry.ObjectOf("quarantine", o.OwnerID, o.OwnerID, affair), nil
	} else if err != nil {
		return err
	}
	return m.Registry.Audit.NoteRead(ctx, who.Actor(), registry.ActionDataDownloaded, about, details)
}

// objectRights reports whether a caller may have an object, or had it while its event
// was there.
func (m *handlers) objectRights(ctx context.Context, who api.Caller, o store.Object) (may, had bool, err error) {
	if o.OwnerID == "" { // on its way in
		return false, false, nil
	}
	if who.Partner.Own || who.Client.ID == o.ClientID {
		return true, true, nil
	}
	if may, err = m.DB.MayReadEvent(ctx, o.OwnerID, who.Partner.ID); may || err != nil {
		return may, may, err
	}
	had, err = m.DB.HadObject(ctx, o.ID, who.Partner.ID)
	return false, had, err
}

func objectGone() error {
	return site.NewProblem(http.StatusGone, "object-gone", "events.api.object-gone")
}
