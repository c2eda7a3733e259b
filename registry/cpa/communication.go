package cpa

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Codes of addresses in code list 9044.
const (
	codeAsync       = "E_SB_ASYNC"
	codeSync        = "E_SB_SYNC"
	codeSyncReply   = "E_SB_SYNCREPLY"
	codeError       = "E_SB_ERROR"
	codeCertificate = "E_DS"
)

// address keeps an electronic address of a party.
func (d *Details) address(code, place string) {
	places := map[string]*string{
		codeAsync: &d.Queues.Async, codeSync: &d.Queues.Sync, codeSyncReply: &d.Queues.SyncReply,
		codeError: &d.Queues.Error, codeCertificate: &d.CertificateURL,
	}
	if at := places[code]; at != nil && *at == "" {
		*at = strings.TrimSpace(place)
	}
}

// check notes what a party lacks that the bridge needs.
func (r *reader) check(line int, d Details) {
	for _, lack := range []struct {
		queue, name string
	}{{d.Queues.Async, "asynchronous"}, {d.Queues.Sync, "synchronous"}, {d.Queues.Error, "error"}} {
		if lack.queue == "" {
			r.note(line, "the party has no %s queue", lack.name)
		}
	}
	if !d.Active {
		r.note(line, "the party is not active")
	}
}

// communication reads the details of the address registry in XML.
func (r *reader) communication(root *node) {
	r.doc.Kind = Communication
	d := Details{
		HerID: r.herID(root.find("HerId"), root.find("HerId").value()), Name: root.find("Name").value(),
		ParentName: root.find("ParentName").value(), Active: root.find("Active").value() != "false",
	}
	if parent, err := strconv.Atoi(root.find("ParentHerId").value()); err == nil && parent > 0 {
		d.ParentHerID = parent
	}
	from, until := root.find("Valid", "From"), root.find("Valid", "To")
	d.ValidFrom, d.ValidUntil = r.moment(from, from.value()), r.moment(until, until.value())
	for _, n := range root.find("ElectronicAddresses").all("ElectronicAddress") {
		code := n.find("TypeCodeValue").value()
		if code == "" {
			code = n.find("Type", "CodeValue").value()
		}
		d.address(code, n.find("Address").value())
	}
	r.check(root.line, d)
	r.doc.Parties = []Details{d}
}

// restJSON is the part of an answer of the address registry's JSON interface that counts. The party stands within it,
// or is all of it.
type restJSON struct {
	CommunicationParty *partyJSON
	partyJSON
}

type partyJSON struct {
	HerID               int64 `json:"HerId"`
	ParentHerID         int64 `json:"ParentHerId"`
	Name                string
	ParentName          string
	Active              *bool
	Valid               struct{ From, To string }
	ElectronicAddresses []struct {
		Address       string
		TypeCodeValue string
		Type          struct{ CodeValue string }
	}
}

// parseREST reads the details of the address registry in JSON.
func parseREST(doc []byte) (Document, error) {
	var answer restJSON
	if err := json.Unmarshal(doc, &answer); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrNotXML, err)
	}
	party := &answer.partyJSON
	if answer.CommunicationParty != nil {
		party = answer.CommunicationParty
		if party.HerID == 0 {
			party.HerID = answer.HerID
		}
	}
	if party.HerID == 0 && party.ElectronicAddresses == nil {
		return Document{}, ErrNotProfile
	}
	r := &reader{doc: Document{Kind: Communication}}
	r.doc.Parties = []Details{r.rest(party)}
	return r.doc, r.doc.useful()
}

func (r *reader) rest(party *partyJSON) Details {
	d := Details{
		HerID: r.herID(nil, strconv.FormatInt(party.HerID, 10)), Name: party.Name, ParentName: party.ParentName,
		Active: party.Active == nil || *party.Active,
	}
	if party.ParentHerID > 0 && party.ParentHerID < 1e9 {
		d.ParentHerID = int(party.ParentHerID)
	}
	d.ValidFrom = r.moment(&node{}, party.Valid.From)
	d.ValidUntil = r.moment(&node{}, party.Valid.To)
	for _, a := range party.ElectronicAddresses {
		code := a.TypeCodeValue
		if code == "" {
			code = a.Type.CodeValue
		}
		d.address(code, a.Address)
	}
	r.check(0, d)
	return d
}
