package msghead

import (
	"encoding/xml"
	"errors"
	"io"
	"time"

	"schakel/registry/xmlscan"
)

// msgInfo reads the header of a MsgHead, which must be its first element. Without the id and the sender's HER-id nobody
// could be answered about the message, so a header without them counts as unreadable, as does one of another
// version.
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

// readInfo takes the values out of a MsgInfo.
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

// rest reads on to the end and notes what documents the message carries.
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
