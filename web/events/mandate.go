package events

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"schakel/delivery/amqp/msghead"
	"schakel/delivery/event"
	"schakel/registry/mandate"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// mandateRest is after how long an event may be sent again about which the register of mandates could not be asked.
const mandateRest = 10 * time.Second

// mandated refuses an event that names another organisation as its source, which did not mandate the sender (SEC-14).
func (m *handlers) mandated(ctx context.Context, who api.Caller, e *event.Event) error {
	if m.Registry.Mandates == nil {
		return nil
	}
	return mandateProblem(m.Registry.Mandates.MaySend(ctx, who.Partner, e.Type, e.Source))
}

// audiences limits events that name a recipient to that one and those who have its mandate, and business messages to the health party that
// they are addressed to; nil when there are none of those.
func (m *handlers) audiences(ctx context.Context, events []event.Event) ([]store.Audience, error) {
	list, err := m.mandates(ctx, events)
	if err != nil {
		return nil, err
	}
	for i := range events { // whoever is subscribed now: a health party that is subscribed later may ask for a replay
		if kind := events[i].DataKind; kind == event.DataNone || kind == event.DataJSON || !bytes.Contains(events[i].Data, []byte("MsgHead")) {
			continue
		}
		message, err := msghead.Parse(events[i].Data)
		if err != nil && !errors.Is(err, msghead.ErrBody) && !errors.Is(err, msghead.ErrValues) {
			continue // not a business message; what a health party cannot get is told when it is sent
		}
		if to := message.Info.Receiver.HerID(); to != 0 {
			if list == nil {
				list = make([]store.Audience, len(events))
			}
			list[i] = list[i].AddressedTo(int64(to))
		}
	}
	return list, nil
}

// mandates limits events that name a recipient to that one and those who have its mandate; nil when none of them does.
func (m *handlers) mandates(ctx context.Context, events []event.Event) ([]store.Audience, error) {
	if m.Registry.Mandates == nil || m.Registry.Mandates.RecipientAttribute() == "" {
		return nil, nil
	}
	var list []store.Audience
	for i := range events {
		recipient, ok := events[i].Extension(m.Registry.Mandates.RecipientAttribute())
		if !ok {
			continue
		}
		only, err := m.Registry.Mandates.AudienceOf(ctx, events[i].Type, recipient)
		if err != nil {
			return nil, mandateProblem(err)
		}
		if list == nil && !only.Everyone() {
			list = make([]store.Audience, len(events))
		}
		if list != nil {
			list[i] = only
		}
	}
	return list, nil
}

// mandateProblem is a 503 while the register cannot be asked.
func mandateProblem(err error) error {
	if errors.Is(err, mandate.ErrUnknown) {
		return site.RetryLater(http.StatusServiceUnavailable, "mandate-unknown", "events.api.mandate-unknown", mandateRest)
	}
	return err
}
