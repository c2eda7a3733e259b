package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

// encodings compares how the parts of a form are written.
func (p *pair) encodings(e exchange, r root, was, is located) {
	before, after := child(was.object, "encoding"), child(is.object, "encoding")
	old, new := p.old.bundle(schemaAt{was.object["schema"], was.at + "/schema"}), p.new.bundle(schemaAt{is.object["schema"], is.at + "/schema"})
	oldNamed, newNamed := old.shape().named, new.shape().named
	for _, name := range unionKeys(before, after) {
		if oldNamed[name] == "" || newNamed[name] == "" {
			continue // the part itself came or went
		}
		at := "/encoding" + jsonpointer.Join(name)
		part := formPart{
			e: e, r: r, name: name, was: located{child(before, name), was.at + at}, is: located{child(after, name), is.at + at},
			old: old.property(name), new: new.property(name),
		}
		p.encoding(part)
	}
	for _, key := range []string{"prefixEncoding", "itemEncoding"} {
		if !same(was.object[key], is.object[key]) {
			p.add(Change{
				Level: Warning, Code: r.prefix + "-encoding-changed", Side: e.sideOr(), Pointer: is.at + "/" + key, Subjects: []string{e.subject}, Direction: direction(r.read),
				Text: "How the parts are written changed" + r.tail + ".", Why: "Those who send or read them should look whether it still fits.",
			})
		}
	}
}

// formPart is a part of a form in both documents.
type formPart struct {
	e        exchange
	r        root
	name     string
	was, is  located
	old, new *bundle
}

func (p *pair) encoding(f formPart) {
	c := Change{
		Side: f.e.sideOr(), Pointer: f.is.at, OldPointer: f.was.at, NewPointer: f.is.at, Subjects: []string{f.e.subject}, EventTypes: f.e.types, Direction: direction(f.r.read),
	}
	p.contentTypes(f, c)
	said := "The part " + quote(f.name)
	d := described{c: c, prefix: f.r.prefix + "-encoding", said: said, in: "form", read: f.r.read, tail: f.r.tail, short: f.r.short}
	p.style(d, f.was, f.is, schemaAt{f.old.first(), f.old.at}, schemaAt{f.new.first(), f.new.at})
	p.headers(headers{
		subject: f.e.subject, prefix: f.r.prefix + "-encoding-header", owner: "the part " + quote(f.name), side: c.Side,
		tail: ", in the part " + quote(f.name), short: ", in the part " + quote(f.name), read: f.r.read,
	}, f.was, f.is)
}

// first gives the first schema of a bundle.
func (b *bundle) first() any {
	if len(b.parts) == 0 {
		return nil
	}
	return b.parts[0].object
}

// contentTypes compares the media types that a part may have.
func (p *pair) contentTypes(f formPart, c Change) {
	before, after := contentTypes(f.was.object, f.old), contentTypes(f.is.object, f.new)
	var gone, came []string
	for _, name := range sortedKeys(before) {
		if coveredBy(after, name) == "" {
			gone = append(gone, name)
		}
	}
	for _, name := range sortedKeys(after) {
		if coveredBy(before, name) == "" {
			came = append(came, name)
		}
	}
	var e effect
	switch {
	case len(gone) == 0 && len(came) == 0:
		return
	case len(came) == 0:
		e = narrower
	case len(gone) == 0:
		e = wider
	case len(gone) == len(before):
		e = other
	case f.r.read:
		e = wider
	default:
		e = narrower
	}
	c.Level, c.Code, c.Pointer = e.level(f.r.read), f.r.prefix+"-encoding-content-type-changed", f.is.at+"/contentType"
	c.Text = "The media types of the part " + quote(f.name) + " changed from " + quote(strings.Join(sortedKeys(before), ", ")) + " to " + quote(strings.Join(sortedKeys(after), ", ")) + f.r.tail + "."
	c.Why = f.r.who(e.why(f.r.read))
	p.add(c)
}

// contentTypes gives the media types of a part, with the default of the specification.
func contentTypes(encoding map[string]any, b *bundle) map[string]schemaAt {
	list := map[string]schemaAt{}
	for _, name := range strings.Split(text(encoding, "contentType"), ",") {
		if strings.TrimSpace(name) != "" {
			list[mediaType(name)] = schemaAt{}
		}
	}
	if len(list) == 0 {
		list[b.usualType(0)] = schemaAt{}
	}
	return list
}

func (b *bundle) usualType(depth int) string {
	v := b.view()
	_, binary := v.sets["format"]["binary"]
	switch types := v.types &^ kindNull; {
	case len(v.sets["contentMediaType"]) > 0:
		return sortedKeys(v.sets["contentMediaType"])[0]
	case binary, len(v.sets["contentEncoding"]) > 0, types == kindAny&^kindNull:
		return "application/octet-stream"
	case types&kindObject != 0:
		return "application/json"
	case types&kindArray != 0 && depth < maxUnion:
		return b.from.bundle(b.item(0)...).usualType(depth + 1)
	}
	return "text/plain"
}
