package cpa

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"schakel/registry/sorted"
	"schakel/registry/xmlscan"
	"schakel/templates/i18n"
)

// Bounds of a document. An agreement about all processes of the exchange is some 300 KB.
const (
	maxBytes    = 4 << 20
	maxDepth    = 64
	maxElements = 100_000
	maxFindings = 100
)

const namespace = "http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd"

// Parse reads a document. Errors wrap ErrNotXML, ErrNotProfile, ErrNoHerID or ErrNoChannel; with the last two the
// Document holds what could be read.
func Parse(doc []byte) (Document, error) {
	if len(doc) > maxBytes {
		return Document{}, fmt.Errorf("%w: %w", ErrNotXML, ErrTooLarge)
	}
	if start := bytes.TrimLeft(bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF")), " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		return parseREST(start)
	}
	root, err := tree(doc)
	if err != nil {
		return Document{}, err
	}
	r := &reader{}
	switch {
	case root.Name.Space == namespace && root.Name.Local == "CollaborationProtocolAgreement":
		r.agreement(root)
	case root.Name.Space == namespace && root.Name.Local == "CollaborationProtocolProfile":
		r.profile(root)
	case strings.HasPrefix(root.Name.Space, "http://register.nhn.no/") && root.FindLocal("HerId") != nil:
		r.communication(root)
	default:
		return Document{}, ErrNotProfile
	}
	return r.doc, r.doc.useful()
}

// tree reads a document in UTF-8.
func tree(doc []byte) (*xmlscan.Node, error) {
	if !utf8.Valid(doc) {
		return nil, fmt.Errorf("%w: %w", ErrNotXML, ErrNotUTF8)
	}
	text, err := xmlscan.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotXML, err)
	}
	root, err := xmlscan.ParseWithin(text, xmlscan.Limits{Depth: maxDepth, Elements: maxElements})
	if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); ok {
		return nil, fmt.Errorf("%w: line %d: %w", ErrNotXML, syntax.Line, syntax.Err)
	}
	return root, err
}

// lineOf gives the line of an element, 0 for a nil one.
func lineOf(n *xmlscan.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}

// useful reports whether anybody can be reached by a document.
func (d Document) useful() error {
	if len(d.Parties) == 0 {
		return ErrNoHerID
	}
	for _, party := range d.Parties {
		if party.HerID == 0 {
			return ErrNoHerID
		}
	}
	for _, party := range d.Parties {
		if party.Queues != (Queues{}) {
			return nil
		}
	}
	return ErrNoChannel
}

// reader gathers what a document says.
type reader struct{ doc Document }

// note adds a finding, up to a bound.
func (r *reader) note(line int, key string, args ...any) {
	if len(r.doc.Findings) < maxFindings {
		r.doc.Findings = append(r.doc.Findings, Finding{Line: line, Text: i18n.M(key, args...)})
	}
}

// herID reads a HER-id and notes when there is none.
func (r *reader) herID(n *xmlscan.Node, text string) int {
	if len(text) > 0 && len(text) < 10 && strings.Trim(text, "0123456789") == "" {
		if id, err := strconv.Atoi(text); err == nil && id > 0 {
			return id
		}
	}
	r.note(lineOf(n), "amqp.finding.no-her-id")
	return 0
}

// moment reads a time; an empty text is no time, and so is the end of all time, by which registers mean no end. A time
// without a zone is taken for UTC.
func (r *reader) moment(n *xmlscan.Node, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil {
		r.note(lineOf(n), "amqp.finding.no-time", n.Name.Local)
		return time.Time{}
	}
	if at.Year() == 9999 {
		return time.Time{}
	}
	return at
}

// agreement reads a CPA, which has two parties.
func (r *reader) agreement(root *xmlscan.Node) {
	r.doc.Kind = Agreement
	r.doc.Status = root.FindLocal("Status").Attribute("value")
	id := root.Attribute("cpaid")
	if id == "" {
		r.note(root.Line, "amqp.finding.no-cpaid")
	}
	from, until := root.FindLocal("Start"), root.FindLocal("End")
	for _, info := range root.AllLocal("PartyInfo") {
		party := r.party(root, info)
		party.CPAID = id
		party.ValidFrom, party.ValidUntil = r.moment(from, from.Text()), r.moment(until, until.Text())
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 2 {
		r.note(root.Line, "amqp.finding.agreement-parties", n)
	}
}

// profile reads a CPP, which has one party.
func (r *reader) profile(root *xmlscan.Node) {
	r.doc.Kind = Profile
	id := root.Attribute("cppid")
	if id == "" {
		r.note(root.Line, "amqp.finding.no-cppid")
	}
	for _, info := range root.AllLocal("PartyInfo") {
		party := r.party(root, info)
		party.CPPID = id
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 1 {
		r.note(root.Line, "amqp.finding.profile-parties", n)
	}
}

// party reads a PartyInfo.
func (r *reader) party(root, info *xmlscan.Node) Details {
	party := Details{Name: info.Attribute("partyName"), Active: true}
	for _, id := range info.AllLocal("PartyId") {
		if kind := id.Attribute("type"); party.HerID == 0 && (kind == "HER" || kind == "") {
			party.HerID = r.herID(id, id.Text())
		}
	}
	if info.FindLocal("PartyId") == nil {
		r.note(info.Line, "amqp.finding.no-party-id")
	}
	party.Certificates = r.certificates(info)
	channels := r.channels(info)
	for _, n := range info.AllLocal("DeliveryChannel") {
		party.Queues.put(channels[n.Attribute("channelId")])
	}
	for _, role := range info.AllLocal("CollaborationRole") {
		party.Processes = append(party.Processes, r.process(root, role, channels))
	}
	if len(party.Processes) == 0 {
		r.note(info.Line, "amqp.finding.no-processes")
	}
	return party
}

// channel is a delivery channel with the queue it ends at.
type channel struct {
	queue string
	mode  Mode
}

// put keeps the first queue of each kind.
func (q *Queues) put(c channel) {
	place := &q.Async
	if c.mode == Sync {
		place = &q.Sync
	}
	if *place == "" {
		*place = c.queue
	}
}

// channels reads the delivery channels that go over AMQP, by their ids.
func (r *reader) channels(info *xmlscan.Node) map[string]channel {
	ends := map[string]*xmlscan.Node{}
	for _, transport := range info.AllLocal("Transport") {
		ends[transport.Attribute("transportId")] = transport.FindLocal("TransportReceiver")
	}
	out := map[string]channel{}
	for _, n := range info.AllLocal("DeliveryChannel") {
		id, end := n.Attribute("channelId"), ends[n.Attribute("transportId")]
		protocol, queue := end.FindLocal("TransportProtocol").Text(), end.FindLocal("Endpoint").Attribute("uri")
		switch {
		case end == nil:
			r.note(n.Line, "amqp.finding.no-transport", brief(id))
		case !strings.EqualFold(protocol, "AMQP"):
			r.note(end.Line, "amqp.finding.not-amqp", brief(id))
		case queue == "":
			r.note(end.Line, "amqp.finding.no-queue", brief(id))
		default:
			reply := n.FindLocal("MessagingCharacteristics").Attribute("syncReplyMode")
			out[id] = channel{queue: queue, mode: modeOf(queue, id, reply)}
		}
	}
	return out
}

// modeOf returns the mode of a channel by the end of its queue's name, as the address registry gives them out, else by
// its reply mode, else by its id.
func modeOf(queue, id, reply string) Mode {
	queue, id = strings.ToLower(queue), strings.ToLower(id)
	switch {
	case strings.HasSuffix(queue, "_async"):
		return Async
	case strings.HasSuffix(queue, "_sync"):
		return Sync
	case reply != "" && reply != "none":
		return Sync
	case strings.Contains(id, "sync") && !strings.Contains(id, "async"):
		return Sync
	}
	return Async
}

// brief keeps an id of a document from filling a page.
func brief(id string) string {
	const most = 80
	if len(id) > most {
		return strings.ToValidUTF8(id[:most], "") + "…"
	}
	return id
}

// certificates reads the certificates of a party and sorts them by what their key may be used for, as the exchange
// does (AMQP-59): encipherment to encrypt, non-repudiation to sign. For one that does not say, the name it has in the
// document decides.
func (r *reader) certificates(info *xmlscan.Node) Certificates {
	var out Certificates
	for _, n := range info.AllLocal("Certificate") {
		cert := r.certificate(n)
		if cert == nil {
			continue
		}
		encrypts := cert.KeyUsage&(x509.KeyUsageKeyEncipherment|x509.KeyUsageDataEncipherment) != 0
		signs := cert.KeyUsage&x509.KeyUsageContentCommitment != 0
		if !encrypts && !signs {
			id := strings.ToLower(n.Attribute("certId"))
			encrypts, signs = strings.HasPrefix(id, "enc"), strings.HasPrefix(id, "sign")
			r.note(n.Line, "amqp.finding.no-usage", brief(id))
		}
		if encrypts {
			out.Encrypt = append(out.Encrypt, cert)
		}
		if signs {
			out.Sign = append(out.Sign, cert)
		}
	}
	if len(out.Encrypt) == 0 {
		r.note(info.Line, "amqp.finding.no-encryption-certificate")
	}
	if len(out.Sign) == 0 {
		r.note(info.Line, "amqp.finding.no-signing-certificate")
	}
	newestFirst(out.Encrypt)
	newestFirst(out.Sign)
	return out
}

// certificate reads a Certificate element: the first of a chain is that of the party.
func (r *reader) certificate(n *xmlscan.Node) *x509.Certificate {
	text := n.FindLocal("KeyInfo", "X509Data", "X509Certificate").Text()
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(der) == 0 {
		r.note(n.Line, "amqp.finding.unreadable-certificate", brief(n.Attribute("certId")))
		return nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		r.note(n.Line, "amqp.finding.unreadable-certificate", brief(n.Attribute("certId")))
		return nil
	}
	return cert
}

// newestFirst sorts by the start of validity, for a roll-over has two (AMQP-64).
func newestFirst(all []*x509.Certificate) {
	sorted.Stable(all, func(a, b *x509.Certificate) int { return b.NotBefore.Compare(a.NotBefore) })
}
