package contract

import (
	"path"
	"strings"

	"schakel/registry/jsonpointer"
)

// external deals with what leads out of a document without being a $ref. The value of an example that stands elsewhere is put in
// the example, when it is in the zip; the contract is complete without. The document with the operation that a link leads to
// is one of the files that stand for addresses, so that it is fetched once and stays what it was; the link itself leads to
// another API, at its address.
func (s *assembler) external(kind string, copied map[string]any, h here) {
	switch kind {
	case "example":
		s.externalValue(copied, h)
	case kindLink:
		s.operationRef(copied, h)
	}
}

// operationRef lets a link lead, from the one document, to where it led from its file: to the document itself, or to the
// address of another one. Where neither is known it stays, and Validate reports it as unresolved.
func (s *assembler) operationRef(copied map[string]any, h here) {
	ref := member(copied, "operationRef")
	if ref == "" {
		return
	}
	to, ok := s.lead(ref, h)
	address, pointer, _ := strings.Cut(ref, "#")
	full, away := Address(resolveURI(h.base, address))
	_, whole := Address(address)
	switch {
	case ok && to.file == s.main && (h.file != s.main || !whole && address != ""):
		copied["operationRef"], s.changed = "#"+fragment(to.pointer), true
	case away && !whole && (address != "" || ok && h.file != s.main):
		copied["operationRef"], s.changed = full+"#"+pointer, true
	}
}

func (s *assembler) externalValue(copied map[string]any, h here) {
	ref := member(copied, "externalValue")
	if _, said := copied["value"]; said || ref == "" {
		return
	}
	s.optional = true
	to, ok := s.lead(ref, h)
	s.optional = false
	if !ok || to.file == h.file || s.fault != nil {
		return
	}
	p := s.parts[to.file]
	value, there := jsonpointer.Lookup(p.root, to.pointer)
	text, isText := value.(string)
	if !there || value == nil || path.Ext(to.file) == ".avsc" {
		return
	}
	if s.nodes += size(value); isText {
		s.nodes += len(text) / 100
	}
	delete(copied, "externalValue")
	copied["value"], s.changed = value, true
	s.from(h.at, to)
}
