// Package msghead reads the business documents of the health exchange as far as the bridge needs them: the KITH
// MsgHead 1.2 message, alone or in a SOAP envelope, the SOAP fault, and the application acknowledgement (AppRec 1.0
// and 1.1), which travels bare.
//
// Reading has two stages, because the answer to a broken message depends on what is broken: a message whose header
// cannot be read goes to the sender's error queue (AMQP-106), one whose header can be read and whose rest cannot gets
// a negative AppRec (AMQP-110), and so does one that lacks a value (AMQP-112). Parse streams, so the header is there
// when the rest is not XML.
package msghead

import "time"

// Namespaces of the documents.
const (
	Namespace         = "http://www.kith.no/xmlstds/msghead/2006-05-24"
	NamespaceAppRec10 = "http://www.kith.no/xmlstds/apprec/2004-11-21"
	NamespaceAppRec11 = "http://www.kith.no/xmlstds/apprec/2012-02-15"
	NamespaceSOAP11   = "http://schemas.xmlsoap.org/soap/envelope/"
	NamespaceSOAP12   = "http://www.w3.org/2003/05/soap-envelope"
)

// MIGVersion is the fixed content of MIGversion in a MsgHead 1.2.
const MIGVersion = "v1.2 2006-05-24"

// Kind names the form of a document.
type Kind int

// The kinds of documents. Unknown is the kind of a document that could not be read so far.
const (
	Unknown Kind = iota
	MsgHead
	SOAP      // a SOAP envelope with a MsgHead in its body
	SOAPFault // a SOAP envelope with a fault in its body
	AppRec10
	AppRec11
)

// String gives the name of a kind.
func (k Kind) String() string {
	switch k {
	case MsgHead:
		return "MsgHead"
	case SOAP:
		return "SOAP"
	case SOAPFault:
		return "SOAP fault"
	case AppRec10:
		return "AppRec 1.0"
	case AppRec11:
		return "AppRec 1.1"
	}
	return "unknown"
}

// IsAppRec reports whether the document is an application acknowledgement; package apprec reads its content.
func (k Kind) IsAppRec() bool { return k == AppRec10 || k == AppRec11 }

// Document holds the values read from a business document.
type Document struct {
	Kind Kind
	// SOAP is the version of the envelope, "1.1" or "1.2", empty without one.
	SOAP string
	// Info is the header, filled for a MsgHead alone or in SOAP.
	Info Info
	// Fault is filled for a SOAP fault.
	Fault Fault
	// Payloads are the namespaces of the documents in the message, in order: one for each element in
	// Document/RefDoc/Content. A document without inline content has none.
	Payloads []string
	// Documents counts the Document elements, attachments among them.
	Documents int
}

// Info is the header of a message, MsgHead/MsgInfo.
type Info struct {
	// Type is the function of the message, a code of code list 8279 in V.
	Type Code
	// MIGVersion is the version the sender says it follows.
	MIGVersion string
	// GenDate is the time of the message, as it stands in the message, which may be without a zone.
	GenDate string
	// MsgID is the id of the business message; it stays the same when the message is sent again (AMQP-116, AMQP-119).
	MsgID string
	// ProcessingStatus is P for production and D for test, empty when the sender does not say.
	ProcessingStatus Code
	// Ack is the sender's wish for an AppRec: J yes, N no, F only on errors, empty when the sender does not say.
	Ack Code
	// Conversation ties the message to others, empty for the first of a conversation.
	Conversation Conversation
	Sender       Party
	Receiver     Party
}

// AckWanted reports whether the sender asks for an AppRec. One that does not say gets one: the profile acknowledges every
// asynchronous message (AMQP-14).
func (i Info) AckWanted() bool { return i.Ack.V != "N" }

// Generated reads GenDate. A time without a zone is taken to be in the zone given. It tells false when GenDate is no
// xs:dateTime.
func (i Info) Generated(zone *time.Location) (time.Time, bool) {
	return ParseTime(i.GenDate, zone)
}

// Conversation refers to the message that is answered and to the first one of the conversation, by MsgID.
type Conversation struct {
	RefToParent, RefToConversation string
}

// Code is a coded value: V the code, S the code list, DN the text in the sender's words.
type Code struct{ V, S, DN string }

// Fault is a SOAP fault.
type Fault struct {
	// Code is the qualified name as it was written, as soap:Sender.
	Code string
	// Reason is the first text.
	Reason string
}

// ParseTime reads an xs:dateTime, with fractions of a second and with or without a zone; without one it is taken to be
// in the zone given.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, true
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", text, zone)
	return at, err == nil
}
