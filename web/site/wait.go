package web

import (
	"context"
	"errors"
	"strings"
	"time"

	"schakel/delivery/window"
	"schakel/store"
)

// setWait explains why an open delivery is not tried now.
func (m *machineAPI) setWait(ctx context.Context, answer *deliveryAnswer, d store.Delivery) error {
	if d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying || d.LeaseOwner != "" {
		return nil
	}
	behind, err := m.DB.WaitsFor(ctx, d.ID)
	if err != nil {
		return err
	}
	if behind != "" {
		answer.WaitsFor, answer.WaitReason = behind, "order"
		return nil
	}
	ep, err := m.DB.Endpoint(ctx, d.EndpointID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	answer.WaitReason, answer.WaitsUntil = endpointWait(ep, d, m.app.cfg.Now())
	return nil
}

// endpointWait names the reason an endpoint is not sent to, and the end of the wait if a clock sets it.
func endpointWait(ep store.Endpoint, d store.Delivery, now time.Time) (reason string, until store.Time) {
	switch opens := opensAt(ep, now); {
	case ep.Status == store.EndpointPaused:
		return "endpoint-paused", until
	case ep.Status == store.EndpointSuspended:
		return "endpoint-suspended", until
	case !opens.IsZero() && d.SubscriptionID != "":
		return "window", store.At(opens)
	case unreadableHours(ep) && d.SubscriptionID != "":
		return "window", until
	case ep.Circuit == store.CircuitOpen:
		return "circuit-open", ep.CircuitProbeAt
	case ep.WaitsAt(now):
		return "retry-after", ep.WaitUntil
	}
	return "", until
}

// unreadableHours reports whether the hours of an endpoint cannot be read, for which nothing is sent to it.
func unreadableHours(ep store.Endpoint) bool {
	return ep.Kind != store.EndpointPull && window.Check(ep.Windows) != nil
}

// opensAt is when an endpoint may be sent to again; zero when it may be now.
func opensAt(ep store.Endpoint, now time.Time) time.Time {
	week, err := window.Parse(ep.Windows)
	if err != nil || ep.Kind == store.EndpointPull || week.Open(now) {
		return time.Time{}
	}
	return week.Next(now)
}

// opensText announces the window that a delivery waits for; "" when that is open.
func opensText(ep store.Endpoint, now time.Time) string {
	if unreadableHours(ep) {
		return "It waits because the hours of the endpoint cannot be read; set them again."
	}
	if at := opensWords(ep, now); at != "" {
		return "It waits for the window of the endpoint, which opens " + at + "."
	}
	return ""
}

// closedText reports that an endpoint is outside its windows; "" when it is open.
func closedText(ep store.Endpoint, now time.Time) string {
	if unreadableHours(ep) {
		return "The hours of this endpoint cannot be read, so events wait. Set them again."
	}
	if at := opensWords(ep, now); at != "" {
		return "It is outside the hours of this endpoint now, so events wait. The next hours begin " + at + "."
	}
	return ""
}

// opensWords is when an endpoint that is outside its windows opens, in its own time; "" when it is open.
func opensWords(ep store.Endpoint, now time.Time) string {
	opens := opensAt(ep, now)
	if opens.IsZero() {
		return ""
	}
	week, err := window.Parse(ep.Windows)
	if err != nil {
		return ""
	}
	local := opens
	if zone, err := time.LoadLocation(week.TimeZone()); err == nil {
		local = opens.In(zone)
	}
	return local.Format("Monday 2 January 15:04") + " (" + week.TimeZone() + ")"
}

// windowWords describes the delivery windows of an endpoint.
func windowWords(ep store.Endpoint) string {
	week, err := window.Parse(ep.Windows)
	switch {
	case err != nil:
		return "not readable: " + err.Error()
	case week.Always():
		return "at any time"
	}
	return strings.Join(week.Words(), "; ") + " (" + week.TimeZone() + ")"
}
