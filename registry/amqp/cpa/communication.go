package cpa

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"schakel/registry/xmlscan"
)

// Codes of addresses in code list 9044.
const (
	codeAsync       = "E_SB_ASYNC"
	codeSync        = "E_SB_SYNC"
	codeSyncReply   = "E_SB_SYNCREPLY"
	codeError       = "E_SB_ERROR"
	codeCertificate = "E_DS"
)

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
		queue, key string
	}{
		{d.Queues.Async, "amqp.finding.no-async-queue"}, {d.Queues.Sync, "amqp.finding.no-sync-queue"}, {d.Queues.Error, "amqp.finding.no-error-queue"},
	} {
		if lack.queue == "" {
			r.note(line, lack.key)
		}
	}
	if !d.Active {
		r.note(line, "amqp.finding.not-active")
	}
}

// communication reads the details of the address registry in XML.
func (r *reader) communication(root *xmlscan.Node) {
	r.doc.Kind = Communication
	d := Details{
		HerID: r.herID(root.FindLocal("HerId"), root.FindLocal("HerId").Text()), Name: root.FindLocal("Name").Text(),
		ParentName: root.FindLocal("ParentName").Text(), Active: root.FindLocal("Active").Text() != "false",
	}
	if parent, err := strconv.Atoi(root.FindLocal("ParentHerId").Text()); err == nil && parent > 0 {
		d.ParentHerID = parent
	}
	from, until := root.FindLocal("Valid", "From"), root.FindLocal("Valid", "To")
	d.ValidFrom, d.ValidUntil = r.moment(from, from.Text()), r.moment(until, until.Text())
	for _, n := range root.FindLocal("ElectronicAddresses").AllLocal("ElectronicAddress") {
		code := cmp.Or(n.FindLocal("TypeCodeValue").Text(), n.FindLocal("Type", "CodeValue").Text())
		d.address(code, n.FindLocal("Address").Text())
	}
	r.check(root.Line, d)
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
	d.ValidFrom = r.moment(&xmlscan.Node{}, party.Valid.From)
	d.ValidUntil = r.moment(&xmlscan.Node{}, party.Valid.To)
	for _, a := range party.ElectronicAddresses {
		d.address(cmp.Or(a.TypeCodeValue, a.Type.CodeValue), a.Address)
	}
	r.check(0, d)
	return d
}
