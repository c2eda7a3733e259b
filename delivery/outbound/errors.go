package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
)

// ErrBlockedAddress: a host resolved to an address that requests may not go to (SEC-27).
var ErrBlockedAddress = errors.New("address not allowed")

// ErrResponseTooLarge: an answer's header or body passed its limit.
var ErrResponseTooLarge = errors.New("response too large")

// The kinds of failure that Kind returns.
const (
	KindBlockedAddress   = "blocked-address"    // the guard rejected the address, or the URL
	KindDNS              = "dns"                // the name could not be looked up
	KindConnect          = "connect"            // no connection, or it broke
	KindTLS              = "tls"                // no trusted, modern TLS with the server
	KindTimeout          = "timeout"            // the exchange took too long
	KindResponseTooLarge = "response-too-large" // the answer passed a limit
	KindProtocol         = "protocol"           // what came back is not HTTP
	KindCanceled         = "canceled"           // we stopped it ourselves
	KindUnasked          = "unasked-answer"     // more came than the answer, which may be that to another request
	KindHeldBack         = "held-back"          // the gate of the request was closed; nothing was sent
)

// Error is a request that got no usable answer. Its text names the host and never an address, so that it can be shown to whoever
// chose the host; the cause behind Unwrap is for our own eyes.
type Error struct {
	Kind  string // one of the Kind constants
	Host  string // host and port as asked for
	cause error
}

// Error is safe to show to a partner.
func (e *Error) Error() string { return e.Host + ": " + e.Kind + ": " + e.explain() }

// Unwrap returns the cause, which may name addresses.
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) explain() string {
	switch e.Kind {
	case KindBlockedAddress:
		if unlisted, ok := errors.AsType[*UnlistedError](e.cause); ok {
			return unlisted.Error()
		}
		return "the host leads to an address that this installation does not send to"
	case KindDNS:
		return "the host name could not be found"
	case KindConnect:
		return "no connection could be made, or it was broken off"
	case KindTLS:
		return tlsDetail(e.cause)
	case KindTimeout:
		return "no complete answer came in time"
	case KindResponseTooLarge:
		return "the answer is larger than the limit"
	case KindCanceled:
		return "the request was stopped on our side"
	case KindUnasked:
		return "the host sent more than one answer on a connection, so it is not known to which request this one belongs"
	case KindHeldBack:
		return "the request was not sent"
	default:
		return "the answer is not valid HTTP"
	}
}

// Kind sorts an error of this package, also when others wrapped it, into one of the Kind constants. It is "" for nil.
func Kind(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return classify(err)
}

func wrap(host string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Kind: classify(err), Host: host, cause: err}
}

func classify(err error) string {
	switch {
	case errors.Is(err, ErrBlockedAddress):
		return KindBlockedAddress
	case errors.Is(err, ErrHeldBack):
		return KindHeldBack
	case errors.Is(err, ErrUnasked):
		return KindUnasked
	case isTooLarge(err):
		return KindResponseTooLarge
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case isType[*net.DNSError](err):
		return KindDNS
	case isTLS(err):
		return KindTLS
	case isTimeout(err):
		return KindTimeout
	case isType[*net.OpError](err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "server closed idle connection"):
		return KindConnect
	default:
		return KindProtocol
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && t.Timeout()
}

// isTooLarge goes by the text of these two: the standard library has no type for them.
func isTooLarge(err error) bool {
	text := err.Error()
	return errors.Is(err, ErrResponseTooLarge) ||
		strings.Contains(text, "response headers exceeded") ||
		strings.Contains(text, "header list larger than")
}

func isTLS(err error) bool {
	// crypto/tls reports an alert as an operation of this name.
	if op, ok := errors.AsType[*net.OpError](err); ok && strings.HasSuffix(op.Op, " error") {
		return true
	}
	return isType[*tls.CertificateVerificationError](err) || isType[x509.UnknownAuthorityError](err) ||
		isType[x509.HostnameError](err) || isType[x509.CertificateInvalidError](err) ||
		isType[tls.RecordHeaderError](err) ||
		errors.Is(err, http.ErrSchemeMismatch) || strings.HasPrefix(err.Error(), "tls: ")
}

// tlsDetail describes the fault in the receiver's TLS. The texts of crypto/x509 speak of the certificate only, never of an
// address.
func tlsDetail(err error) string {
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && e.Err != nil {
		return "the certificate of the host is not accepted: " + cut(e.Err.Error())
	}
	if isType[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch) {
		return "the host answered without TLS"
	}
	return "no secure connection could be agreed; the host must offer TLS 1.2 or 1.3 with modern ciphers"
}

func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
