package contract

import (
	"slices"

	"schakel/registry/jsonpointer"
)

// place locates a value, written out as a pointer only when a finding needs it. The nil place is the root.
type place struct {
	above *place
	token string
	known string // the pointer itself, where it is known; above and token are unused then
}

// top is the place of the whole document.
func top() *place { return nil }

// to gives the place that these names lead to from here.
func (p *place) to(tokens ...string) *place {
	for _, token := range tokens {
		p = &place{above: p, token: token}
	}
	return p
}

// up gives the place above; nil at the root.
func (p *place) up() *place {
	if p == nil {
		return nil
	}
	return p.above
}

// String gives the JSON Pointer.
func (p *place) String() string {
	var tokens []string
	base := ""
	for ; p != nil; p = p.above {
		if p.known != "" {
			base = p.known
			break
		}
		tokens = append(tokens, p.token)
	}
	slices.Reverse(tokens)
	return base + jsonpointer.Join(tokens...)
}
