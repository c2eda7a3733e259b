package compare

import (
	"mime"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// way gives the direction in which content goes, seen from the parties who are bound.
type way int

const (
	sent     way = iota // they send it, in one of the forms that are taken
	answered            // they get it, and ask for the form they want
	pushed              // they get it, in whatever form it comes
)

// exchange is a place where content is given in one of several media types.
type exchange struct {
	way         way
	subject, in i18n.Message
	// tail ends the texts.
	tail ending
	side string
	// root holds the place of the schemas; nil where they need not be compared.
	root  *root
	types []string
}

// content gives the media types of a body by their name in one form of writing.
func content(owner map[string]any, at string) map[string]schemaAt {
	list := map[string]schemaAt{}
	given := child(owner, "content")
	for _, name := range sortedKeys(given) {
		list[mediaType(name)] = schemaAt{given[name], at + "/content" + jsonpointer.Join(name)}
	}
	return list
}

// mediaType writes a media type in small letters, without space and a charset that is the usual one.
func mediaType(name string) string {
	base, parameters, err := mime.ParseMediaType(name)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(name))
	}
	if strings.EqualFold(parameters["charset"], "utf-8") {
		delete(parameters, "charset")
	}
	return mime.FormatMediaType(base, parameters)
}

// covers reports whether a media type or range includes another.
func covers(given, wanted string) bool {
	if given == wanted || given == "*/*" {
		return true
	}
	kind, isRange := strings.CutSuffix(given, "*")
	return isRange && strings.HasSuffix(kind, "/") && strings.HasPrefix(wanted, kind)
}

// coveredBy gives the media type or range of a list that takes in another; empty for none.
func coveredBy(list map[string]schemaAt, wanted string) string {
	found := ""
	for given := range list {
		if covers(given, wanted) && len(given) > len(found) {
			found = given
		}
	}
	return found
}

// mediaTypes compares the media types that content comes in, and their schemas.
func (p *pair) mediaTypes(e exchange, before, after map[string]schemaAt) {
	for _, name := range sortedKeys(before) {
		if is, both := after[name]; both {
			p.mediaType(e, name, before[name], is)
		} else if over := coveredBy(after, name); over != "" {
			p.mediaType(e, name, before[name], after[over])
		} else {
			p.mediaTypeRemoved(e, name, before[name].at, len(after) > 0)
		}
	}
	for _, name := range sortedKeys(after) {
		if _, both := before[name]; both {
			continue
		}
		if over := coveredBy(before, name); over != "" {
			p.mediaType(e, name, before[over], after[name])
			continue
		}
		p.mediaTypeAdded(e, name, after[name].at, len(before) > 0)
	}
	if len(before) == 1 && len(after) == 1 && e.way == pushed { // one form replaced by another: its schema is judged all the same
		was, is := sortedKeys(before)[0], sortedKeys(after)[0]
		if was != is && coveredBy(after, was) == "" {
			p.mediaType(e, is, before[was], after[is])
		}
	}
}

// mediaType compares what is said of content in a media type that both have.
func (p *pair) mediaType(e exchange, name string, before, after schemaAt) {
	was, wasAt := p.old.object(before.value, before.at)
	is, isAt := p.new.object(after.value, after.at)
	if e.root == nil || was == nil || is == nil {
		return
	}
	r := *e.root
	r.side, r.in = e.sideOr(), writtenAs(name)
	if p.unsaidBytes(name, was["schema"], is["schema"]) {
		return
	}
	p.judge(r, schemaAt{was["schema"], wasAt + "/schema"}, schemaAt{is["schema"], isAt + "/schema"})
	if was["itemSchema"] != nil || is["itemSchema"] != nil { // each item of a stream
		items := r
		items.it = r.it.eachItem()
		p.judge(items, schemaAt{was["itemSchema"], wasAt + "/itemSchema"}, schemaAt{is["itemSchema"], isAt + "/itemSchema"})
	}
	if isForm(name) {
		p.encodings(e, r, located{was, wasAt}, located{is, isAt})
	}
}

// writtenAs classifies a media type by the way it writes values.
func writtenAs(name string) media {
	base, _, _ := strings.Cut(name, ";")
	switch {
	case strings.HasSuffix(base, "/xml"), strings.HasSuffix(base, "+xml"):
		return inXML
	case strings.HasPrefix(base, "text/"), isForm(name):
		return inText
	}
	return inJSON
}

// isForm reports whether content in a media type has parts that are encoded one by one.
func isForm(name string) bool {
	return strings.HasPrefix(name, "multipart/") || strings.HasPrefix(name, "application/x-www-form-urlencoded")
}

func (e exchange) sideOr() string {
	if e.side == "" {
		return SideConsumer
	}
	return e.side
}

func (p *pair) mediaTypeRemoved(e exchange, name, at string, others bool) {
	c := Change{
		Level: Breaking, Code: "media-type-removed", Pointer: at, Removed: true, Side: e.sideOr(), Subjects: []i18n.Message{e.subject}, EventTypes: e.types,
		Text: e.tail.of(i18n.M("changes.media-type-removed", quote(name), e.in)),
	}
	switch {
	case e.way == sent:
		c.Why = "changes.media-type-sent-why"
	case e.way == answered:
		c.Why = "changes.media-type-answered-why"
	case others:
		c.Level, c.Why = Info, "changes.media-type-replaced-why"
	}
	if c.Why == "" {
		c.Why = "changes.media-type-pushed-why"
	}
	p.add(c)
}

func (p *pair) mediaTypeAdded(e exchange, name, at string, others bool) {
	c := Change{
		Level: Info, Code: "media-type-added", Pointer: at, Side: e.sideOr(), Subjects: []i18n.Message{e.subject}, EventTypes: e.types,
		Text: e.tail.of(i18n.M("changes.media-type-added", quote(name), e.in)),
		Why:  "changes.media-type-added-why",
	}
	if e.way == pushed && others {
		c.Level, c.Why = Breaking, "changes.media-type-unknown-why"
	}
	p.add(c)
}

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
				Level: Warning, Code: r.prefix + "-encoding-changed", Side: e.sideOr(), Pointer: is.at + "/" + key, Subjects: []i18n.Message{e.subject}, Direction: direction(r.read),
				Text: r.tail.of("changes.encoding"), Why: "changes.encoding-why",
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
		Side: f.e.sideOr(), Pointer: f.is.at, OldPointer: f.was.at, NewPointer: f.is.at, Subjects: []i18n.Message{f.e.subject}, EventTypes: f.e.types, Direction: direction(f.r.read),
	}
	p.contentTypes(f, c)
	said := partNoun(f.name)
	d := described{c: c, prefix: f.r.prefix + "-encoding", said: said, in: "form", read: f.r.read, tail: f.r.tail, short: f.r.short}
	p.style(d, f.was, f.is, schemaAt{f.old.first(), f.old.at}, schemaAt{f.new.first(), f.new.at})
	p.headers(headers{
		subject: f.e.subject, prefix: f.r.prefix + "-encoding-header", owner: said, side: c.Side,
		tail: inPart(f.name), short: inPart(f.name), read: f.r.read,
	}, f.was, f.is)
}

// first gives the first schema of a bundle.
func (b *bundle) first() any {
	if len(b.parts) == 0 {
		return nil
	}
	return b.parts[0].object
}

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
	c.Text = f.r.tail.of(i18n.M("changes.part-media-types", quote(f.name), quote(strings.Join(sortedKeys(before), ", ")), quote(strings.Join(sortedKeys(after), ", "))))
	c.Why = e.why(f.r.read).message(f.r.wording(difference{}, nil))
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
