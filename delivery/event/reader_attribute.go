package event

import "schakel/registry/strictjson"

// attribute takes the value of a context attribute (CE-03, CE-04, CE-41).
func (r *reader) attribute(name []byte) bool {
	off := r.Pos
	switch c := r.Peek(); {
	case c == '"':
		return r.textAttribute(name, off)
	case c == '{' || c == '[':
		r.rejectType(name, off, "an object or an array is no attribute value; put it in data")
		return r.Value()
	case c == '-' || isDigit(c):
		return r.numberAttribute(name, off)
	default:
		return r.wordAttribute(name, off)
	}
}

func (r *reader) textAttribute(name []byte, off int) bool {
	found, ok := r.Text()
	if !ok {
		return false
	}
	at := slotOf(name)
	var value string
	if !found.Plain {
		decoded, whole := strictjson.Unescape(nil, r.Buf[found.From:found.To])
		if value = string(decoded); !whole || !allowed(value) {
			r.given(at, off)
			r.add(off, string(name), CodeCharacters, string(name)+
				" holds a control character, a noncharacter or half a surrogate pair; remove it")
			return true
		}
	}
	r.draft.begin(name)
	start := len(r.draft.json)
	r.draft.json = append(r.draft.json, r.Buf[found.From-1:found.To+1]...)
	if at == slotCount {
		return true
	}
	slot := slot{given: true, readable: true, off: off, value: value}
	if found.Plain {
		slot.from, slot.to = start+1, len(r.draft.json)-1
	}
	r.draft.slots[at] = slot
	return true
}

func (r *reader) numberAttribute(name []byte, off int) bool {
	found, ok := r.Number()
	if !ok {
		return false
	}
	raw := r.Buf[found.From:found.To]
	switch {
	case r.mustBeText(name, off):
	case !found.Whole || !isInt32(string(raw)):
		r.add(off, string(name), CodeInteger, string(name)+
			" must be a whole number from -2147483648 to 2147483647 without fraction or exponent; otherwise write it as a string")
	default:
		r.draft.begin(name)
		r.draft.json = append(r.draft.json, raw...)
	}
	return true
}

func (r *reader) wordAttribute(name []byte, off int) bool {
	word := r.Word()
	switch {
	case word == 0:
		return false
	case word == 'n' || r.mustBeText(name, off):
	default:
		r.draft.begin(name)
		r.draft.json = append(r.draft.json, r.Buf[off:r.Pos]...)
	}
	return true
}

// mustBeText rejects a number or a boolean where the specification requires a string.
func (r *reader) mustBeText(name []byte, off int) bool {
	if slotOf(name) == slotCount {
		return false
	}
	r.rejectType(name, off, "it must be a string; put the value in double quotes")
	return true
}

func (r *reader) rejectType(name []byte, off int, detail string) {
	r.given(slotOf(name), off)
	r.add(off, string(name), CodeType, string(name)+" has a value of the wrong type: "+detail)
}

// given marks an attribute that is present but unusable, so that it is not reported missing as well.
func (r *reader) given(at, off int) {
	if at < slotCount {
		r.draft.slots[at] = slot{given: true, off: off}
	}
}
