package link

import (
	"errors"

	amqp "github.com/Azure/go-amqp"
)

// isDetach reports whether an error ended a link alone and left its session whole.
func isDetach(err error) bool {
	if _, ended := errors.AsType[*amqp.LinkError](err); ended {
		return true
	}
	_, refused := err.(*amqp.Error) // bare: one that is wrapped ended more than the link
	return refused
}

// hangUp ends a connection that cannot be trusted any more; it is made again.
func (c *Connection) hangUp(w *wire) { _ = w.raw.Close() }
