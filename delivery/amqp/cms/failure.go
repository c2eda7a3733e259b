package cms

import "errors"

// Kind names the problem of a message, in the words of the error queue.
type Kind string

// What can be wrong with a message.
const (
	// InvalidCMS: not CMS, cut off, of another content type, too large, or with
	// a detached signature (AMQP-127).
	InvalidCMS Kind = "transport:invalid-cms-pkcs"
	// UnknownRecipient: encrypted for a certificate that is not ours (AMQP-128).
	UnknownRecipient Kind = "transport:invalid-certificate"
	// DecryptionFailed: encrypted for us, and yet not readable. Whatever the
	// cause, there is one kind, so that nobody learns from it (AMQP-131). The text
	// names an algorithm that is not accepted, which stands in the message in the
	// clear; all that depends on the key has one text.
	DecryptionFailed Kind = "transport:decryption-failed"
	// InvalidSignature: the signature does not fit the content, or is not the
	// one of the registered sender (AMQP-132, AMQP-72).
	InvalidSignature Kind = "transport:invalid-signature"
)

// ErrOtherSigner reports that the signature is sound, but made with a certificate
// that is not among the wanted ones. Fresh certificates from the address
// registry may cure it (AMQP-62).
var ErrOtherSigner = errors.New("signed with a certificate that is not registered for the sender")

// Failure is a fault of the message, which its sender can mend. Every other
// error of this package is a fault on our side and no concern of the sender.
type Failure struct {
	Kind Kind
	// Expected and Actual are SHA-1 thumbprints in upper-case hexadecimal, with
	// commas where there are several. Where a message names a recipient only by
	// issuer and serial number, Actual holds those. Either may be empty.
	Expected, Actual string

	err error
}

// Error is a text for logs; it holds nothing of the content.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.err }

// KindOf gives the kind of a Failure, and "" for every other error.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Kind
	}
	return ""
}

func invalid(err error) *Failure { return &Failure{Kind: InvalidCMS, err: err} }
