package deliveries

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/pull"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
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
		size += len(g.JSON) + len(g.LockToken) + len(g.DeliveryID) + 130
	}
	b := append(make([]byte, 0, size), `{"details":[`...)
	for i, g := range got {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"event":`...), g.JSON...)
		b = append(append(b, `,"brokerProperties":{"lockToken":"`...), g.LockToken...) // base64url: nothing to escape
		b = strconv.AppendInt(append(b, `","deliveryCount":`...), g.DeliveryCount, 10)
		b = strconv.AppendInt(append(b, `,"maxDeliveryCount":`...), g.MaxReceives, 10)
		b = append(append(append(b, `,"deliveryId":"`...), g.DeliveryID...), `"}}`...)
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
	if wrong, ok := errors.AsType[*pull.EncryptionError](err); ok {
		return site.RetryLater(http.StatusServiceUnavailable, "not-encrypted", i18n.M("outbox.pull.not-encrypted", wrong.Text), time.Minute)
	}
	if stopped, ok := errors.AsType[*pull.StoppedError](err); ok {
		return site.NewProblem(http.StatusConflict, "subscription-stopped", stopped.Text)
	}
	if errors.Is(err, pull.ErrNotPull) {
		return site.NewProblem(http.StatusConflict, "not-a-pull-subscription", "outbox.pull.not-pull")
	}
	return err
}

// receiveTitle names a receive by its number and outcome; "" for an attempt that we made.
func receiveTitle(ctx context.Context, a store.Attempt) string {
	switch a.ErrorKind {
	case store.PullReceived:
		return i18n.T(ctx, "deliveries.receive.received", a.Number)
	case store.PullAcknowledged:
		return i18n.T(ctx, "deliveries.receive.acknowledged", a.Number)
	case store.PullReleased:
		return i18n.T(ctx, "deliveries.receive.released", a.Number)
	case store.PullRejected:
		return i18n.T(ctx, "deliveries.receive.rejected", a.Number)
	case store.PullExpired:
		return i18n.T(ctx, "deliveries.receive.expired", a.Number)
	}
	return ""
}

// receiveView shows one receive of a consumer that fetches, and how it ended.
func receiveView(ctx context.Context, a store.Attempt, place int, title string) view.AttemptView {
	v := view.AttemptView{
		Number: place, At: a.StartedAt.Time, OK: a.ErrorKind == store.PullAcknowledged || a.ErrorKind == store.PullReceived,
		Title: title, Fetched: true,
	}
	var texts []i18n.Message
	if client := receiver(a); client != "" {
		texts = append(texts, i18n.M("deliveries.receive.by", site.Shown(client)))
	}
	if a.ErrorKind == store.PullReceived {
		texts = append(texts, i18n.M("deliveries.receive.lease-ends", a.NextAt.Time))
	} else {
		texts = append(texts, attemptText(ctx, a)...)
		if !a.NextAt.IsZero() {
			texts = append(texts, i18n.M("deliveries.receive.again-from", a.NextAt.Time))
		}
	}
	v.Text = sentences(texts[0], texts[1:]...).In(ctx)
	return v
}

// receiver is the client that received.
func receiver(a store.Attempt) string {
	var header http.Header
	if json.Unmarshal([]byte(a.RequestHeaders), &header) != nil {
		return ""
	}
	return header.Get("Client")
}

// settleRequest names what was received. ReleaseDelayInSeconds is for release, LockDuration (seconds) for renew.
type settleRequest struct {
	LockTokens            []string `json:"lockTokens"`
	ReleaseDelayInSeconds *int     `json:"releaseDelayInSeconds"`
	LockDuration          *int     `json:"lockDuration"`
}

// SettleAnswer lists the lock tokens that were settled, and those that failed.
type SettleAnswer struct {
	SucceededLockTokens []string      `json:"succeededLockTokens"`
	FailedLockTokens    []failedToken `json:"failedLockTokens"`
}

type failedToken struct {
	LockToken string     `json:"lockToken"`
	Error     tokenError `json:"error"`
}

type tokenError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// postAcknowledge ends deliveries: the caller took care of them.
func (m *handlers) postAcknowledge(c echo.Context) error {
	return m.settle(c, func(ctx context.Context, sub store.Subscription, in settleRequest) (pull.Settled, error) {
		if in.ReleaseDelayInSeconds != nil || in.LockDuration != nil {
			return pull.Settled{}, onlyTokens()
		}
		return m.Pull.Acknowledge(ctx, sub, in.LockTokens)
	})
}

// postReject puts deliveries into the error queue: the caller cannot take them.
func (m *handlers) postReject(c echo.Context) error {
	return m.settle(c, func(ctx context.Context, sub store.Subscription, in settleRequest) (pull.Settled, error) {
		if in.ReleaseDelayInSeconds != nil || in.LockDuration != nil {
			return pull.Settled{}, onlyTokens()
		}
		return m.Pull.Reject(ctx, sub, in.LockTokens)
	})
}

// postRelease gives deliveries back, to be received again after a delay that stands in the body or, as Azure Event Grid
// has it, in the query.
func (m *handlers) postRelease(c echo.Context) error {
	return m.settle(c, func(ctx context.Context, sub store.Subscription, in settleRequest) (pull.Settled, error) {
		if in.LockDuration != nil {
			return pull.Settled{}, onlyTokens()
		}
		delay := 0
		if in.ReleaseDelayInSeconds != nil {
			delay = *in.ReleaseDelayInSeconds
		}
		if raw := c.QueryParam("releaseDelayInSeconds"); raw != "" {
			n, err := strconv.Atoi(raw)
			if err != nil || in.ReleaseDelayInSeconds != nil && n != delay {
				return pull.Settled{}, &pull.InputError{Field: "releaseDelayInSeconds", Text: "outbox.pull.delay-number"}
			}
			delay = n
		}
		return m.Pull.Release(ctx, sub, in.LockTokens, seconds(delay))
	})
}

// postRenew gives the caller more time for what it holds.
func (m *handlers) postRenew(c echo.Context) error {
	return m.settle(c, func(ctx context.Context, sub store.Subscription, in settleRequest) (pull.Settled, error) {
		if in.ReleaseDelayInSeconds != nil {
			return pull.Settled{}, onlyTokens()
		}
		lease := pull.DefaultLease
		if in.LockDuration != nil {
			lease = max(seconds(*in.LockDuration), 1) // 0 is no default here
		}
		return m.Pull.Renew(ctx, sub, in.LockTokens, lease)
	})
}

func onlyTokens() error {
	return &pull.InputError{Field: "releaseDelayInSeconds", Text: "outbox.pull.only-tokens"}
}

func (m *handlers) settle(c echo.Context, verb func(context.Context, store.Subscription, settleRequest) (pull.Settled, error)) error {
	_, sub, err := m.pullSubscription(c)
	if err != nil {
		return err
	}
	var in settleRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	done, err := verb(c.Request().Context(), sub, in)
	if err != nil {
		return pullProblem(err)
	}
	answer := SettleAnswer{SucceededLockTokens: api.NotNil(done.Succeeded), FailedLockTokens: make([]failedToken, len(done.Failed))}
	for i, f := range done.Failed {
		answer.FailedLockTokens[i] = failedToken{f.LockToken, tokenError{f.Code, site.APILocale(c).Text(f.Text)}}
	}
	return c.JSON(http.StatusOK, answer)
}
