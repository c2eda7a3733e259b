package ingest

import (
	"bytes"
	"fmt"
	"slices"
)

// memberNames lists the members of a group and of its parts.
var memberNames = [...]string{"mutations", "objectType", "objectId", "was", "wordt", "id", "xml"}

// open is an object or array that has not ended yet.
type open struct {
	object bool
	seen   uint8 // which of memberNames it has
}

// checkNames wants every member of a group named as it is, and once in its object: of two, one would be lost without a word.
// The group is sound JSON.
func checkNames(raw []byte) error {
	var stack []open
	name := false // a string here is a name
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			name = raw[i] == '{'
			stack = append(stack, open{object: name})
		case '}', ']':
			name, stack = false, stack[:len(stack)-1]
		case ',':
			name = len(stack) > 0 && stack[len(stack)-1].object
		case '"':
			end := stringEnd(raw, i+1)
			if name {
				if err := stack[len(stack)-1].name(raw[i+1 : end]); err != nil {
					return err
				}
				name = false
			}
			i = end
		}
	}
	return nil
}

// stringEnd finds the quote that ends the string which begins at from.
func stringEnd(raw []byte, from int) int {
	for {
		at := from + bytes.IndexByte(raw[from:], '"')
		slashes := 0
		for raw[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
		from = at + 1
	}
}

func (o *open) name(text []byte) error {
	n := slices.Index(memberNames[:], string(text))
	if n < 0 {
		return fmt.Errorf("%w: there is no member %q; names are written as documented", ErrJSON, shortened(text))
	}
	if o.seen&(1<<n) != 0 {
		return fmt.Errorf("%w: the member %q is there twice", ErrJSON, text)
	}
	o.seen |= 1 << n
	return nil
}

func shortened(text []byte) []byte { return text[:min(len(text), 40)] }
