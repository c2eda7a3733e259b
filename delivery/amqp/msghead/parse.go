package msghead

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"time"

	"schakel/registry/xmlscan"
)

// maxEnvelope limits the depth of the message in the body of a SOAP envelope: services wrap it in an element or two of their own.
const maxEnvelope = 5

// Parse reads a business document. The error is an *Error that wraps the first of ErrEncoding, ErrHeader, ErrBody and ErrValues
// that holds; with ErrBody and ErrValues the header in the Document can be relied on, so that an AppRec can be made. Whether the
// parties are the right ones (AMQP-108, AMQP-109) is for the caller to check before it looks at ErrBody and ErrValues.
func Parse(doc []byte) (Document, error) {
	text, err := xmlscan.Decode(doc)
	if errors.Is(err, ErrEncoding) {
		return Document{}, &Error{Is: err}
	} else if err != nil {
		return Document{}, failed(ErrHeader, err)
	}
	p := &parser{r: xmlscan.NewReader(text)}
	if err := p.head(); err != nil {
		return p.doc, err
	}
	if err := p.rest(); err != nil {
		return p.doc, failed(ErrBody, err)
	}
	return p.doc, missing(ErrValues, p.absent())
}

type parser struct {
	r   *xmlscan.Reader
	doc Document
	// base is the depth of the MsgHead element, for finding its documents.
	base int
	// lacks are the fields the header lacks without being unreadable.
	lacks []string
}

// head reads as far as the header goes. What fails here is ErrHeader.
func (p *parser) head() error {
	root, err := p.start()
	if err != nil {
		return failed(ErrHeader, err)
	}
	if root, err = p.open(root); err != nil {
		return failed(ErrHeader, err)
	}
	switch {
	case p.doc.Kind.IsAppRec():
		return nil
	case root.Name.Local == "Fault":
		return p.fault(root)
	}
	return p.msgInfo()
}

func (p *parser) start() (xml.StartElement, error) {
	for {
		token, err := p.r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return xml.StartElement{}, errors.New("the document ends before its message begins")
		}
		if err != nil {
			return xml.StartElement{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, nil
		}
	}
}

// open finds out what the document is, and goes into a SOAP envelope for its message.
func (p *parser) open(root xml.StartElement) (xml.StartElement, error) {
	switch root.Name {
	case xml.Name{Space: NamespaceSOAP11, Local: "Envelope"}:
		p.doc.SOAP = "1.1"
		return p.envelope(root.Name.Space)
	case xml.Name{Space: NamespaceSOAP12, Local: "Envelope"}:
		p.doc.SOAP = "1.2"
		return p.envelope(root.Name.Space)
	}
	if p.doc.Kind = kindOf(root.Name); p.doc.Kind == Unknown {
		return root, fmt.Errorf("%s is no MsgHead, AppRec or SOAP envelope", label(root.Name))
	}
	p.base = p.r.Depth()
	return root, nil
}

func kindOf(name xml.Name) Kind {
	switch name {
	case xml.Name{Space: Namespace, Local: "MsgHead"}:
		return MsgHead
	case xml.Name{Space: NamespaceAppRec10, Local: "AppRec"}:
		return AppRec10
	case xml.Name{Space: NamespaceAppRec11, Local: "AppRec"}:
		return AppRec11
	}
	return Unknown
}

// envelope finds the message in the body of a SOAP envelope. What stands in the SOAP header is passed over.
func (p *parser) envelope(space string) (xml.StartElement, error) {
	for {
		start, err := p.start()
		if err != nil {
			return start, err
		}
		if start.Name == (xml.Name{Space: space, Local: "Body"}) && p.r.Depth() == 2 {
			return p.body(space)
		}
		if _, err := p.r.Element(start); err != nil {
			return start, err
		}
	}
}

// body finds the message, or the fault, in a SOAP body.
func (p *parser) body(space string) (xml.StartElement, error) {
	for {
		start, err := p.start()
		if err != nil {
			return start, err
		}
		if p.r.Depth() < 3 || p.r.Depth() > maxEnvelope {
			return start, errors.New("the SOAP body holds no MsgHead and no fault")
		}
		if start.Name == (xml.Name{Space: space, Local: "Fault"}) && p.r.Depth() == 3 {
			p.doc.Kind = SOAPFault
			return start, nil
		}
		if kind := kindOf(start.Name); kind != Unknown {
			if p.doc.Kind = kind; kind == MsgHead {
				p.doc.Kind = SOAP
			}
			p.base = p.r.Depth()
			return start, nil
		}
	}
}

func (p *parser) fault(start xml.StartElement) error {
	n, err := p.r.Element(start)
	if err != nil {
		return failed(ErrHeader, err)
	}
	p.doc.Fault = Fault{Code: n.Find("Code", "Value").Text(), Reason: n.Find("Reason", "Text").Text()}
	for _, kid := range n.Kids {
		switch kid.Name.Local {
		case "faultcode":
			p.doc.Fault.Code = kid.Text()
		case "faultstring":
			p.doc.Fault.Reason = kid.Text()
		}
	}
	return nil
}

func label(name xml.Name) string {
	const most = 80
	text := name.Local
	if name.Space != "" {
		text += " of " + name.Space
	}
	if len(text) > most {
		return "the root element"
	}
	return text
}

// msgInfo reads the header of a MsgHead, which must be its first element. Without the id and the sender's HER-id nobody could be
// answered about the message, so a header without them counts as unreadable, as does one of another version.
func (p *parser) msgInfo() error {
	start, err := p.start()
	if err != nil {
		return failed(ErrHeader, err)
	}
	if start.Name != (xml.Name{Space: Namespace, Local: "MsgInfo"}) || p.r.Depth() != p.base+1 {
		return failed(ErrHeader, errors.New("MsgInfo does not come first"))
	}
	n, err := p.r.Element(start)
	if err != nil {
		return failed(ErrHeader, err)
	}
	p.doc.Info = readInfo(n)
	p.lacks = p.doc.Info.lacks()
	return p.doc.Info.unusable()
}

func readInfo(n *xmlscan.Node) Info {
	return Info{
		Type:             readCode(n.Find("Type")),
		MIGVersion:       n.Find("MIGversion").Text(),
		GenDate:          n.Find("GenDate").Text(),
		MsgID:            n.Find("MsgId").Text(),
		ProcessingStatus: readCode(n.Find("ProcessingStatus")),
		Ack:              readCode(n.Find("Ack")),
		Conversation: Conversation{
			RefToParent:       n.Find("ConversationRef", "RefToParent").Text(),
			RefToConversation: n.Find("ConversationRef", "RefToConversation").Text(),
		},
		Sender:   readParty(n.Find("Sender")),
		Receiver: readParty(n.Find("Receiver")),
	}
}

// unusable gives ErrHeader for a header that no answer can be made from.
func (i Info) unusable() error {
	var fields []string
	if i.MIGVersion != MIGVersion {
		fields = append(fields, "MsgInfo/MIGversion")
	}
	if i.MsgID == "" {
		fields = append(fields, "MsgInfo/MsgId")
	}
	if i.Sender.HerID() == 0 {
		fields = append(fields, "MsgInfo/Sender/Organisation/Ident (HER)")
	}
	return missing(ErrHeader, fields)
}

// lacks names the values that a message must have besides (AMQP-112).
func (i Info) lacks() []string {
	var fields []string
	if i.Type.V == "" {
		fields = append(fields, "MsgInfo/Type/@V")
	}
	if _, ok := i.Generated(time.UTC); !ok {
		fields = append(fields, "MsgInfo/GenDate")
	}
	if i.Receiver.HerID() == 0 {
		fields = append(fields, "MsgInfo/Receiver/Organisation/Ident (HER)")
	}
	return fields
}

// absent names all required values that the document lacks.
func (p *parser) absent() []string {
	if p.doc.Kind != MsgHead && p.doc.Kind != SOAP {
		return nil
	}
	fields := p.lacks
	if p.doc.Documents == 0 {
		fields = append(fields, "Document")
	}
	return fields
}

func (p *parser) rest() error {
	var path []string
	p.r.Skim()
	for {
		token, err := p.r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = p.note(t.Name, path)
		case xml.EndElement:
			path = path[:min(len(path), max(p.r.Depth()-p.base, 0))]
		}
	}
}

// note follows the elements below the MsgHead that lead to a payload.
func (p *parser) note(name xml.Name, path []string) []string {
	depth := p.r.Depth() - p.base
	if depth != len(path)+1 || p.base == 0 {
		return path
	}
	if n := len(path); n > 1 && path[n-1] == "Content" && path[n-2] == "RefDoc" {
		p.doc.Payloads = append(p.doc.Payloads, name.Space)
		return path
	}
	if name.Space != Namespace {
		return path
	}
	switch name.Local {
	case "Document":
		p.doc.Documents++
		return append(path, name.Local)
	case "PatientReport", "RefDoc", "Content":
		return append(path, name.Local)
	}
	return path
}
