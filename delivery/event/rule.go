package event

import "strconv"

// rule is the rule of CE-01 and CE-09 to CE-22 for one attribute.
type rule struct {
	name     string
	required bool
	holds    func(string) bool
	code     string
	detail   string // the problem and its correction
}

// ruleOf returns the rule of a slot. A switch and not a table, so that it is immutable and costs nothing to make.
func ruleOf(slot int) rule {
	switch slot {
	case slotSpecVersion:
		return rule{"specversion", true, isSpecVersion, CodeSpecVersion, `specversion must be the string "1.0"; write exactly that`}
	case slotID:
		return rule{name: "id", required: true}
	case slotSource:
		return rule{"source", true, isReference, CodeURIReference, "source is not a URI-reference (RFC 3986); percent-encode what a URI may not hold"}
	case slotType:
		return rule{name: "type", required: true}
	case slotSubject:
		return rule{name: "subject"}
	case slotTime:
		return rule{"time", false, isTime, CodeTime, `time is not an RFC 3339 time; write it like "2026-05-01T09:30:00Z" or with an offset like "+02:00"`}
	case slotDataContentType:
		return rule{"datacontenttype", false, isMediaType, CodeMediaType, `datacontenttype is not a media type (RFC 2046); write it like "application/json"`}
	case slotDataSchema:
		return rule{"dataschema", false, isURI, CodeURI, "dataschema is not an absolute URI (RFC 3986); start it with a scheme such as https:"}
	case slotDataRef:
		return rule{"dataref", false, isReference, CodeURIReference, "dataref is not a URI-reference (RFC 3986); percent-encode what a URI may not hold"}
	default:
		return rule{name: "sequence"}
	}
}

// maxIdentity bounds id and source, in bytes: together they are a key of the database, which takes at most 2,704 bytes in one
// (CE-05). UUIDs and URNs stay far below it.
const maxIdentity = 1024

func (r rule) tooLong(value string) bool {
	return (r.name == "id" || r.name == "source") && len(value) > maxIdentity
}

func isSpecVersion(s string) bool { return s == "1.0" }

// check judges the attributes that have rules; start is the offset of the event.
func (d *draft) check(f *findings, start int) {
	for i := range d.slots {
		found := &d.slots[i]
		if !found.given {
			if i <= slotType {
				name := ruleOf(i).name
				f.add(start, name, CodeMissing, name+" is missing; every event needs "+name+" with a value that is not empty")
			}
			continue
		}
		if found.readable {
			ruleOf(i).check(found, f)
		}
	}
}

func (r rule) check(found *slot, f *findings) {
	switch {
	case found.value == "":
		remedy := "; give it a value or leave it out"
		if r.required {
			remedy = "; give it a value"
		}
		f.add(found.off, r.name, CodeEmpty, r.name+" is empty"+remedy)
	case r.tooLong(found.value):
		f.add(found.off, r.name, CodeLength, r.name+" is longer than the "+strconv.Itoa(maxIdentity)+" bytes that are taken; shorten it")
	case r.holds != nil && !r.holds(found.value):
		f.add(found.off, r.name, r.code, r.detail)
	}
}

// checkName returns the problem of the name of an attribute (CE-02); "" when there is none.
func checkName(name []byte, limit int) (code, detail string) {
	if string(name) == "data" || len(name) == 0 {
		return CodeName, "an attribute may not be called " + quoted(string(name)) + "; give it another name"
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && !isDigit(c) {
			return CodeName, "the attribute name " + quoted(string(name)) + " may hold only a-z and 0-9; " + remedy(name)
		}
	}
	if len(name) > limit {
		return CodeNameLength, "the attribute name " + quoted(string(name)) + " is longer than is taken; shorten it to at most 20 characters"
	}
	return "", ""
}

func remedy(name []byte) string {
	var plain []byte
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c|0x20)
		case isLetter(c) || isDigit(c):
			plain = append(plain, c)
		}
	}
	if len(plain) == 0 {
		return "rename it"
	}
	return "write it as " + quoted(string(plain))
}
