package msghead

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"time"
)

// Draft is a dialogue message to write: a question with at most one attachment, as Dialogmelding 1.1 within a MsgHead.
// It is meant for demonstrations and tests; real messages come whole from the system that owns them.
type Draft struct {
	Type         Code
	MsgID        string
	Generated    time.Time
	Conversation Conversation
	Sender       Party
	Receiver     Party
	// Topic is the code of the question in code list 7601, as BA for an attestation.
	Topic    Code
	Question string
	// Attachment is put in the message as application/octet-stream; nil for none.
	Attachment []byte
}

// Compose writes a draft. The same draft gives the same bytes.
func Compose(d Draft) ([]byte, error) {
	head := headXML{Info: infoXML{
		Type: codeXML(d.Type), MIGVersion: MIGVersion, GenDate: d.Generated.Format(time.RFC3339), MsgID: d.MsgID,
		Ack:    codeXML{V: "J", DN: "Ja"},
		Sender: partyOf(d.Sender), Receiver: partyOf(d.Receiver),
	}}
	if d.Conversation != (Conversation{}) {
		head.Info.Conversation = &conversationXML{d.Conversation.RefToParent, d.Conversation.RefToConversation}
	}
	question := &dialogXML{Topic: codeXML(d.Topic), Question: d.Question}
	head.Documents = append(head.Documents, documentXML{
		MsgType: codeXML{V: "XML", DN: "XML-instans"}, Content: contentXML{Dialog: question},
	})
	if d.Attachment != nil {
		box := &boxXML{Text: base64.StdEncoding.EncodeToString(d.Attachment)}
		head.Documents = append(head.Documents, documentXML{
			MsgType: codeXML{V: "A", DN: "Vedlegg"}, MimeType: "application/octet-stream", Content: contentXML{Box: box},
		})
	}
	body, err := xml.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("compose message: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

type headXML struct {
	XMLName   xml.Name      `xml:"http://www.kith.no/xmlstds/msghead/2006-05-24 MsgHead"`
	Info      infoXML       `xml:"MsgInfo"`
	Documents []documentXML `xml:"Document"`
}

type infoXML struct {
	Type         codeXML          `xml:"Type"`
	MIGVersion   string           `xml:"MIGversion"`
	GenDate      string           `xml:"GenDate"`
	MsgID        string           `xml:"MsgId"`
	Ack          codeXML          `xml:"Ack"`
	Conversation *conversationXML `xml:"ConversationRef"`
	Sender       organisationXML  `xml:"Sender>Organisation"`
	Receiver     organisationXML  `xml:"Receiver>Organisation"`
}

type conversationXML struct {
	Parent       string `xml:"RefToParent"`
	Conversation string `xml:"RefToConversation"`
}

type codeXML struct {
	V  string `xml:"V,attr"`
	S  string `xml:"S,attr,omitempty"`
	DN string `xml:"DN,attr,omitempty"`
}

type organisationXML struct {
	Name   string           `xml:"OrganisationName"`
	Idents []identXML       `xml:"Ident"`
	Unit   *organisationXML `xml:"Organisation"`
	Person *personXML       `xml:"HealthcareProfessional"`
}

type personXML struct {
	FamilyName string     `xml:"FamilyName"`
	Idents     []identXML `xml:"Ident"`
}

type identXML struct {
	ID   string  `xml:"Id"`
	Type codeXML `xml:"TypeId"`
}

type documentXML struct {
	MsgType  codeXML    `xml:"RefDoc>MsgType"`
	MimeType string     `xml:"RefDoc>MimeType,omitempty"`
	Content  contentXML `xml:"RefDoc>Content"`
}

type contentXML struct {
	Dialog *dialogXML
	Box    *boxXML
}

type dialogXML struct {
	XMLName  xml.Name `xml:"http://www.kith.no/xmlstds/dialog/2013-01-23 Dialogmelding"`
	Topic    codeXML  `xml:"Foresporsel>TypeForesp"`
	Question string   `xml:"Foresporsel>Sporsmal"`
}

type boxXML struct {
	XMLName xml.Name `xml:"http://www.kith.no/xmlstds/base64container Base64Container"`
	Text    string   `xml:",chardata"`
}

func partyOf(p Party) organisationXML {
	top := organisationXML{Name: p.Organisation.Name, Idents: identsOf(p.Organisation)}
	if p.Unit != nil {
		top.Unit = &organisationXML{Name: p.Unit.Name, Idents: identsOf(*p.Unit)}
	}
	if p.Person != nil {
		top.Person = &personXML{FamilyName: p.Person.Name, Idents: identsOf(*p.Person)}
	}
	return top
}

func identsOf(u Unit) []identXML {
	var all []identXML
	for _, ident := range u.Idents {
		all = append(all, identXML{ID: ident.ID, Type: codeXML(ident.Type)})
	}
	return all
}
