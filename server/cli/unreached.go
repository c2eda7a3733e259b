package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// Unreached tells in plain words, and with the address, why a request got no answer.
func Unreached(err error) string {
	asked, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err.Error()
	}
	return HostOf(asked.URL) + " cannot be reached: " + noAnswer(asked)
}

// TimedOut reports whether the time for an answer was over.
func TimedOut(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func noAnswer(err *url.Error) string {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	unknown, noName := errors.AsType[*net.DNSError](err)
	untrusted, wrong := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case noTLS, strings.HasSuffix(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it speaks http, not https"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused, nothing listens there"
	case noName:
		return "no address is known of " + unknown.Name
	case wrong:
		return certificateProblem(untrusted)
	case TimedOut(err):
		return "it does not answer in time"
	}
	return err.Err.Error()
}

func certificateProblem(err *tls.CertificateVerificationError) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is of an issuer that this machine does not trust"
	}
	return err.Err.Error()
}
