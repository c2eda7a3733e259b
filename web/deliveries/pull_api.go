package deliveries

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/pull"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// receiveTime bounds a call that waits, its answer on a slow line included.
const receiveTime = pull.MaxWait + time.Minute

// receiveRequest asks events; members left out have a default. Times are in seconds.
type receiveRequest struct {
	MaxEvents    *int `json:"maxEvents"`
	MaxWaitTime  int  `json:"maxWaitTime"`
	LockDuration int  `json:"lockDuration"`
}

// postReceive leases events to the caller (EDU-17). No body asks one event.
func (m *handlers) postReceive(c echo.Context) error {
	who, sub, err := m.pullSubscription(c)
	if err != nil {
		return err
	}
	var in receiveRequest
	if err := api.ReadOptionalJSON(c, &in); err != nil {
		return err
	}
	events := 1
	if in.MaxEvents != nil {
		events = *in.MaxEvents
	}
	got, err := m.Pull.Receive(c.Request().Context(), pull.Request{
		Subscription: sub, ClientID: who.Client.ID, Events: events, Wait: seconds(in.MaxWaitTime), Lease: seconds(in.LockDuration),
		Allowed: func(ctx context.Context) error { return m.StillAllowed(ctx, who) },
	})
	if err != nil {
		return pullProblem(err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSONBlob(http.StatusOK, received(got))
}

// received writes the answer around the events, whose bytes are left as they are: an encoder would write them again.
func received(got []pull.Received) []byte {
	size := 16
	for _, g := range got {
		size += len(g.JSON) + len(g.LockToken) + 80
	}
	b := append(make([]byte, 0, size), `{"details":[`...)
	for i, g := range got {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"event":`...), g.JSON...)
		b = append(append(b, `,"brokerProperties":{"lockToken":"`...), g.LockToken...) // base64url: nothing to escape
		b = strconv.AppendInt(append(b, `","deliveryCount":`...), g.DeliveryCount, 10)
		b = append(b, `}}`...)
	}
	return append(b, `]}`...)
}

// pullSubscription finds the caller's own subscription; another partner's is 404.
func (m *handlers) pullSubscription(c echo.Context) (api.Caller, store.Subscription, error) {
	who, err := m.Caller(c)
	if err != nil {
		return who, store.Subscription{}, err
	}
	sub, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.Scope(), c.Param("subscriptionId"))
	return who, sub, err
}

// seconds makes a duration of a number of seconds; what is far out of bounds stays so.
func seconds(n int) time.Duration {
	const most = 1 << 30
	return time.Duration(max(-most, min(n, most))) * time.Second
}

// pullProblem is the answer when a verb could not be done at all.
func pullProblem(err error) error {
	if wrong, ok := errors.AsType[*pull.InputError](err); ok {
		return site.FieldProblem(wrong.Field, wrong.Text)
	}
	if stopped, ok := errors.AsType[*pull.StoppedError](err); ok {
		return site.NewProblem(http.StatusConflict, "subscription-stopped", stopped.Text)
	}
	if errors.Is(err, pull.ErrNotPull) {
		return site.NewProblem(http.StatusConflict, "not-a-pull-subscription",
			"The events of this subscription are sent to its endpoint. To receive them here, make an endpoint of kind pull and ask for a subscription with that one.")
	}
	return err
}
