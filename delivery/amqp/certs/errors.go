package certs

import (
	"crypto/x509"
	"errors"
	"strings"
)

// Kind is the reason that a certificate may not be used.
type Kind string

// Why a certificate may not be used.
const (
	Expired     Kind = "expired"       // its validity is over (AMQP-58, AMQP-129)
	NotYetValid Kind = "not yet valid" // its validity has not begun (AMQP-58)
	WrongUsage  Kind = "wrong usage"   // its key usage is another (AMQP-59)
	Revoked     Kind = "revoked"       // its issuer took it back (AMQP-60, AMQP-130)
	Untrusted   Kind = "untrusted"     // no chain to a root, unknown to its issuer, or nobody to ask
	Unavailable Kind = "unavailable"   // no answer on its revocation now: abort, try again (AMQP-61)
)

// Error is why a certificate may not be used.
type Error struct {
	Kind       Kind
	Thumbprint string // of the certificate that was asked about
	Detail     string // for a person; empty when there is nothing to add

	err error
}

// Error is a text for logs.
func (e *Error) Error() string {
	text := "certificate " + e.Thumbprint + " " + string(e.Kind)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.err != nil {
		text += ": " + strings.ReplaceAll(e.err.Error(), "\n", "; ")
	}
	return text
}

// Unwrap gives the cause, or nil.
func (e *Error) Unwrap() error { return e.err }

// KindOf gives the kind of an *Error, and "" for every other error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

func fail(kind Kind, c *x509.Certificate, detail string, err error) *Error {
	return &Error{Kind: kind, Thumbprint: Thumbprint(c), Detail: detail, err: err}
}
