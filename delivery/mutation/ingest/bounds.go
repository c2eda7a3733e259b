package ingest

import (
	"fmt"
	"slices"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
	"schakel/store"
)

// mostID bounds ids of objects and states, in bytes: longer ones do not fit in an index of every database.
const mostID = 500

// mostReason bounds the reason of a new lineage, in characters.
const mostReason = 1000

// checkIDs refuses ids that cannot be written in a delivery: once in the history, such a group could never leave it.
func checkIDs(m format.Mutation) *Problem {
	for _, id := range []struct{ of, text string }{{"id of the object", m.ObjectID}, {"id of the WAS", idOf(m.Was)}, {"id of the WORDT", idOf(m.Wordt)}} {
		if len(id.text) > mostID {
			return &Problem{Code: CodeText, Detail: fmt.Sprintf("the %s has %d bytes, and at most %d are taken", id.of, len(id.text), mostID), Remedy: "Give a shorter id."}
		}
		if err := xmlscan.CheckText(id.text); err != nil {
			return &Problem{Code: CodeText, Detail: fmt.Sprintf("the %s %q has a character that XML cannot have", id.of, id.text), Remedy: "Leave the character out."}
		}
	}
	return nil
}

func idOf(s *format.State) string {
	if s == nil {
		return ""
	}
	return s.ID
}

// checkState refuses a state that a reader of the delivery would refuse, once what was declared around it is written with it.
func checkState(s *format.State, namespaces string) *Problem {
	if err := s.Fits(); err != nil {
		return &Problem{Code: CodeLimit, ID: s.ID, Detail: err.Error(), Remedy: "Make the object simpler."}
	}
	if most := format.DefaultLimits().State; written(int64(len(s.XML)), namespaces) > int64(most) {
		return &Problem{Code: CodeLimit, ID: s.ID, Detail: fmt.Sprintf("the state has %d bytes with its namespaces, and at most %d are taken", written(int64(len(s.XML)), namespaces), most), Remedy: "Make the object smaller."}
	}
	return nil
}

// written bounds how many bytes a state has in a delivery, with what must be declared on its element.
func written(xml int64, namespaces string) int64 { return xml + 2*int64(len(namespaces)) }

// fitsDelivery refuses a group that is larger in a delivery, where every WAS has its fields, than readers take. states holds those
// that the group ended.
func (b *batcher) fitsDelivery(g *group) *Problem {
	var size int64
	for i := range g.mutations {
		if w := g.mutations[i].wordt; w != nil {
			size += written(int64(len(w.XML)), w.Namespaces)
		}
	}
	for _, k := range b.killed {
		size += written(k.Size, k.Namespaces)
	}
	most := int64(format.DefaultLimits().Group)
	if size <= most {
		return nil
	}
	p := g.problem(-1, CodeLimit, "", fmt.Sprintf("the states of the group have %d bytes with those that end, and at most %d are taken", size, most), "Divide it over more groups.")
	return &p
}

// checkReason bounds the reason of a new lineage, which every follower reads.
func checkReason(req *Request) error {
	text := []rune(req.Replace)
	if len(text) > mostReason || xmlscan.CheckText(req.Replace) != nil || slices.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return headerProblem(req.Name, "the reason to replace what is there is too long, or has control characters", fmt.Sprintf("Give a reason of at most %d characters.", mostReason))
	}
	if req.Replace != "" && req.Kind != store.PublicationInitial {
		return headerProblem(req.Name, "only an initial load replaces a history", "Publish it as an initial load, or leave the reason out.")
	}
	return nil
}
