// Package cpa reads how a party of the health exchange wants to be reached, from the documents that its registers give
// out: a collaboration protocol profile (CPP) of one party, an agreement (CPA) of two, both ebXML CPPA 2.0, and the
// communication details of the address registry, as XML or JSON. All become the same plain Details.
//
// A document is read as far as it goes: what is missing or odd in it becomes a Finding with its line, and only what
// makes it useless is an error. Reading is bounded and knows no document types, entities or other files.
package cpa

import (
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"schakel/templates/i18n"
)

// Kind names the form of a document.
type Kind string

// The kinds of documents.
const (
	Agreement     Kind = "CPA"
	Profile       Kind = "CPP"
	Communication Kind = "communication details"
)

// Errors of Parse.
var (
	// ErrNotXML reports that a document is no XML and no JSON, or passes the bounds.
	ErrNotXML = errors.New("document cannot be read as XML or JSON")
	// ErrTooLarge and ErrNotUTF8 report why, beside ErrNotXML.
	ErrTooLarge = errors.New("it is larger than 4 MiB")
	ErrNotUTF8  = errors.New("it is not in UTF-8")
	// ErrNotProfile reports that a document is none of the kinds this package reads.
	ErrNotProfile = errors.New("document is no CPA, CPP or communication details")
	// ErrNoHerID reports that a party has no HER-id that is a number.
	ErrNoHerID = errors.New("document names no party with a HER-id")
	// ErrNoChannel reports that no party can be reached over AMQP.
	ErrNoChannel = errors.New("document names no AMQP queue")
)

// Document holds the values read: one party, or the two of an agreement.
type Document struct {
	Kind Kind
	// Status is that of an agreement: proposed, agreed or signed.
	Status   string
	Parties  []Details
	Findings []Finding
}

// Party finds a party of a document by its HER-id.
func (d Document) Party(herID int) (Details, bool) {
	for _, party := range d.Parties {
		if party.HerID == herID {
			return party, true
		}
	}
	return Details{}, false
}

// Finding is something missing or odd in a document. Line counts from 1; 0 when the place is not known.
type Finding struct {
	Line int
	Text i18n.Message
}

// Message gives a finding in one line, for people.
func (f Finding) Message() i18n.Message {
	if f.Line == 0 {
		return f.Text
	}
	return i18n.M("amqp.cpa.at-line", f.Line, f.Text)
}

// String gives a finding in one line, in English.
func (f Finding) String() string { return f.Message().String() }

// Details describes one party: its queues, certificates and processes.
type Details struct {
	HerID int
	// ParentHerID is the organisation the party belongs to, 0 when the document does not say.
	ParentHerID int
	Name        string
	ParentName  string
	// CPAID is set for a party of an agreement (AMQP-27), CPPID for a profile.
	CPAID, CPPID string
	// ValidFrom and ValidUntil bound the validity; the zero time is no bound.
	ValidFrom, ValidUntil time.Time
	// Active is false when the address registry says that the party is not in use.
	Active bool
	Queues Queues
	// Certificates were read from the document; communication details have none but CertificateURL.
	Certificates   Certificates
	CertificateURL string
	Processes      []Process
}

// Queues are the ids of queues as they are registered, as host/namespace/8141703_async; empty when there is none
// (AMQP-20, AMQP-23).
type Queues struct{ Async, Sync, SyncReply, Error string }

// Certificates are the enterprise certificates of a party, the newest first (AMQP-64). One that is meant for both stands in both.
type Certificates struct{ Sign, Encrypt []*x509.Certificate }

// Mode reports whether a message goes over the synchronous or the asynchronous queue.
type Mode string

// The modes.
const (
	Async Mode = "async"
	Sync  Mode = "sync"
)

// Process is a communication process that a party supports in a role (AMQP-09, AMQP-100).
type Process struct {
	Name, Version string
	// Role goes into fromRole or toRole (AMQP-31, AMQP-33), Service into Service (AMQP-28).
	Role, Service string
	// Subject is the code of code list 8279 that messages of the process have (AMQP-21).
	Subject string
	Actions []Action
	// SendsAppRec and TakesAppRec report whether the party acknowledges, and takes acknowledgements, in this process.
	SendsAppRec, TakesAppRec bool
	// AppRecVersion is "1.0" or "1.1", the one the party names for its acknowledgements, empty when it names none.
	AppRecVersion string
}

// Action is one message of a process.
type Action struct {
	// Name goes into Action (AMQP-28).
	Name string
	// Sends and Takes report the directions: the party sends it, takes it, or both.
	Sends, Takes bool
	Mode         Mode
	// Queue names the queue at which the party takes it, and to which answers go.
	Queue string
	// Receipt reports whether the sender must get a receipt that cannot be denied.
	Receipt bool
	// Namespaces lists the namespaces of the documents in the message.
	Namespaces []string
}

// Supports finds what a party agreed to for messages of a subject: those it takes, or those it sends. Action may be
// empty for any.
func (d Details) Supports(subject, action string, takes bool) (Process, Action, bool) {
	for _, process := range d.Processes {
		if !strings.EqualFold(process.Subject, subject) {
			continue
		}
		for _, one := range process.Actions {
			fits := takes && one.Takes || !takes && one.Sends
			if fits && (action == "" || strings.EqualFold(one.Name, action)) {
				return process, one, true
			}
		}
	}
	return Process{}, Action{}, false
}

// ValidAt reports whether a time lies within the validity.
func (d Details) ValidAt(at time.Time) bool {
	return !at.Before(d.ValidFrom) && (d.ValidUntil.IsZero() || at.Before(d.ValidUntil))
}
