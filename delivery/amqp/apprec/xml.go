package apprec

import "encoding/xml"

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
