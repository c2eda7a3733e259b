package cpa

import (
	"strings"

	"schakel/registry/xmlscan"
)

// agreement reads a CPA, which has two parties.
func (r *reader) agreement(root *xmlscan.Node) {
	r.doc.Kind = Agreement
	r.doc.Status = root.FindLocal("Status").Attribute("value")
	id := root.Attribute("cpaid")
	if id == "" {
		r.note(root.Line, "the agreement has no cpaid")
	}
	from, until := root.FindLocal("Start"), root.FindLocal("End")
	for _, info := range root.AllLocal("PartyInfo") {
		party := r.party(root, info)
		party.CPAID = id
		party.ValidFrom, party.ValidUntil = r.moment(from, from.Text()), r.moment(until, until.Text())
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 2 {
		r.note(root.Line, "an agreement has two parties, this one has %d", n)
	}
}

// profile reads a CPP, which has one party.
func (r *reader) profile(root *xmlscan.Node) {
	r.doc.Kind = Profile
	id := root.Attribute("cppid")
	if id == "" {
		r.note(root.Line, "the profile has no cppid")
	}
	for _, info := range root.AllLocal("PartyInfo") {
		party := r.party(root, info)
		party.CPPID = id
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 1 {
		r.note(root.Line, "a profile has one party, this one has %d", n)
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
		r.note(info.Line, "the party has no PartyId")
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
		r.note(info.Line, "the party supports no process")
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
			r.note(n.Line, "the channel %s names a transport that is not there", brief(id))
		case !strings.EqualFold(protocol, "AMQP"):
			r.note(end.Line, "the channel %s does not go over AMQP", brief(id))
		case queue == "":
			r.note(end.Line, "the channel %s has no queue", brief(id))
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
