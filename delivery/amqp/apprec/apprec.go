// Package apprec writes and reads application acknowledgements, AppRec 1.0 and 1.1 of KITH, by which a receiver takes
// or refuses a business message (AMQP-14, AMQP-83, AMQP-86). They travel bare, without a MsgHead.
package apprec

import (
	"schakel/delivery/amqp/msghead"
)

// Version is a version of AppRec.
type Version int

// The versions. helsenorge.no uses V11 today.
const (
	V10 Version = iota + 1
	V11
)

// String gives the number of a version.
func (v Version) String() string {
	switch v {
	case V10:
		return "1.0"
	case V11:
		return "1.1"
	}
	return "unknown"
}

// Namespace gives the namespace of the root element of a version.
func (v Version) Namespace() string {
	if v == V10 {
		return msghead.NamespaceAppRec10
	}
	return msghead.NamespaceAppRec11
}

// migVersion is the content of MIGversion.
func (v Version) migVersion() string {
	if v == V10 {
		return "1.0 2004-11-21"
	}
	return "v1.1 2012-02-15"
}

// VersionOf gives the version a namespace stands for, 0 when it is none of AppRec.
func VersionOf(namespace string) Version {
	switch namespace {
	case msghead.NamespaceAppRec10:
		return V10
	case msghead.NamespaceAppRec11:
		return V11
	}
	return 0
}

// Status gives the outcome of a message at its receiver, a code of code list 8258.
type Status string

// The statuses of code list 8258. A reader can meet others: they stay as they came and mean neither yes nor no.
const (
	OK       Status = "1"
	Rejected Status = "2"
	Partly   Status = "3" // taken, with errors in parts of it
)

// Known reports whether the status is one of the code list.
func (s Status) Known() bool { return s == OK || s == Rejected || s == Partly }

// Accepted reports whether responsibility has passed to the receiver (AMQP-16): it took the message, be it with errors in
// parts of it.
func (s Status) Accepted() bool { return s == OK || s == Partly }

// text is the name of a status in the code list.
func (s Status) text() string {
	switch s {
	case OK:
		return "OK"
	case Rejected:
		return "Avvist"
	case Partly:
		return "OK, feil i delmelding"
	}
	return ""
}

// CodeList8221 is the OID of the code list of errors.
const CodeList8221 = "2.16.578.1.12.4.1.1.8221"

// Error is a reason for not taking a message, or a part of it.
type Error struct {
	// Code is the code in V, such as E10.
	Code string
	// List is the OID of the code list in S.
	List string
	// Text is the meaning in DN.
	Text string
	// Detail is the other text in OT: what is wrong with this message in particular.
	Detail string
}

// Errors of code list 8221 that this program gives.
func errorOf(code, text, detail string) Error {
	return Error{Code: code, List: CodeList8221, Text: text, Detail: detail}
}

// E10 refuses a message that is for somebody else (AMQP-109).
func E10(detail string) Error { return errorOf("E10", "Ugyldig meldingsidentifikator", detail) }

// E21 refuses a message that has no recipient here.
func E21(detail string) Error { return errorOf("E21", "Mottaker finnes ikke", detail) }

// T01 refuses a message that is no XML after its header (AMQP-110).
func T01(detail string) Error {
	return errorOf("T01", "Ikke XML / ikke 'well formed' / uleselig", detail)
}

// T02 refuses a message that does not follow its schema (AMQP-111) or lacks required values (AMQP-112).
func T02(detail string) Error { return errorOf("T02", "XML validerer ikke", detail) }

// AppRec is an acknowledgement as it was read.
type AppRec struct {
	Version Version
	// ID is the id of the acknowledgement itself.
	ID string
	// GenDate is the time of the acknowledgement, as it stands there.
	GenDate string
	// Status is the code, known or not; the receiver wrote StatusText beside it.
	Status     Status
	StatusText string
	Errors     []Error
	// Original is the message it is about.
	Original Original
	// Sender and Receiver are the HER-ids of the communication parties, 0 when there is none.
	Sender, Receiver int
}

// Original refers to the message that an acknowledgement is about.
type Original struct {
	// Type is the function of the message, a code of code list 8279 with its text.
	Type msghead.Code
	// IssueDate is the GenDate of the message, as it stands there.
	IssueDate string
	// ID is the MsgId of the message.
	ID string
}
