package apprec

import (
	"errors"
	"fmt"

	"schakel/delivery/amqp/msghead"
	"schakel/registry/xmlscan"
)

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

// read takes the values out of an AppRec.
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

// readHerID finds the HER-id of the communication party: that of the department, else of the person, else of the
// institution.
func readHerID(hcp *xmlscan.Node) int {
	inst := hcp.Find("Inst")
	for _, n := range []*xmlscan.Node{inst.Find("Dept"), inst.Find("HCPerson"), inst, hcp.Find("HCProf")} {
		if id := herID(n); id != 0 {
			return id
		}
	}
	return 0
}

// herID reads the id of a unit, or one of its further ids, when that is a HER-id.
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
