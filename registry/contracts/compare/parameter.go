package compare

import (
	"strings"

	"schakel/templates/i18n"
)

type parameter struct {
	located
	name, in string
}

// parametersOf gives the parameters of an operation, those of its path included: a header by its name in small letters, a
// path parameter by its place in the path. One that takes the whole query string is compared as a part of its own.
func (s *source) parametersOf(of call) map[string]parameter {
	places := map[string]string{}
	for i, found := range pieces(of.path) {
		if found.closed {
			places[found.name] = itoa(i)
		}
	}
	list := map[string]parameter{}
	for _, owner := range []located{{of.item, of.pathAt}, {of.operation, of.at}} {
		for _, found := range s.listed(owner, "parameters") {
			name, in := text(found.object, "name"), text(found.object, "in")
			key := in + " " + name
			switch in {
			case "header":
				key = strings.ToLower(key)
				if key == "header accept" || key == "header content-type" || key == "header authorization" {
					continue // told of elsewhere; the specification ignores them here
				}
			case "path":
				if place, ok := places[name]; ok {
					key = in + " " + place
				}
			case "query", "cookie":
			default:
				continue
			}
			list[key] = parameter{found, name, in}
		}
	}
	return list
}

// parameters compares the parameters of an operation; read means that the owner of the document sends them.
func (p *pair) parameters(old, new call, read bool) {
	before, after := p.old.parametersOf(old), p.new.parametersOf(new)
	for _, key := range unionKeys(before, after) {
		was, had := before[key]
		is, has := after[key]
		switch {
		case !has:
			p.parameterRemoved(new.subject, was, read)
		case !had:
			p.parameterAdded(new.subject, is, read)
		default:
			p.parameter(new.subject, was, is, read)
		}
	}
}

func prefixOf(read bool) string {
	if read {
		return "webhook-parameter"
	}
	return "request-parameter"
}

func (p *pair) parameterRemoved(subject i18n.Message, was parameter, read bool) {
	c := Change{
		Level: Warning, Code: prefixOf(read) + "-removed", Pointer: was.at, Removed: true, Subjects: []i18n.Message{subject}, Direction: direction(read),
		Text: sentence("changes.removed", parameterNoun(was.in, was.name).first), Why: toClients("changes.still-sent-why"),
	}
	if was.object["deprecated"] == true {
		c.Code += "-with-deprecation"
		c.Text = i18n.M("changes.removed-deprecated", parameterNoun(was.in, was.name).first)
	}
	if read {
		c.Level, c.Why = Breaking, "changes.parameter-read-why"
	}
	p.add(c)
}

func (p *pair) parameterAdded(subject i18n.Message, is parameter, read bool) {
	c := Change{
		Level: Info, Code: "new-optional-request-parameter", Pointer: is.at, Subjects: []i18n.Message{subject}, Direction: direction(read),
		Text: sentence("changes.optional-added", parameterNoun(is.in, is.name).bare), Why: toClients("changes.may-leave-out-why"),
	}
	switch {
	case read:
		c.Code, c.Text, c.Why = "webhook-parameter-added", sentence("changes.added", parameterNoun(is.in, is.name).first), "changes.parameter-unknown-why"
	case is.object["required"] == true || is.in == "path":
		c.Level, c.Code, c.Text = Breaking, "new-required-request-parameter", sentence("changes.required-added", parameterNoun(is.in, is.name).bare)
		c.Why = toClients("changes.not-sent-why")
	}
	p.add(c)
}

func (p *pair) parameter(subject i18n.Message, was, is parameter, read bool) {
	prefix := prefixOf(read)
	said := parameterNoun(is.in, is.name)
	c := Change{Pointer: is.at, OldPointer: was.at, NewPointer: is.at, Subjects: []i18n.Message{subject}, Direction: direction(read)}
	switch required := is.object["required"] == true; {
	case is.in == "path" || required == (was.object["required"] == true):
	case required:
		c.Level, c.Code, c.Text, c.Why = narrower.level(read), prefix+"-became-required", sentence("changes.became-required", said.first), toClients("changes.not-sent-why")
		if read {
			c.Why = "changes.always-comes-why"
		}
		p.add(c)
	default:
		c.Level, c.Code, c.Text, c.Why = wider.level(read), prefix+"-became-optional", sentence("changes.became-optional", said.first), ofClients("changes.still-allowed-why")
		if read {
			c.Why = "changes.parameter-optional-why"
		}
		p.add(c)
	}
	p.deprecated(c, prefix, said, was.located, is.located)
	p.sunset(subject, was.located, is.located)
	p.described(described{c: c, prefix: prefix, said: said, in: is.in, read: read}, was.located, is.located)
}

// deprecated compares whether something was announced to go.
func (p *pair) deprecated(c Change, prefix string, said noun, was, is located) {
	c.Level = Info
	switch before, after := was.object["deprecated"] == true, is.object["deprecated"] == true; {
	case after && !before:
		c.Code, c.Pointer, c.Text, c.Why = prefix+"-deprecated", is.at+"/deprecated", sentence("changes.deprecated", said.first), ofClients("changes.deprecated-why")
		p.add(c)
	case before && !after:
		c.Code, c.Text, c.Why = prefix+"-reactivated", sentence("changes.reactivated", said.first), ofClients("changes.nothing-why")
		p.add(c)
	}
}

// described is a parameter, header or part of a form, whose value is described by a schema or by content.
type described struct {
	c           Change // with the subject, the direction and the place
	prefix, in  string
	said        noun
	read        bool
	tail, short ending
	types       []string
}

// described compares how the value is written, and what it may be.
func (p *pair) described(d described, was, is located) {
	oldContent, newContent := content(was.object, was.at), content(is.object, is.at)
	if (len(oldContent) > 0) != (len(newContent) > 0) {
		d.c.Level, d.c.Code, d.c.Text = Breaking, d.prefix+"-serialization-changed", d.tail.of(i18n.M("changes.serialization", d.said.first))
		d.c.Why = "changes.serialization-why"
		p.add(d.c)
		return
	}
	r := root{read: d.read, side: d.c.Side, subject: d.c.Subjects[0], types: d.types, in: inText, prefix: d.prefix, it: d.said, tail: d.tail, short: d.short}
	if len(newContent) > 0 {
		e := exchange{way: sent, subject: r.subject, side: d.c.Side, in: d.said.inside, tail: d.tail, root: &r}
		if d.read {
			e.way = pushed
		}
		p.mediaTypes(e, oldContent, newContent)
		return
	}
	old, new := schemaAt{was.object["schema"], was.at + "/schema"}, schemaAt{is.object["schema"], is.at + "/schema"}
	p.style(d, was, is, old, new)
	if item, ok := p.listOf(d, is, old, new); ok {
		new = item
	}
	p.judge(r, old, new)
}

// listOf gives the schema of the items where one value became a list that is written one by one: who sends one value still
// sends a list of one.
func (p *pair) listOf(d described, is located, old, new schemaAt) (schemaAt, bool) {
	before, after := p.old.bundle(old), p.new.bundle(new)
	w := styleOf(is.object, d.in)
	if d.read || d.in != "query" && d.in != "cookie" || w.style != "form" || !w.explode ||
		before.types(0)&(kindArray|kindObject) != 0 || after.types(0)&^kindNull != kindArray || after.view().limits["minItems"].value != nil {
		return schemaAt{}, false
	}
	items := after.item(0)
	if len(items) != 1 {
		return schemaAt{}, false
	}
	return items[0], true
}

func direction(read bool) string {
	if read {
		return DirectionRead
	}
	return DirectionSent
}

// style compares how the value of a parameter or header is put into text.
func (p *pair) style(d described, was, is located, old, new schemaAt) {
	types := p.old.bundle(old).types(0) | p.new.bundle(new).types(0)
	structured := types&(kindArray|kindObject) != 0
	before, after := styleOf(was.object, d.in), styleOf(is.object, d.in)
	c := d.c
	c.Level, c.Why = Breaking, "changes.style-why"
	if d.read {
		c.Why = "changes.style-read-why"
	}
	if before.style != after.style {
		c.Code, c.Pointer = d.prefix+"-style-changed", is.at+"/style"
		c.Text = d.tail.of(i18n.M("changes.style", d.said.inside, quote(before.style), quote(after.style)))
		p.add(c)
	}
	if before.explode != after.explode && after.style != "deepObject" && before.style == after.style {
		if !structured {
			c.Level, c.Why = Info, "changes.explode-alike-why"
		}
		c.Code, c.Pointer = d.prefix+"-explode-changed", is.at+"/explode"
		c.Text = d.tail.of(i18n.M("changes.explode-off", d.said.first))
		if after.explode {
			c.Text = d.tail.of(i18n.M("changes.explode-on", d.said.first))
		}
		p.add(c)
	}
	p.allowance(d, was, is, "allowReserved", allowances{i18n.M("changes.reserved-allowed", d.said.first), i18n.M("changes.reserved-refused", d.said.first)})
	if d.in == "query" {
		p.allowance(d, was, is, "allowEmptyValue", allowances{i18n.M("changes.empty-allowed", d.said.first), i18n.M("changes.empty-refused", d.said.first)})
	}
}

// allowances are the texts of a flag that lets more be sent.
type allowances struct{ allowed, refused i18n.Message }

// allowance compares a flag that lets more be sent.
func (p *pair) allowance(d described, was, is located, key string, texts allowances) {
	before, after := was.object[key] == true, is.object[key] == true
	if before == after || d.in == "header" {
		return
	}
	e, c := narrower, d.c
	c.Code, c.Pointer = d.prefix+"-"+words(key)+"-changed", is.at+"/"+key
	c.Text = d.tail.of(texts.refused)
	if after {
		e, c.Text = wider, d.tail.of(texts.allowed)
	}
	c.Level, c.Why = e.level(d.read), e.why(d.read).message(clients())
	p.add(c)
}

// writing holds the style in which a value is written as text.
type writing struct {
	style   string
	explode bool
}

// styleOf gives the style, with the defaults of the specification.
func styleOf(object map[string]any, in string) writing {
	w := writing{style: text(object, "style")}
	if w.style == "" {
		w.style = "form"
		if in == "path" || in == "header" {
			w.style = "simple"
		}
	}
	w.explode = w.style == "form" || w.style == "cookie"
	if said, ok := object["explode"].(bool); ok {
		w.explode = said
	}
	return w
}
