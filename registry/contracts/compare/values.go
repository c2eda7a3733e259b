package compare

import (
	"maps"
	"strings"

	"schakel/templates/i18n"
)

// kinds compares the types, null apart.
func (c *comparison) kinds() {
	was, is := c.was.types&^kindNull, c.is.types&^kindNull
	gone, came := was&^is, is&^was
	switch {
	case c.was.implied && c.is.types == kindAny || c.is.implied && c.was.types == kindAny:
		gone, came = 0, 0 // what the keywords are about is no limit
	case c.was.implied != c.is.implied && was == is:
		c.untyped()
	}
	if c.in != inJSON && is&kindString != 0 && c.is.free() {
		gone &^= kindBoolean | kindNumber // written as texts, these still fit
	}
	if c.in != inJSON && was&kindString != 0 && c.was.free() {
		came &^= kindBoolean | kindNumber
	}
	at := func(v *view, b *bundle) string { return either(v.typesAt, b.at) }
	before, after := at(c.was, c.old), at(c.is, c.new)
	text := say("changes.type", theValue, was.text(), is.text())
	switch {
	case gone != 0 && came != 0:
		c.report(other, "-type-changed", text, before, after)
	case gone != 0:
		c.report(narrower, "-type-specialized", text, before, after)
	case came != 0:
		c.report(wider, "-type-generalized", text, before, after)
	case was != is:
		c.report(nothing, "-type-changed-alike", say("changes.type-alike", theValue, was.text(), is.text()), before, after)
	}
	c.nulls()
	for _, at := range c.is.nullables {
		if len(c.was.nullables) == 0 {
			c.note(difference{
				level: Warning, code: "-nullable-ignored", text: say("changes.nullable-ignored", theValue),
				why: say("changes.nullable-ignored-why"), was: c.old.at, is: at,
			})
		}
	}
}

// untyped reports a type that is no longer given, or is now, where the other keywords leave little doubt about it.
func (c *comparison) untyped() {
	e, code, text := wider, "-type-left-out", say("changes.type-left-out", theValue)
	if c.was.implied {
		e, code, text = narrower, "-type-given", say("changes.type-given", theValue)
	}
	if e.level(c.read) == Breaking {
		e = unclear
	} else {
		e = nothing
	}
	c.report(e, code, text, either(c.was.typesAt, c.old.at), either(c.is.typesAt, c.new.at))
}

// free reports whether every text is allowed.
func (v *view) free() bool {
	_, shortest := v.limits["minLength"]
	_, longest := v.limits["maxLength"]
	return v.enum == nil && len(v.sets) == 0 && !shortest && !longest
}

func (c *comparison) nulls() {
	if c.was.null == c.is.null || c.was.unsure || c.is.unsure || c.was.types&^kindNull == 0 || c.is.types&^kindNull == 0 {
		return
	}
	before, after := either(c.was.typesAt, c.old.at), either(c.is.typesAt, c.new.at)
	e, code, text := narrower, "-became-not-nullable", say("changes.not-nullable", theValueFirst)
	if c.is.null {
		e, code, text = wider, "-became-nullable", say("changes.nullable", theValueFirst)
	}
	if c.in == inText && e.level(c.read) == Breaking {
		e = unclear // how null is written as a text is not laid down
	}
	c.report(e, code, text, before, after)
}

func (c *comparison) values() {
	before, after := either(c.was.enumAt, c.old.at), either(c.is.enumAt, c.new.at)
	switch {
	case c.was.enum == nil && c.is.enum == nil:
	case c.was.enum == nil:
		c.report(narrower, "-became-enum", say("changes.enum-set", theValueFirst), c.old.at, after)
	case c.is.enum == nil:
		c.report(wider, "-enum-removed", say("changes.enum-unset", theValueFirst), before, c.new.at)
	default:
		for _, value := range unionKeys(c.was.enum, c.is.enum) {
			if !c.is.enum[value] {
				c.value(narrower, "-enum-value-removed", say("changes.value-removed", code(value), theValue), value, before, after)
			} else if !c.was.enum[value] {
				c.value(wider, "-enum-value-added", say("changes.value-added", code(value), theValue), value, before, after)
			}
		}
	}
	for _, value := range unionKeys(c.was.open, c.is.open) { // a list that may grow: readers must expect others
		if !c.is.open[value] && c.is.open != nil {
			c.report(narrower, "-x-extensible-enum-value-removed", say("changes.known-value-removed", code(value), theValue), c.was.openAt, c.is.openAt)
		} else if !c.was.open[value] {
			c.report(nothing, "-x-extensible-enum-value-added", say("changes.known-value-added", code(value), theValue), either(c.was.openAt, c.old.at), c.is.openAt)
		}
	}
}

// value reports that a value came into a list or left it.
func (c *comparison) value(e effect, code string, text phrase, value, was, is string) {
	c.note(difference{level: e.level(c.read), code: code, text: text, why: e.why(c.read), value: strings.Trim(value, `"`), was: was, is: is})
}

// code writes a value for a text, one that is a text itself without its quotation marks.
func code(value string) string { return quote(strings.Trim(value, `"`)) }

// about are the types that a limit is about.
func about(keyword string) kinds {
	switch keyword {
	case "minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType":
		return kindString
	case "minItems", "maxItems", "uniqueItems":
		return kindArray
	case "minProperties", "maxProperties":
		return kindObject
	case "minimum", "maximum", "multipleOf":
		return kindNumber
	}
	return kindAny
}

// concerns reports whether values of the types that a keyword is about are allowed in both.
func (c *comparison) concerns(keyword string) bool {
	return c.was.types&about(keyword) != 0 && c.is.types&about(keyword) != 0
}

// ranges compares limits of numbers, lengths and counts.
func (c *comparison) ranges() {
	for _, key := range unionKeys(c.was.limits, c.is.limits) {
		was, had := c.was.limits[key]
		is, has := c.is.limits[key]
		name := strings.TrimSuffix(words(key), "imum")
		if was.exclusive || is.exclusive {
			name = "exclusive-" + name
		}
		switch {
		case !c.concerns(key) && had && has && stricter(key, is, was) == 0:
		case !c.concerns(key):
			c.report(nothing, "-"+name+"-without-effect", say("changes.limit-without-effect", code(key), theValue), either(was.at, c.old.at), either(is.at, c.new.at))
		case !had:
			c.report(narrower, "-"+name+"-set", say("changes.limit-set", code(key), theValue, is.text()), c.old.at, is.at)
		case !has:
			c.report(wider, "-"+name+"-unset", say("changes.limit-unset", code(key), theValue, was.text()), was.at, c.new.at)
		default:
			c.moved(key, name, was, is)
		}
	}
	if len(c.was.multiples)+len(c.is.multiples) > 0 && c.concerns("multipleOf") {
		c.multiples()
	}
}

func (c *comparison) moved(key, name string, was, is bound) {
	order := stricter(key, is, was)
	if order == 0 {
		return
	}
	direction := "decreased"
	if (order > 0) == strings.HasPrefix(key, "min") {
		direction = "increased"
	}
	text := say("changes.limit-changed", code(key), theValue, was.text(), is.text())
	if order > 0 {
		c.report(narrower, "-"+name+"-"+direction, text, was.at, is.at)
	} else {
		c.report(wider, "-"+name+"-"+direction, text, was.at, is.at)
	}
}

// text writes a limit.
func (b bound) text() i18n.Message {
	said := "`" + decimal(b) + "`"
	if b.exclusive {
		return i18n.M("changes.limit-exclusive", said)
	}
	return i18n.Raw(said)
}

func decimal(b bound) string {
	if b.value.IsInt() {
		return b.value.Num().String()
	}
	return strings.TrimRight(b.value.FloatString(10), "0")
}

func (c *comparison) multiples() {
	was, before := multiple(c.was.multiples)
	is, after := multiple(c.is.multiples)
	switch {
	case was == nil:
		c.report(narrower, "-multiple-of-set", say("changes.multiple-set", theValueFirst, code(is.RatString())), c.old.at, after)
	case is == nil:
		c.report(wider, "-multiple-of-unset", say("changes.multiple-unset", theValueFirst, code(was.RatString())), before, c.new.at)
	case was.Cmp(is) != 0:
		c.report(multipleEffect(was, is), "-multiple-of-changed", say("changes.multiple-changed", theValueFirst, code(is.RatString()), code(was.RatString())), before, after)
	}
}

// sameBytes gives the texts of both sides without those that say the same of bytes. OpenAPI 3.0 writes bytes as format binary,
// and in base64 as format byte; from 3.1 on that is contentMediaType and contentEncoding.
func (c *comparison) sameBytes() (was, is map[string]map[string]string) {
	was, is = c.was.sets, c.is.sets
	switch {
	case !c.old.from.newer() && c.new.from.newer():
		return withoutBytes(was, is)
	case c.old.from.newer() && !c.new.from.newer():
		is, was = withoutBytes(is, was)
	}
	return was, is
}

// withoutBytes takes what both say of bytes out of the texts of a schema of 3.0 and of one from 3.1 on.
func withoutBytes(old, new map[string]map[string]string) (o, n map[string]map[string]string) {
	_, binary := old["format"]["binary"]
	_, byteForm := old["format"]["byte"]
	if _, other := old["format"]["base64"]; other {
		byteForm = true
	}
	_, base64 := new["contentEncoding"]["base64"]
	raw := binary && len(new["contentEncoding"]) == 0 && len(new["contentMediaType"]) > 0
	coded := byteForm && base64 && len(new["contentEncoding"]) == 1
	if !raw && !coded {
		return old, new
	}
	o, n = maps.Clone(old), maps.Clone(new)
	o["format"] = maps.Clone(old["format"])
	for _, name := range []string{"binary", "byte", "base64"} {
		delete(o["format"], name)
	}
	delete(n, "contentEncoding")
	delete(n, "contentMediaType")
	return o, n
}

// unsaidBytes reports whether a body that is not JSON, XML or a text is bytes on both sides: a string of format binary in a
// document of 3.0, and no schema, or an empty one, from 3.1 on.
func (p *pair) unsaidBytes(name string, was, is any) bool {
	if !isBytes(name) {
		return false
	}
	switch {
	case !p.old.newer() && p.new.newer():
		return p.old.binary(was) && empty(is)
	case p.old.newer() && !p.new.newer():
		return empty(was) && p.new.binary(is)
	}
	return false
}

// isBytes reports whether a media type writes bytes as they are.
func isBytes(name string) bool {
	if writtenAs(name) != inJSON {
		return false
	}
	base, _, _ := strings.Cut(name, ";")
	return !strings.HasSuffix(base, "json")
}

func (s *source) binary(schema any) bool {
	object, _ := s.object(schema, "")
	return text(object, "type") == "string" && text(object, "format") == "binary"
}

func empty(schema any) bool {
	object, is := schema.(map[string]any)
	return schema == nil || schema == true || is && len(object) == 0
}
