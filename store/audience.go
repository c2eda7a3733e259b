package store

import "strings"

// Audience is which partners an event is for, besides the own organisation, which knows every event. The zero Audience
// is whoever is subscribed. It is settled when the event is accepted, and stays.
type Audience string

// audienceEdge stands around each id, so that an id is found whole.
const audienceEdge = ","

// OnlyFor is the audience of the own organisation and these partners, given by id; of the own organisation alone when
// there are none.
func OnlyFor(partnerIDs ...string) Audience {
	only := audienceEdge
	for _, id := range partnerIDs {
		only += id + audienceEdge
	}
	return Audience(only)
}

// Everyone reports whether an event is for whoever is subscribed.
func (a Audience) Everyone() bool { return a == "" }

// Has reports whether an event is for a partner; own is that of the own organisation.
func (a Audience) Has(partnerID string, own bool) bool {
	return a == "" || own || strings.Contains(string(a), audienceEdge+partnerID+audienceEdge)
}

// Partners lists the ids of the partners it names.
func (a Audience) Partners() []string {
	inner := strings.Trim(string(a), audienceEdge)
	if inner == "" {
		return nil
	}
	return strings.Split(inner, audienceEdge)
}

// audience keeps the events that a partner may know of; any when no partner is given.
func (w *where) audience(partnerID string) {
	if partnerID != "" {
		w.add(`(audience = '' OR LOWER(audience) LIKE ? ESCAPE '\')`, like(audienceEdge+partnerID+audienceEdge))
	}
}
