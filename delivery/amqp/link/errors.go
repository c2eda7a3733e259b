package link

import (
	"errors"
	"fmt"

	amqp "github.com/Azure/go-amqp"
)

// Kind classifies a failure of sending, asking or settling.
type Kind string

// The kinds. Only after Lost a message may have been written; it is then sent again under the same ids (AMQP-121).
const (
	Unavailable Kind = "unavailable" // no connection, or none in time: not written (AMQP-08)
	NotFound    Kind = "not-found"   // there is no such queue: not written (AMQP-06)
	Denied      Kind = "denied"      // the broker does not let us: not written
	TooLarge    Kind = "too-large"   // larger than the broker takes: not written
	Blocked     Kind = "blocked"     // the broker gave no credit in time, as when its disk is full: not written
	Rejected    Kind = "rejected"    // the broker refused the message: not written
	Released    Kind = "released"    // the broker did not route the message, or could not now: not written
	Modified    Kind = "modified"    // as Released, with a change the broker asks for: not written
	Busy        Kind = "busy"        // the broker cannot take it now, as when it is overloaded or its queue is full: not written
	Lost        Kind = "lost"        // no outcome came: nobody knows whether it was written
)

// Error describes a failure with a queue.
type Error struct {
	Kind      Kind
	Queue     string
	Condition string // the broker's error condition, such as "amqp:not-found"; "" for none
	Err       error  // what was seen; may be nil
}

// Error names the queue and the kind.
func (e *Error) Error() string {
	text := "queue " + e.Queue + ": " + string(e.Kind)
	if e.Condition != "" {
		text += " (" + e.Condition + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives what was seen.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the kind of an error of this package, "" for another or nil.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// ErrSettled is answered when a delivery was settled before.
var ErrSettled = errors.New("the delivery is settled")

// remote gives the error the broker gave, nil for none.
func remote(err error) *amqp.Error {
	found, _ := errors.AsType[*amqp.Error](err)
	return found
}

// passing reports whether an error condition is that of trouble that passes: the same message may be taken later. Some of them
// belong to Azure Service Bus; the rest are in AMQP 1.0.
func passing(condition amqp.ErrCond) bool {
	switch condition {
	case "com.microsoft:server-busy", "com.microsoft:timeout", "com.microsoft:operation-cancelled", "com.microsoft:container-close",
		"com.microsoft:entity-disabled", "com.microsoft:entity-updated", "com.microsoft:partition-not-owned", "com.microsoft:store-lock-lost",
		amqp.ErrCondInternalError, amqp.ErrCondResourceLimitExceeded, amqp.ErrCondResourceLocked, amqp.ErrCondTransferLimitExceeded,
		amqp.ErrCondDetachForced, amqp.ErrCondConnectionForced:
		return true
	}
	return false
}

// failure makes an Error of what was seen; other is the kind when the broker's condition does not tell.
func failure(queue string, err error, other Kind) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := &Error{Kind: other, Queue: queue, Err: err}
	broker := remote(err)
	if broker == nil {
		return e
	}
	e.Condition = string(broker.Condition)
	switch broker.Condition {
	case amqp.ErrCondNotFound, amqp.ErrCondResourceDeleted:
		e.Kind = NotFound
	case amqp.ErrCondUnauthorizedAccess:
		e.Kind = Denied
	case amqp.ErrCondMessageSizeExceeded:
		e.Kind = TooLarge
	}
	return e
}

// sendFailure is failure once the transfer began: the end of the queue leaves open that the message was in it.
func sendFailure(queue string, err error) *Error {
	e := failure(queue, err, Lost)
	if e.Kind == NotFound {
		e.Kind = Lost
	}
	return e
}

// outcome makes an error of the state of a delivery: nil for accepted alone (AMQP-07).
func (d Dialect) outcome(queue string, state amqp.DeliveryState) error {
	switch s := state.(type) {
	case *amqp.StateAccepted:
		return nil
	case *amqp.StateRejected:
		e := &Error{Kind: Rejected, Queue: queue}
		if s.Error == nil && d.rejectsWhenFull {
			e.Kind = Busy
		}
		if s.Error != nil {
			e.Condition, e.Err = string(s.Error.Condition), s.Error
			if passing(s.Error.Condition) {
				e.Kind = Busy
			}
		}
		return e
	case *amqp.StateReleased:
		return &Error{Kind: Released, Queue: queue}
	case *amqp.StateModified:
		return &Error{Kind: Modified, Queue: queue}
	default:
		return &Error{Kind: Lost, Queue: queue, Err: fmt.Errorf("outcome %T", state)}
	}
}

// isDetach reports whether an error ended a link alone and left its session whole.
func isDetach(err error) bool {
	if _, ended := errors.AsType[*amqp.LinkError](err); ended {
		return true
	}
	_, refused := err.(*amqp.Error) // bare: one that is wrapped ended more than the link
	return refused
}
