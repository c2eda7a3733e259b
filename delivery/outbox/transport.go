package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// Way is a way out: it makes one attempt at a claimed delivery and judges what came of it. It does not touch the
// database and returns soon after ctx ends.
type Way interface {
	Send(ctx context.Context, endpoint store.Endpoint, c store.Claimed) Result
}

// Result is what one attempt means for the delivery, its endpoint and its subscription.
type Result struct {
	// Attempt is what was sent and what came back; the engine fills in which delivery and which number.
	Attempt store.Attempt
	// Status is what the delivery becomes: delivered, retrying, held or dead.
	Status string
	// Reason is a code, Detail says to people what happened and what to do next.
	Reason, Detail string
	// DueAt is when a retrying delivery is tried again.
	DueAt time.Time
	// NotBefore is the time before which the endpoint wants no request at all (Retry-After); zero when it did not say.
	NotBefore time.Time
	// Untried: no request was sent, so the delivery waits for another attempt as if this one had not been begun.
	Untried bool
	// Unasked: the receiver sent bytes that no request asked for. From now on each request has a connection of its own.
	Unasked bool
	// Uncounted: it says nothing about the endpoint, because we stopped the attempt ourselves or could not make it.
	Uncounted bool
	// SuspendEndpoint stops all deliveries to the endpoint until a person resumes it (403).
	SuspendEndpoint bool
	// EndSubscription ends the subscription (410).
	EndSubscription bool
	// Alone takes the batch apart that the attempt was made with: each member goes by itself from now on.
	Alone bool
}
