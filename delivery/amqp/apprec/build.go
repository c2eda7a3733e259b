package apprec

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"schakel/delivery/amqp/msghead"
)

// Answer holds the values of an acknowledgement. The same Answer gives the same bytes, so that a repeated answer is
// the same answer (AMQP-139).
type Answer struct {
	// Version is V10 or V11.
	Version Version
	// ID is the id of the acknowledgement, unique for each message that is answered.
	ID string
	// At is the time of the acknowledgement; it is written in UTC, in whole seconds.
	At time.Time
	// Info is the header of the message that is answered: its sender becomes the receiver.
	Info msghead.Info
	// Errors are the reasons to refuse the message; without any it is taken.
	Errors []Error
}

// ErrAnswer reports that an Answer lacks what an acknowledgement must have.
var ErrAnswer = errors.New("acknowledgement is incomplete")

// maxDetail bounds the text of one error.
const maxDetail = 1000

// Build writes an acknowledgement, valid by its schema: status 1 without errors, status 2 with them. A message whose GenDate is
// no time gets the time of the acknowledgement as its IssueDate, because the schema wants one. The error wraps ErrAnswer.
func Build(a Answer) ([]byte, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	doc := appRecXML{
		XMLName: xml.Name{Space: a.Version.Namespace(), Local: "AppRec"},
		MsgType: codeXML{V: "APPREC", DN: "Applikasjonskvittering"}, MIGVersion: a.Version.migVersion(),
		GenDate: stamp(a.At), ID: a.ID,
		Sender: sideOf(a.Info.Receiver), Receiver: sideOf(a.Info.Sender),
		Status: statusOf(a.Errors), Errors: errorsOf(a.Errors),
		Original: originalXML{
			MsgType:   codeXML{V: a.Info.Type.V, DN: a.Info.Type.DN},
			IssueDate: a.issueDate(), ID: a.Info.MsgID,
		},
	}
	if a.Version == V11 {
		doc.Sender.Role = &codeXML{V: "PRIM", DN: "Primærmottaker"}
		doc.Receiver.Role = &codeXML{V: "AVS", DN: "Avsender"}
	}
	body, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("build acknowledgement: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

// check sees that nothing is missing that the schema or the reader needs.
func (a Answer) check() error {
	switch {
	case a.Version != V10 && a.Version != V11:
		return fmt.Errorf("%w: version %d", ErrAnswer, a.Version)
	case a.ID == "":
		return fmt.Errorf("%w: no id", ErrAnswer)
	case a.Info.MsgID == "":
		return fmt.Errorf("%w: no id of the message", ErrAnswer)
	case a.Info.Sender.HerID() == 0:
		return fmt.Errorf("%w: no HER-id of the sender", ErrAnswer)
	}
	return nil
}

// issueDate is the GenDate of the message, as it was written when it can be.
func (a Answer) issueDate() string {
	if _, ok := msghead.ParseTime(a.Info.GenDate, time.UTC); ok {
		return a.Info.GenDate
	}
	return stamp(a.At)
}

func stamp(at time.Time) string { return at.UTC().Truncate(time.Second).Format(time.RFC3339) }

func statusOf(all []Error) codeXML {
	status := OK
	if len(all) > 0 {
		status = Rejected
	}
	return codeXML{V: string(status), DN: status.text()}
}

func errorsOf(all []Error) []errorXML {
	var out []errorXML
	for _, e := range all {
		out = append(out, errorXML{V: e.Code, S: e.List, DN: e.Text, OT: clip(e.Detail)})
	}
	return out
}

// clip keeps an error readable for a person.
func clip(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	cut := maxDetail
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// sideOf mirrors a party of the message: the institution, and in it the department or person that is the communication
// party. Only one id of each goes back, the HER-id where there is one.
func sideOf(p msghead.Party) sideXML {
	inst := instXML{unitXML: unitOf(p.Organisation)}
	switch {
	case p.Unit.HerID() != 0 || p.Unit != nil && p.Person.HerID() == 0:
		dept := unitOf(*p.Unit)
		inst.Dept = &dept
	case p.Person != nil:
		person := unitOf(*p.Person)
		inst.Person = &person
	}
	return sideXML{Inst: inst}
}

func unitOf(u msghead.Unit) unitXML {
	out := unitXML{Name: u.Name}
	for _, ident := range u.Idents {
		if out.ID != "" && ident.Type.V != msghead.TypeHER {
			continue
		}
		out.ID, out.TypeID = ident.ID, &codeXML{V: strings.TrimSpace(ident.Type.V), DN: ident.Type.DN}
		if ident.Type.V == msghead.TypeHER {
			break
		}
	}
	return out
}

// The elements of an acknowledgement in the order of the schema. They have no namespace of their own: the default one
// of the root holds for all.

type appRecXML struct {
	XMLName    xml.Name
	MsgType    codeXML     `xml:"MsgType"`
	MIGVersion string      `xml:"MIGversion"`
	GenDate    string      `xml:"GenDate"`
	ID         string      `xml:"Id"`
	Sender     sideXML     `xml:"Sender"`
	Receiver   sideXML     `xml:"Receiver"`
	Status     codeXML     `xml:"Status"`
	Errors     []errorXML  `xml:"Error"`
	Original   originalXML `xml:"OriginalMsgId"`
}

type codeXML struct {
	V  string `xml:"V,attr"`
	DN string `xml:"DN,attr,omitempty"`
}

type errorXML struct {
	V  string `xml:"V,attr"`
	S  string `xml:"S,attr,omitempty"`
	DN string `xml:"DN,attr,omitempty"`
	OT string `xml:"OT,attr,omitempty"`
}

type sideXML struct {
	Role *codeXML `xml:"Role"`
	Inst instXML  `xml:"HCP>Inst"`
}

type instXML struct {
	unitXML
	Dept   *unitXML `xml:"Dept"`
	Person *unitXML `xml:"HCPerson"`
}

type unitXML struct {
	Name   string   `xml:"Name,omitempty"`
	ID     string   `xml:"Id,omitempty"`
	TypeID *codeXML `xml:"TypeId"`
}

type originalXML struct {
	MsgType   codeXML `xml:"MsgType"`
	IssueDate string  `xml:"IssueDate"`
	ID        string  `xml:"Id"`
}
