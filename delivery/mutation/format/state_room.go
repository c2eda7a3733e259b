package format

import (
	"fmt"

	"schakel/delivery/mutation/format/xmlscan"
)

const (
	// around counts the elements around a state in a file: the root, the message, the group, the mutation, its side,
	// and the element of the dataset.
	around = 6
	// aroundSpaces limits the namespaces that the elements around a state declare.
	aroundSpaces = 100
)

// room measures the nesting and the declarations of a state, which readers bound.
type room struct {
	from, bound int // elements and namespaces around it where it was read
	depth       int // elements in each other
	attributes  int // of its own element
	spaces      int // namespaces that are declared in it at once
}

func newRoom(scan *xmlscan.Scanner) room {
	r := room{from: scan.Depth() - 1, depth: 1, bound: scan.Bound(), attributes: len(scan.Token().Attrs)}
	for _, a := range scan.Token().Attrs {
		if _, is := xmlscan.Declares(a.Name); is {
			r.bound--
		}
	}
	r.look(scan)
	return r
}

// look is asked at each token of the state.
func (r *room) look(scan *xmlscan.Scanner) {
	r.depth, r.spaces = max(r.depth, scan.Depth()-r.from), max(r.spaces, scan.Bound()-r.bound)
}

// Fits reports why a state that could be read by itself, or in a file of somebody else, could not be read any more in one
// that is written here: there it has other elements and namespaces around it. Errors are ErrLimit (MUT-30).
func (s *State) Fits() error {
	needed := len(s.Namespaces) + 1 // the default may have to be undone
	if most := DefaultLimits().Depth - around; s.room.depth > most {
		return fmt.Errorf("%w: elements of a state more than %d deep", ErrLimit, most)
	}
	if most := xmlscan.MostAttributes; s.room.attributes+needed > most {
		return fmt.Errorf("%w: more than %d attributes of a state, with the namespaces that it needs", ErrLimit, most)
	}
	if most := xmlscan.MostNamespaces - aroundSpaces; s.room.spaces+needed > most {
		return fmt.Errorf("%w: more than %d namespaces of a state at once", ErrLimit, most)
	}
	return nil
}
