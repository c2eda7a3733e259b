package contract

import (
	"net/url"
	"strings"

	"schakel/registry/jsonpointer"
)

// resolver finds what references inside the document lead to.
type resolver struct {
	root any
	// anchors are the pointers of $anchor and $dynamicAnchor names and of $id and $self addresses.
	anchors map[string]string
	ends    map[string]*end
}

// end holds the value at the end of a chain of references.
type end struct {
	value any
	at    string
	how   outcome
}

type outcome int

const (
	found outcome = iota
	missing
	outside // another document
	circular
)

// resolve follows one reference and gives the value and its pointer.
func (r *resolver) resolve(ref string) (value any, at string, how outcome) {
	address, fragment, _ := strings.Cut(ref, "#")
	base := ""
	if address != "" {
		known, ok := r.anchors[address]
		if !ok {
			return nil, "", outside
		}
		base = known
	}
	fragment = decodeFragment(fragment)
	if fragment != "" && fragment[0] != '/' {
		known, ok := r.anchors["#"+fragment]
		if !ok {
			return nil, "", missing
		}
		base, fragment = known, ""
	}
	if value, ok := jsonpointer.Lookup(r.root, base+fragment); ok {
		return value, base + fragment, found
	}
	return nil, "", missing
}

// follow goes on while what is found is itself a reference.
func (r *resolver) follow(value any, at string) (any, string, outcome) {
	return r.hop(value, at, 0)
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 500

func (r *resolver) hop(value any, at string, hops int) (any, string, outcome) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, at, found
	}
	ref, ok := object["$ref"].(string)
	if !ok {
		return value, at, found
	}
	known := r.ends[ref]
	if known == nil {
		known = &end{how: circular} // what a circle meets
		r.ends[ref] = known
		known.value, known.at, known.how = r.resolve(ref)
		if known.how == found && hops < maxHops {
			target, place := known.value, known.at
			known.how = circular
			known.value, known.at, known.how = r.hop(target, place, hops+1)
		} else if known.how == found {
			known.how = circular
		}
	}
	return known.value, known.at, known.how
}

// object follows references to an object; nil when they lead to none.
func (r *resolver) object(value any, at *place) (map[string]any, *place) {
	value, last, how := r.follow(value, "")
	object, _ := value.(map[string]any)
	if how != found || object == nil {
		return nil, at
	}
	if last != "" {
		at = &place{known: last}
	}
	return object, at
}

// decodeFragment undoes percent-encoding; what is not well encoded is taken as it stands.
func decodeFragment(fragment string) string {
	if !strings.Contains(fragment, "%") {
		return fragment
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return fragment
	}
	return decoded
}
