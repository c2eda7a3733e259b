package deliveries

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/delivery/pull"
	"schakel/store"
	"schakel/web/api"
)

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
				return pull.Settled{}, &pull.InputError{Field: "releaseDelayInSeconds", Text: "releaseDelayInSeconds must be one whole number of seconds"}
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
	return &pull.InputError{Field: "releaseDelayInSeconds", Text: "releaseDelayInSeconds is for release, and lockDuration for renew"}
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
		answer.FailedLockTokens[i] = failedToken{f.LockToken, tokenError{f.Code, f.Text}}
	}
	return c.JSON(http.StatusOK, answer)
}
