package contract

import (
	"strings"

	"schakel/registry/jsonpointer"
)

// identities holds what $id and $anchor name in a file (JSON Schema 2020-12, 8.2).
type identities struct {
	// at holds pointers by absolute address, with "#" and the name behind it for an anchor.
	at map[string]string
	// bases are the places with an $id, in the order of the file: what is above comes first.
	bases []identity
}

type identity struct{ pointer, base string }

// identify reads what is named in a file whose own address is base.
func identify(root any, base string) identities {
	ids := identities{at: map[string]string{}}
	walk(root, func(object map[string]any, at func() string) {
		id, isID := object["$id"].(string)
		anchor, isAnchor := object["$anchor"].(string)
		if !isID && !isAnchor || len(ids.at) >= maxAnchors {
			return
		}
		pointer := at()
		within := ids.base(pointer, base)
		if id, _, _ = strings.Cut(id, "#"); isID && id != "" {
			within = resolveURI(within, id)
			ids.at[within] = pointer
			ids.bases = append(ids.bases, identity{pointer, within})
		}
		if isAnchor {
			ids.at[within+"#"+anchor] = pointer
		}
	})
	return ids
}

// base is the address that references at a pointer are relative to.
func (ids identities) base(pointer, base string) string {
	for _, id := range ids.bases {
		if id.pointer == pointer || strings.HasPrefix(pointer, id.pointer+"/") {
			base = id.base
		}
	}
	return base
}

// lead finds what a fragment names within what has an address; not ok when the file has nothing of that name.
func (ids identities) lead(root any, address, fragment string) (pointer string, ok bool) {
	if fragment = decodeFragment(fragment); fragment != "" && fragment[0] != '/' {
		pointer, ok = ids.at[address+"#"+fragment]
		return pointer, ok
	}
	if pointer, ok = ids.at[address]; !ok {
		return "", false
	}
	_, ok = jsonpointer.Lookup(root, pointer+fragment)
	return pointer + fragment, ok
}
