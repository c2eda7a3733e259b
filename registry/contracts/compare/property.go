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
	d := difference{level: Info, code: "optional-property-added", text: say("changes.optional-added", theName), why: say("changes.may-leave-out-why", theBoundFirst), name: name, is: at}
	if required {
		d.code, d.text = "required-property-added", say("changes.required-added", theName)
	}
	switch {
	case c.read && old.never != "":
		d.level, d.why = Warning, say("changes.ruled-out-why", theBound)
	case c.read:
		d.why = say("changes.pass-over-why", theBoundFirst)
	case required:
		d.level, d.why = Breaking, say("changes.not-sent-why", theBoundFirst)
	}
	c.note(d)
	if !old.any() && old.never == "" { // it had to fit what holds for properties without a name
		c.below(name, old, new)
	}
}

func (c *comparison) removed(name string, old, new *bundle, at string, required bool) {
	d := difference{level: Breaking, code: "optional-property-removed", text: say("changes.optional-removed", theName), why: say("changes.property-used-why", theBoundFirst), name: name, was: at}
	if required {
		d.code, d.text, d.why = "required-property-removed", say("changes.required-removed", theName), say("changes.property-counted-on-why", theBoundFirst)
	}
	if !c.read {
		d.code, d.text = "property-removed", say("changes.removed", theNameFirst)
		d.level, d.why = Warning, say("changes.still-sent-why", theBoundFirst)
		if new.never != "" {
			d.level, d.why = Breaking, say("changes.not-allowed-why", theBound)
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
		d.code, d.text, d.why = kindOfProperty(required)+"-became-write-only", say("changes.became-write-only", theNameFirst), say("changes.became-write-only-why", theBound)
	} else {
		d.code, d.text, d.why = kindOfProperty(required)+"-became-read-only", say("changes.became-read-only", theNameFirst), say("changes.became-read-only-why", theBound)
	}
	c.note(d)
}

// propertyShown reports a property that now belongs in this direction.
func (c *comparison) propertyShown(name string, old *bundle, after string, required bool) {
	d := difference{level: Info, name: name, was: old.view().flags[c.mark()], is: after}
	switch {
	case c.read:
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-write-only", say("changes.no-longer-write-only", theNameFirst), say("changes.pass-over-why", theBoundFirst)
	case required:
		d.level = Breaking
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-read-only", say("changes.required-no-longer-read-only", theName), say("changes.not-sent-why", theBoundFirst)
	default:
		d.code, d.text, d.why = kindOfProperty(required)+"-became-not-read-only", say("changes.no-longer-read-only", theNameFirst), say("changes.may-leave-out-why", theBoundFirst)
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
	came, went := say("changes.became-write-only", theNameFirst), say("changes.no-longer-write-only", theNameFirst)
	if c.read {
		key, said = "readOnly", "read-only"
		came, went = say("changes.became-read-only", theNameFirst), say("changes.no-longer-read-only", theNameFirst)
	}
	was, had := old.view().flags[key]
	is, has := new.view().flags[key]
	d := difference{level: Info, name: name, why: nothing.why(c.read), was: either(was, old.at), is: either(is, new.at)}
	if has && !had {
		d.code, d.text = "property-became-"+said, came
		c.note(d)
	} else if had && !has {
		d.code, d.text = "property-became-not-"+said, went
		c.note(d)
	}
}

func (c *comparison) required(name string, was, is shape, before, after string) {
	d := difference{name: name, was: before, is: after}
	switch _, had := was.required[name]; {
	case !had && is.required[name] != "":
		d.level, d.code, d.text, d.is = narrower.level(c.read), "property-became-required", say("changes.became-required", theNameFirst), is.required[name]
		d.why = narrower.why(c.read)
	case had && is.required[name] == "":
		d.level, d.code, d.text, d.was = wider.level(c.read), "property-became-optional", say("changes.became-optional", theNameFirst), was.required[name]
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
			c.report(e, "-xml-changed", say("changes.xml-elsewhere", theValue), either(before, c.old.at), either(after, c.new.at))
			return
		}
		c.report(e, "-xml-"+words(key)+"-changed", say("changes.xml", code(key), theValue, quote(was[key]), quote(is[key])), either(before, c.old.at), either(after, c.new.at))
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
		c.report(e, "-discriminator-added", say("changes.discriminator-added", code(is.property), theValue), c.old.at, is.at)
	case is == nil:
		e := wider
		if c.new.requires(was.property) {
			e = nothing
		}
		c.report(e, "-discriminator-removed", say("changes.discriminator-removed", code(was.property), theValue), was.at, c.new.at)
	case was.property != is.property:
		c.report(other, "-discriminator-property-name-changed", say("changes.discriminator-changed", theValue, code(was.property), code(is.property)), was.at, is.at)
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
				c.report(other, "-discriminator-mapping-changed", say("changes.mapping-changed", code(value), theValue), was.at, is.at)
			}
		case had:
			e := narrower
			if _, stays := c.new.forms()[lastStep(before)]; stays && c.read {
				e = other // the form comes under another value
			}
			c.report(e, "-discriminator-mapping-deleted", say("changes.mapping-removed", code(value), theValue), was.at, is.at)
		default:
			c.report(wider, "-discriminator-mapping-added", say("changes.mapping-added", code(value), theValue), was.at, is.at)
		}
	}
	if was.fallback != is.fallback {
		c.report(unclear, "-discriminator-default-changed", say("changes.mapping-default", theValueFirst, code(is.property)), was.at, is.at)
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
