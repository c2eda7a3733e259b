// Package msghead reads the business documents of the health exchange as far as the bridge needs them: the KITH MsgHead 1.2
// message, alone or in a SOAP envelope, the SOAP fault, and the application acknowledgement (AppRec 1.0 and 1.1), which travels
// bare.
//
// Reading has two stages, because the answer to a broken message depends on what is broken: a message whose header cannot be read
// goes to the sender's error queue (AMQP-106), one whose header can be read and whose rest cannot gets a negative AppRec
// (AMQP-110), and so does one that lacks a value (AMQP-112). Parse streams, so the header is there when the rest is not XML.
package msghead

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"schakel/registry/xmlscan"
)

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

// Generated reads GenDate. A time without a zone is taken to be in the zone given. It tells false when GenDate is no xs:dateTime.
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

// TypeHER is the code of an id in the address registry, a HER-id.
const TypeHER = "HER"

// Party is a sender or receiver: an organisation, and within it at most one unit or one person that the message is
// really from or to.
type Party struct {
	// Organisation is the highest level.
	Organisation Unit
	// Unit is the lowest organisation within it, nil when there is none.
	Unit *Unit
	// Person is the health-care professional, nil when there is none.
	Person *Unit
}

// Unit is an organisation or a person with its ids.
type Unit struct {
	Name   string
	Idents []Ident
}

// Ident is an id of a unit.
type Ident struct {
	ID string
	// Type names the kind of id: HER, ENH, HPR and so on in V.
	Type Code
}

// HerID is the HER-id of a unit, 0 when it has none that is a number.
func (u *Unit) HerID() int {
	if u == nil {
		return 0
	}
	for _, ident := range u.Idents {
		if ident.Type.V == TypeHER {
			if id, ok := ParseHerID(ident.ID); ok {
				return id
			}
		}
	}
	return 0
}

// HerID is the HER-id of the communication party, 0 when there is none: that of the unit within the organisation, else of the
// person, else of the organisation itself. It is the one that stands in fromHerId and toHerId (AMQP-108, AMQP-109).
func (p Party) HerID() int {
	for _, unit := range []*Unit{p.Unit, p.Person, &p.Organisation} {
		if id := unit.HerID(); id != 0 {
			return id
		}
	}
	return 0
}

// ParentHerID is the HER-id of the organisation when it is not the communication party itself, else 0.
func (p Party) ParentHerID() int {
	if id := p.Organisation.HerID(); id != p.HerID() {
		return id
	}
	return 0
}

// Name is the name of the communication party.
func (p Party) Name() string {
	for _, unit := range []*Unit{p.Unit, p.Person} {
		if unit.HerID() != 0 {
			return unit.Name
		}
	}
	return p.Organisation.Name
}

// ParseHerID reads a HER-id: a positive number of at most nine digits.
func ParseHerID(text string) (int, bool) {
	if len(text) == 0 || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	id, err := strconv.Atoi(text)
	return id, err == nil && id > 0
}

// readParty reads a Sender or Receiver. Of organisations within organisations the lowest with a HER-id is the unit.
func readParty(n *xmlscan.Node) Party {
	top := n.Find("Organisation")
	party := Party{Organisation: readUnit(top, "OrganisationName")}
	for at := top; at != nil; at = at.Find("Organisation") {
		if unit := readUnit(at, "OrganisationName"); at != top && (party.Unit == nil || unit.HerID() != 0) {
			party.Unit = &unit
		}
		if person := at.Find("HealthcareProfessional"); person != nil && party.Person == nil {
			unit := readUnit(person, "")
			party.Person = &unit
		}
	}
	return party
}

// readUnit reads the name and the ids of an organisation, or of a person when there is no name element.
func readUnit(n *xmlscan.Node, name string) Unit {
	unit := Unit{Name: n.Find(name).Text()}
	if name == "" {
		parts := []string{n.Find("GivenName").Text(), n.Find("MiddleName").Text(), n.Find("FamilyName").Text()}
		unit.Name = strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
	}
	for _, ident := range n.All("Ident") {
		unit.Idents = append(unit.Idents, Ident{ID: ident.Find("Id").Text(), Type: readCode(ident.Find("TypeId"))})
	}
	return unit
}

// readCode reads a coded value; an absent element has none.
func readCode(n *xmlscan.Node) Code {
	return Code{V: n.Attribute("V"), S: n.Attribute("S"), DN: n.Attribute("DN")}
}

// What can be wrong with a document. The order is that of the checks: the first that fails is the one that Parse gives.
var (
	// ErrEncoding is answered with transport:invalid-encoding and ExpectedCharset (AMQP-135).
	ErrEncoding = xmlscan.ErrEncoding
	// ErrHeader reports that the header cannot be interpreted: answered with transport:not-well-formed-xml (AMQP-106).
	ErrHeader = errors.New("the header of the message cannot be read")
	// ErrBody reports that the header was read and the rest is no XML: answered with an AppRec T01 (AMQP-110).
	ErrBody = errors.New("the message cannot be read after its header")
	// ErrValues reports that required values are missing: answered with an AppRec T02 (AMQP-112).
	ErrValues = errors.New("required values are missing or wrong")
)

// ExpectedCharset goes into the error transport:invalid-encoding, for the sender to use (AMQP-135).
const ExpectedCharset = "utf-8"

// Error describes a problem of a document. It wraps one of ErrEncoding, ErrHeader, ErrBody and ErrValues and, where
// there is one, the cause. It quotes names of elements, never the content of the message.
type Error struct {
	// Is is the class, or an error that wraps it.
	Is error
	// Line and Column count from 1; 0 when there is no place to point at.
	Line, Column int
	// Cause is the error of the reader, nil for ErrValues.
	Cause error
	// Fields are the paths of missing values, as MsgInfo/MsgId.
	Fields []string
}

// Error gives the whole in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Is.Error())
	if len(e.Fields) > 0 {
		b.WriteString(": " + strings.Join(e.Fields, ", "))
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Is}
	}
	return []error{e.Is, e.Cause}
}

func failed(class, cause error) *Error {
	e := &Error{Is: class, Cause: cause}
	var syntax *xmlscan.SyntaxError
	if errors.As(cause, &syntax) {
		e.Line, e.Column = syntax.Line, syntax.Column
	}
	return e
}

// missing makes an *Error of a class about fields, nil when there are none.
func missing(class error, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	return &Error{Is: class, Fields: fields}
}
