// Package apprec writes and reads application acknowledgements, AppRec 1.0 and 1.1 of KITH, by which a receiver takes
// or refuses a business message (AMQP-14, AMQP-83, AMQP-86). They travel bare, without a MsgHead.
package apprec

import (
	"errors"
	"fmt"

	"schakel/delivery/amqp/msghead"
	"schakel/registry/xmlscan"
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

// Errors of Parse.
var (
	// ErrNotAppRec reports that a document is no AppRec 1.0 or 1.1, or no XML at all.
	ErrNotAppRec = errors.New("not an application acknowledgement")
	// ErrIncomplete reports that an acknowledgement lacks its status or the id of the message it is about.
	ErrIncomplete = errors.New("acknowledgement lacks its status or the id of its message")
)

// Parse reads an acknowledgement of either version. A status that is not in the code list stays as it is, never an error
// (AMQP-88). Only a missing status, or a missing id of the message, makes an acknowledgement useless: then the error is
// ErrIncomplete, with what could be read. Role, departments and further ids are passed over.
func Parse(doc []byte) (AppRec, error) {
	text, err := xmlscan.Decode(doc)
	if err != nil {
		return AppRec{}, fmt.Errorf("%w: %w", ErrNotAppRec, err)
	}
	root, err := xmlscan.Parse(text)
	if err != nil {
		return AppRec{}, fmt.Errorf("%w: %w", ErrNotAppRec, err)
	}
	version := VersionOf(root.Name.Space)
	if version == 0 || root.Name.Local != "AppRec" {
		return AppRec{}, ErrNotAppRec
	}
	got := read(root, version)
	if got.Status == "" || got.Original.ID == "" {
		return got, ErrIncomplete
	}
	return got, nil
}

func read(root *xmlscan.Node, version Version) AppRec {
	original := root.Find("OriginalMsgId")
	got := AppRec{
		Version: version,
		ID:      root.Find("Id").Text(),
		GenDate: root.Find("GenDate").Text(),
		Status:  Status(root.Find("Status").Attribute("V")), StatusText: root.Find("Status").Attribute("DN"),
		Original: Original{
			Type: msghead.Code{
				V: original.Find("MsgType").Attribute("V"), DN: original.Find("MsgType").Attribute("DN"),
			},
			IssueDate: original.Find("IssueDate").Text(), ID: original.Find("Id").Text(),
		},
		Sender: readHerID(root.Find("Sender", "HCP")), Receiver: readHerID(root.Find("Receiver", "HCP")),
	}
	for _, e := range root.All("Error") {
		got.Errors = append(got.Errors, Error{
			Code: e.Attribute("V"), List: e.Attribute("S"), Text: e.Attribute("DN"), Detail: e.Attribute("OT"),
		})
	}
	return got
}

// readHerID finds the HER-id of the communication party: that of the department, else of the person, else of the institution.
func readHerID(hcp *xmlscan.Node) int {
	inst := hcp.Find("Inst")
	for _, n := range []*xmlscan.Node{inst.Find("Dept"), inst.Find("HCPerson"), inst, hcp.Find("HCProf")} {
		if id := herID(n); id != 0 {
			return id
		}
	}
	return 0
}

func herID(n *xmlscan.Node) int {
	if n.Find("TypeId").Attribute("V") == msghead.TypeHER {
		if id, ok := msghead.ParseHerID(n.Find("Id").Text()); ok {
			return id
		}
	}
	for _, further := range n.All("AdditionalId") {
		if further.Find("Type").Attribute("V") == msghead.TypeHER {
			if id, ok := msghead.ParseHerID(further.Find("Id").Text()); ok {
				return id
			}
		}
	}
	return 0
}
