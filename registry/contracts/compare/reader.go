package compare

import (
	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
)

// reader follows references in one document and remembers those it could not follow.
type reader struct {
	root    map[string]any
	kind    contract.Kind
	release string // "3.1"
	// outside are references to other documents, or to anchors, with the place where each was first met.
	outside map[string]string
}

func newReader(d *contract.Document) *reader {
	root, _ := d.Root.(map[string]any)
	r := &reader{root: root, kind: d.Kind, outside: map[string]string{}}
	if len(d.SpecVersion) >= 3 {
		r.release = d.SpecVersion[:3]
	}
	return r
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 50

// object follows references to an object and gives it with its pointer; nil when there is none.
func (r *reader) object(value any, at string) (map[string]any, string) {
	value, at = r.value(value, at)
	object, _ := value.(map[string]any)
	return object, at
}

// value follows references while what is found is one.
func (r *reader) value(value any, at string) (any, string) {
	for range maxHops {
		object, ok := value.(map[string]any)
		if !ok {
			return value, at
		}
		ref, ok := object["$ref"].(string)
		if !ok {
			return value, at
		}
		pointer, local := localPointer(ref)
		if !local {
			r.leave(ref, at)
			return nil, at
		}
		if value, ok = jsonpointer.Lookup(r.root, pointer); !ok {
			return nil, at
		}
		at = pointer
	}
	return nil, at
}

func (r *reader) leave(ref, at string) {
	if _, known := r.outside[ref]; !known {
		r.outside[ref] = at
	}
}

// withTraits merges the traits of an operation or message: in 2.6 a trait overrides, from 3.0 on it is overridden.
func (r *reader) withTraits(object map[string]any) map[string]any {
	traits := items(object, "traits")
	if len(traits) == 0 {
		return object
	}
	merged := map[string]any{}
	if r.release == "2.6" {
		merged = object
	}
	for _, value := range traits[:min(len(traits), 50)] {
		trait, _ := r.object(value, "")
		merged = contract.MergeTrait(merged, trait)
	}
	if r.release != "2.6" {
		merged = contract.MergeTrait(merged, object)
	}
	return merged
}
