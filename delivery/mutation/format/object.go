package format

import (
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// ObjectElement is the element around an object that was published without one, in the namespace of the root element: the
// format wants one element there that stands for its modelObject (MUT-24).
const ObjectElement = "object"

// wrapped is the processing instruction before an ObjectElement that a writer put around an object. A reader that meets it
// gives the object as it was published, without that element.
const wrapped = "schakel-wrapped"

// wraps reports whether a state needs the element of the dataset around it: its outermost element is not in the namespace of
// the root, or it is the object itself.
func (w *Writer) wraps(s *State) bool {
	if w.object == "" {
		return false
	}
	local := s.outer.Local
	return s.outer.Space != w.root.Space || HasType(w.types, local) || s.Object == local && !strings.HasSuffix(strings.ToLower(local), ObjectElement)
}

// isWrapped reports whether the token announces an element that a writer put around an object.
func isWrapped(tok *xmlscan.Token) bool {
	return tok.Kind == xmlscan.Instruction && string(tok.Name) == wrapped
}
