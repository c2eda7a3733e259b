package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// Transport sends the deliveries of one kind of endpoint: it makes one attempt at a claimed delivery and judges its outcome.
// It does not touch the database and returns soon after ctx ends.
type Transport interface {
	Send(ctx context.Context, endpoint store.Endpoint, c store.Claimed) Result
}

// Result judges one attempt, for the delivery, its endpoint and its subscription.
type Result struct {
	// Attempt records the request and the answer; the engine fills in the delivery and the number.
	Attempt store.Attempt
	// Status is the next state of the delivery: delivered, retrying, held or dead.
	Status string
	// Reason is a code, Detail explains to people what happened and what to do next.
	Reason, Detail string
	// DueAt is the time of the next attempt of a retrying delivery.
	DueAt time.Time
	// NotBefore is the time before which the endpoint wants no request at all (Retry-After); zero without one.
	NotBefore time.Time
	// Untried: no request was sent, so the delivery waits for another attempt as if this one had not been begun.
	Untried bool
	// Unasked: the receiver sent bytes that no request asked for. From now on each request has a connection of its own.
	Unasked bool
	// Uncounted: the attempt does not count for the circuit, because we stopped it ourselves or could not make it.
	Uncounted bool
	// SuspendEndpoint stops all deliveries to the endpoint until a person resumes it (403).
	SuspendEndpoint bool
	// EndSubscription ends the subscription (410).
	EndSubscription bool
	// Alone dissolves the batch of the attempt: each member is sent by itself from now on.
	Alone bool
}
