package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"schakel/store"
	"schakel/templates/i18n"
)

// Reasons why a delivery cannot be resent, as jobs and the API name them. Others are "subscription-" and "endpoint-" with a status.
const (
	RefusedExpired = "event-expired"
	RefusedOpen    = "in-progress"
	RefusedGone    = "gone"
	RefusedChanged = "changed" // meanwhile, by somebody else
	RefusedErased  = store.ReasonDataErased
	RefusedSent    = "amqp-sent-before" // the same message may not go again by AMQP
)

// refusedFor finds why a delivery was not resent.
func refusedFor(ctx context.Context, tx *store.Tx, d store.Delivery) (string, error) {
	switch {
	case d.Expired(tx.Now):
		return RefusedExpired, nil
	case d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying:
		return RefusedOpen, nil
	case d.Status == store.DeliveryDiscarded:
		return "discarded", nil
	}
	if erased, err := tx.EventErased(ctx, d.EventID); err != nil || erased {
		return RefusedErased, err
	}
	ep, err := tx.Endpoint(ctx, d.EndpointID)
	if errors.Is(err, store.ErrNotFound) || err == nil && ep.Status == store.EndpointEnded {
		return "endpoint-ended", nil
	}
	if err != nil {
		return "", err
	}
	if sent, err := tx.SentForGood(ctx, []string{d.ID}); err != nil || len(sent) > 0 {
		return RefusedSent, err
	}
	if d.SubscriptionID == "" {
		return RefusedChanged, nil
	}
	sub, err := tx.Subscription(ctx, d.SubscriptionID)
	if errors.Is(err, store.ErrNotFound) {
		return "subscription-ended", nil
	}
	if err != nil || sub.Sending {
		return RefusedChanged, err
	}
	return SubscriptionStop(sub), nil
}

// SubscriptionStop names why a subscription is not sent to; "" when it is.
func SubscriptionStop(sub store.Subscription) string {
	switch {
	case sub.Sending:
		return ""
	case sub.Status == store.SubscriptionApproved: // its partner is not approved
		return "subscription-suspended"
	}
	return "subscription-" + sub.Status
}

// RefusalOf is the sentence for a reason.
func RefusalOf(reason string) i18n.Message {
	switch reason {
	case RefusedExpired:
		return "outbox.event-expired"
	case RefusedErased:
		return "outbox.data-erased"
	case RefusedSent:
		return "outbox.refused.sent-before"
	case RefusedOpen:
		return "outbox.refused.in-progress"
	case RefusedGone:
		return "outbox.refused.gone"
	case "discarded":
		return "outbox.refused.discarded"
	case "endpoint-ended":
		return "outbox.refused.endpoint-ended"
	case "subscription-paused":
		return "outbox.refused.subscription-paused"
	case "subscription-suspended":
		return "outbox.refused.subscription-suspended"
	case "subscription-ended", "subscription-rejected", "subscription-requested":
		return "outbox.refused.subscription-ended"
	}
	return "outbox.refused.changed"
}

// whyNot is the error of a delivery that was not resent.
func whyNot(ctx context.Context, tx *store.Tx, d store.Delivery) error {
	reason, err := refusedFor(ctx, tx, d)
	if err != nil {
		return fmt.Errorf("find why a delivery cannot be resent: %w", err)
	}
	switch reason {
	case RefusedExpired:
		return ErrEventExpired
	case RefusedErased:
		return ErrDataErased
	}
	return &Refusal{Message: RefusalOf(reason), of: ErrNotResendable}
}

// JobRefusals reads how many deliveries a job could not resend, by reason.
func JobRefusals(j store.ResendJob) map[string]int64 {
	counts := map[string]int64{}
	_ = json.Unmarshal([]byte(j.Refusals), &counts) // the engine wrote it
	return counts
}

func encodeRefusals(counts map[string]int64) string {
	b, err := json.Marshal(counts)
	if err != nil {
		panic("refusals: " + err.Error())
	}
	return string(b)
}
