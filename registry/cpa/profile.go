package cpa

import "strings"

// agreement reads a CPA, which has two parties.
func (r *reader) agreement(root *node) {
	r.doc.Kind = Agreement
	r.doc.Status = root.find("Status").get("value")
	id := root.get("cpaid")
	if id == "" {
		r.note(root.line, "the agreement has no cpaid")
	}
	from, until := root.find("Start"), root.find("End")
	for _, info := range root.all("PartyInfo") {
		party := r.party(root, info)
		party.CPAID = id
		party.ValidFrom, party.ValidUntil = r.moment(from, from.value()), r.moment(until, until.value())
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 2 {
		r.note(root.line, "an agreement has two parties, this one has %d", n)
	}
}

// profile reads a CPP, which has one party.
func (r *reader) profile(root *node) {
	r.doc.Kind = Profile
	id := root.get("cppid")
	if id == "" {
		r.note(root.line, "the profile has no cppid")
	}
	for _, info := range root.all("PartyInfo") {
		party := r.party(root, info)
		party.CPPID = id
		r.doc.Parties = append(r.doc.Parties, party)
	}
	if n := len(r.doc.Parties); n != 1 {
		r.note(root.line, "a profile has one party, this one has %d", n)
	}
}

// party reads a PartyInfo.
func (r *reader) party(root, info *node) Details {
	party := Details{Name: info.get("partyName"), Active: true}
	for _, id := range info.all("PartyId") {
		if kind := id.get("type"); party.HerID == 0 && (kind == "HER" || kind == "") {
			party.HerID = r.herID(id, id.value())
		}
	}
	if info.find("PartyId") == nil {
		r.note(info.line, "the party has no PartyId")
	}
	party.Certificates = r.certificates(info)
	channels := r.channels(info)
	for _, n := range info.all("DeliveryChannel") {
		party.Queues.put(channels[n.get("channelId")])
	}
	for _, role := range info.all("CollaborationRole") {
		party.Processes = append(party.Processes, r.process(root, role, channels))
	}
	if len(party.Processes) == 0 {
		r.note(info.line, "the party supports no process")
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
func (r *reader) channels(info *node) map[string]channel {
	ends := map[string]*node{}
	for _, transport := range info.all("Transport") {
		ends[transport.get("transportId")] = transport.find("TransportReceiver")
	}
	out := map[string]channel{}
	for _, n := range info.all("DeliveryChannel") {
		id, end := n.get("channelId"), ends[n.get("transportId")]
		protocol, queue := end.find("TransportProtocol").value(), end.find("Endpoint").get("uri")
		switch {
		case end == nil:
			r.note(n.line, "the channel %s names a transport that is not there", brief(id))
		case !strings.EqualFold(protocol, "AMQP"):
			r.note(end.line, "the channel %s does not go over AMQP", brief(id))
		case queue == "":
			r.note(end.line, "the channel %s has no queue", brief(id))
		default:
			reply := n.find("MessagingCharacteristics").get("syncReplyMode")
			out[id] = channel{queue: queue, mode: modeOf(queue, id, reply)}
		}
	}
	return out
}

// modeOf tells the mode of a channel by the end of its queue's name, as the address registry gives them out, else by
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
