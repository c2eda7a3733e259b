package amqp

import (
	"errors"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
)

// refused is an error that goes to the sender as an AMQP error (section G, first part).
type refused struct {
	message.Refusal

	cause error
}

// Error implements error.
func (r *refused) Error() string {
	text := string(r.Condition)
	if r.Data != "" {
		text += " " + r.Data
	}
	if r.cause != nil {
		text += ": " + r.cause.Error()
	}
	return text
}

// explain gives our own people the answer to the sender, and the cause that is left out of it: the algorithm, key or field.
func (r *refused) explain() string {
	text := r.Description()
	if r.Data != "" {
		text += " " + r.Data
	}
	if r.cause != nil {
		text += " Cause: " + r.cause.Error()
	}
	return text
}

// Unwrap gives the cause, or nil.
func (r *refused) Unwrap() error { return r.cause }

func refuse(r message.Refusal, cause error) *refused { return &refused{r, cause} }

// refusalOf turns a problem of the certificate, the body or the signature into the answer to the sender. False is
// our own fault, or nobody's: the message waits (AMQP-48, AMQP-61).
func refusalOf(err error) (*refused, bool) {
	if f, ok := errors.AsType[*cms.Failure](err); ok {
		return refuse(cmsRefusal(f), err), true
	}
	e, ok := errors.AsType[*certs.Error](err)
	if !ok {
		return nil, false
	}
	switch e.Kind {
	case certs.Expired, certs.NotYetValid:
		return refuse(message.RefuseCertificate(message.ExpiredCertificate, "", e.Thumbprint), err), true
	case certs.Revoked:
		return refuse(message.RefuseCertificate(message.RevokedCertificate, "", e.Thumbprint), err), true
	case certs.WrongUsage, certs.Untrusted:
		return refuse(message.RefuseCertificate(message.InvalidCertificate, "", e.Thumbprint), err), true
	}
	return nil, false
}

func cmsRefusal(f *cms.Failure) message.Refusal {
	if f.Kind == cms.InvalidCMS {
		return message.Refuse(message.InvalidCMS)
	}
	return message.RefuseCertificate(message.Condition(f.Kind), f.Expected, f.Actual)
}

// rejected is an error that goes to the sender as a negative AppRec (section G, second part).
type rejected struct {
	codes []string // of code list 8221
	text  string
	plain string // the text without what it quotes of the document, where it does
}

// forLog is the text without content of the document.
func (r *rejected) forLog() string {
	if r.plain != "" {
		return r.plain
	}
	return r.text
}

// Error implements error.
func (r *rejected) Error() string { return r.text }

// Codes of a negative AppRec (code list 8221).
const (
	codeReceiver     = "E10" // AMQP-109
	codeNoSubscriber = "E21" // nobody is subscribed to it
	codeXML          = "T01" // AMQP-110
	codeInvalid      = "T02" // AMQP-111, AMQP-112
)

// headFault turns a problem of a document into the answer to the sender.
func (b *Bridge) headFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, msghead.ErrEncoding):
		return refuse(message.RefuseEncoding(msghead.ExpectedCharset), err)
	case errors.Is(err, msghead.ErrHeader):
		c := message.NotWellFormedXML
		if b.cfg.HeaderXML {
			c = message.NotInterpretableXML
		}
		return refuse(message.Refuse(c), err)
	case errors.Is(err, msghead.ErrBody):
		return &rejected{codes: []string{codeXML}, text: err.Error()}
	case errors.Is(err, msghead.ErrValues):
		return &rejected{codes: []string{codeInvalid}, text: err.Error()}
	}
	return err
}
