package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

// property compares a property that either document names or requires. What the contract keeps out of a direction does not
// count there: readOnly in what is sent, writeOnly in what is read.
func (c *comparison) property(name string, was, is shape) {
	old, new := c.old.property(name), c.new.property(name)
	before, after := either(was.named[name], was.required[name]), either(is.named[name], is.required[name])
	hiddenBefore, hiddenAfter := before != "" && c.hidden(old), after != "" && c.hidden(new)
	switch {
	case was.named[name] == "" && is.named[name] == "": // required without being described
		c.required(name, was, is, either(before, c.old.at), either(after, c.new.at))
	case hiddenBefore && hiddenAfter, before == "" && hiddenAfter, after == "" && hiddenBefore:
	case before == "":
		c.added(name, old, new, after, is.required[name] != "")
	case after == "":
		c.removed(name, old, new, before, was.required[name] != "")
	case hiddenAfter:
		c.propertyHidden(name, new, before, was.required[name] != "")
	case hiddenBefore:
		c.propertyShown(name, old, after, is.required[name] != "")
	default:
		c.kept(name, old, new)
		c.required(name, was, is, before, after)
	}
}

func (c *comparison) mark() string {
	if c.read {
		return "writeOnly"
	}
	return "readOnly"
}

func (c *comparison) hidden(b *bundle) bool {
	_, marked := b.view().flags[c.mark()]
	return marked
}

func (c *comparison) added(name string, old, new *bundle, at string, required bool) {
	d := difference{level: Info, code: "optional-property-added", text: "The optional {name} was added", why: "{who} may leave it out.", name: name, is: at}
	if required {
		d.code, d.text = "required-property-added", "The required {name} was added"
	}
	switch {
	case c.read && old.never != "":
		d.level, d.why = Warning, "The old version ruled out properties that it did not name, so {who} that check for that refuse it."
	case c.read:
		d.why = "{who} that do not know it can pass over it."
	case required:
		d.level, d.why = Breaking, "{who} that do not send it are refused."
	}
	c.note(d)
	if !old.any() && old.never == "" { // it had to fit what holds for properties without a name
		c.below(name, old, new)
	}
}

func (c *comparison) removed(name string, old, new *bundle, at string, required bool) {
	d := difference{level: Breaking, code: "optional-property-removed", text: "The optional {name} was removed", why: "{who} that use the property no longer find it.", name: name, was: at}
	if required {
		d.code, d.text, d.why = "required-property-removed", "The required {name} was removed", "{who} that count on the property no longer find it."
	}
	if !c.read {
		d.code, d.text = "property-removed", "The {name} was removed"
		d.level, d.why = Warning, "{who} that still send it may be refused, or it is ignored."
		if new.never != "" {
			d.level, d.why = Breaking, "Properties that are not named are not allowed, so {who} that still send it are refused."
		} else if !new.any() {
			c.below(name, old, new)
		}
	}
	c.note(d)
}

// propertyHidden reports a property that no longer belongs in this direction.
func (c *comparison) propertyHidden(name string, new *bundle, before string, required bool) {
	d := difference{level: Breaking, name: name, was: before, is: new.view().flags[c.mark()]}
	if c.read {
		d.code, d.text, d.why = kindOfProperty(required)+"-became-write-only", "The {name} became write-only", "It is no longer given, so {who} that use it no longer find it."
	} else {
		d.code, d.text, d.why = kindOfProperty(required)+"-became-read-only", "The {name} became read-only", "It must not be sent any more, so {who} that do can be refused, or it is ignored."
	}
	c.note(d)
}

// propertyShown reports a property that now belongs in this direction.
func (c *comparison) propertyShown(name string, old *bundle, after string, required bool) {
	d := difference{level: Info, name: name, was: old.view().flags[c.mark()], is: after}
	switch {
	case c.read:
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-write-only", "The {name} is no longer write-only", "{who} that do not know it can pass over it."
	case required:
		d.level = Breaking
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-read-only", "The required {name} is no longer read-only", "{who} that do not send it are refused."
	default:
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-read-only", "The {name} is no longer read-only", "{who} may leave it out."
	}
	c.note(d)
}

func kindOfProperty(required bool) string {
	if required {
		return "required-property"
	}
	return "optional-property"
}

// kept compares a property that belongs in this direction in both documents.
func (c *comparison) kept(name string, old, new *bundle) {
	c.below(name, old, new)
	key, said := "writeOnly", "write-only"
	if c.read {
		key, said = "readOnly", "read-only"
	}
	was, had := old.view().flags[key]
	is, has := new.view().flags[key]
	d := difference{level: Info, name: name, why: "It changes nothing in what {who} send or get.", was: either(was, old.at), is: either(is, new.at)}
	if has && !had {
		d.code, d.text = "property-became-"+said, "The {name} became "+said
		c.note(d)
	} else if had && !has {
		d.code, d.text = "property-became-not-"+said, "The {name} is no longer "+said
		c.note(d)
	}
}

func (c *comparison) required(name string, was, is shape, before, after string) {
	d := difference{name: name, was: before, is: after}
	switch _, had := was.required[name]; {
	case !had && is.required[name] != "":
		d.level, d.code, d.text, d.is = narrower.level(c.read), "property-became-required", "The {name} became required", is.required[name]
		d.why = narrower.why(c.read)
	case had && is.required[name] == "":
		d.level, d.code, d.text, d.was = wider.level(c.read), "property-became-optional", "The {name} became optional", was.required[name]
		d.why = wider.why(c.read)
	default:
		return
	}
	c.note(d)
}

// dependents gives which properties require others, both names with a zero byte between, and the place that says so.
func (b *bundle) dependents() map[string]string {
	list := map[string]string{}
	for _, part := range b.parts {
		for _, keyword := range []string{"dependentRequired", "dependencies"} {
			for given, value := range child(part.object, keyword) {
				needed, _ := value.([]any)
				for _, item := range needed {
					if name, ok := item.(string); ok {
						list[given+"\x00"+name] = part.at + "/" + keyword + jsonpointer.Join(given)
					}
				}
			}
		}
	}
	return list
}

// xml compares how a value is written in XML.
func (c *comparison) xml() {
	was, before := c.old.xml()
	is, after := c.new.xml()
	for _, key := range unionKeys(was, is) {
		if was[key] == is[key] {
			continue
		}
		e := other
		switch {
		case c.in != inXML:
			e = nothing
		case key == "prefix":
			e = unclear
		}
		if e == nothing {
			c.report(e, "-xml-changed", "How {it} would be written in XML changed; it is not sent as XML here", either(before, c.old.at), either(after, c.new.at))
			return
		}
		c.report(e, "-xml-"+words(key)+"-changed", "In XML, the "+code(key)+" of {it} changed from "+quote(was[key])+" to "+quote(is[key]), either(before, c.old.at), either(after, c.new.at))
	}
}

// xml gives what is said of XML, and where; what holds anyway is left out.
func (b *bundle) xml() (map[string]string, string) {
	said, at := map[string]string{}, ""
	for _, part := range b.parts {
		object := child(part.object, "xml")
		for _, key := range []string{"name", "namespace", "prefix", "nodeType"} {
			if value := text(object, key); value != "" {
				said[key], at = value, part.at+"/xml"
			}
		}
		for _, key := range []string{"attribute", "wrapped"} {
			if object[key] == true {
				said[key], at = "true", part.at+"/xml"
			}
		}
	}
	if said["nodeType"] == "attribute" {
		said["attribute"] = "true"
		delete(said, "nodeType")
	}
	return said, at
}

type discriminator struct {
	property, at, fallback string
	mapping                map[string]string // values to pointers of schemas, without those that are the schema's own name
}

func (b *bundle) discriminator() *discriminator {
	for _, part := range b.parts {
		switch said := part.object["discriminator"].(type) {
		case string: // as AsyncAPI writes it
			return &discriminator{property: said, at: part.at + "/discriminator"}
		case map[string]any:
			d := &discriminator{property: text(said, "propertyName"), at: part.at + "/discriminator", fallback: text(said, "defaultMapping"), mapping: map[string]string{}}
			for value := range child(said, "mapping") {
				target := text(child(said, "mapping"), value)
				if !strings.ContainsAny(target, "#/") {
					target = "#/components/schemas/" + target
				}
				if pointer, _ := localPointer(target); lastStep(pointer) != value {
					d.mapping[value] = either(pointer, target)
				}
			}
			return d
		}
	}
	return nil
}

// discriminators compares how the form of a value is told.
func (c *comparison) discriminators() {
	was, is := c.old.discriminator(), c.new.discriminator()
	switch {
	case was == nil && is == nil:
	case was == nil:
		e := narrower
		if c.old.requires(is.property) {
			e = nothing
		}
		c.report(e, "-discriminator-added", "The property "+code(is.property)+" now tells which form {it} has", c.old.at, is.at)
	case is == nil:
		e := wider
		if c.new.requires(was.property) {
			e = nothing
		}
		c.report(e, "-discriminator-removed", "The property "+code(was.property)+" no longer tells which form {it} has", was.at, c.new.at)
	case was.property != is.property:
		c.report(other, "-discriminator-property-name-changed", "The property that tells which form {it} has changed from "+code(was.property)+" to "+code(is.property), was.at, is.at)
	default:
		c.mappings(was, is)
	}
}

// requires reports whether every form of a value has a property.
func (b *bundle) requires(name string) bool {
	if b.shape().required[name] != "" {
		return true
	}
	for _, u := range b.unions() {
		all := true
		for _, branch := range u.branches {
			all = all && b.from.bundle(branch).shape().required[name] != ""
		}
		if all {
			return true
		}
	}
	return false
}

func (c *comparison) mappings(was, is *discriminator) {
	for _, value := range unionKeys(was.mapping, is.mapping) {
		before, had := was.mapping[value]
		after, has := is.mapping[value]
		switch {
		case had && has:
			if before != after && c.otherSchemas(before, after) {
				c.report(other, "-discriminator-mapping-changed", "The value "+code(value)+" now tells that {it} has another form", was.at, is.at)
			}
		case had:
			e := narrower
			if _, stays := c.new.forms()[lastStep(before)]; stays && c.read {
				e = other // the form comes under another value
			}
			c.report(e, "-discriminator-mapping-deleted", "The value "+code(value)+" no longer tells which form {it} has", was.at, is.at)
		default:
			c.report(wider, "-discriminator-mapping-added", "The value "+code(value)+" now tells which form {it} has", was.at, is.at)
		}
	}
	if was.fallback != is.fallback {
		c.report(unclear, "-discriminator-default-changed", "{It} has another form where the property "+code(is.property)+" is absent", was.at, is.at)
	}
}

// otherSchemas reports whether two schemas differ in what they allow.
func (c *comparison) otherSchemas(before, after string) bool {
	old, new := c.old.from.at(before), c.new.from.at(after)
	return c.worst(c.try(old, new)) != ""
}

// at gives the schema that a pointer leads to.
func (s *source) at(pointer string) schemaAt {
	value, at := s.value(map[string]any{"$ref": "#" + pointer}, pointer)
	return schemaAt{value, at}
}

// forms gives the names of the branches of all unions.
func (b *bundle) forms() map[string]bool {
	list := map[string]bool{}
	for _, u := range b.unions() {
		for _, branch := range u.branches {
			list[b.from.name(branch)] = true
		}
	}
	return list
}
