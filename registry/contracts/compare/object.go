package compare

import (
	"regexp"
	"strings"

	"schakel/registry/jsonpointer"
)

// otherProperties names the properties that a schema does not list.
const otherProperties = "additionalProperties"

// shape holds what a bundle states about the properties of an object.
type shape struct {
	named    map[string]string     // the place that names each property
	required map[string]string     // the list that requires each
	patterns map[string][]schemaAt // patternProperties
	others   []schemaAt            // additionalProperties and unevaluatedProperties that limit
}

func (b *bundle) shape() shape {
	s := shape{named: map[string]string{}, required: map[string]string{}, patterns: map[string][]schemaAt{}}
	for _, part := range b.parts {
		for name := range child(part.object, "properties") {
			s.named[name] = part.at + "/properties" + jsonpointer.Join(name)
		}
		for _, item := range items(part.object, "required") {
			if name, ok := item.(string); ok && name != "" {
				s.required[name] = part.at + "/required"
			}
		}
		for pattern, value := range child(part.object, "patternProperties") {
			s.patterns[pattern] = append(s.patterns[pattern], schemaAt{value, part.at + "/patternProperties" + jsonpointer.Join(pattern)})
		}
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if limited(part.object[keyword]) {
				s.others = append(s.others, schemaAt{part.object[keyword], part.at + "/" + keyword})
			}
		}
	}
	return s
}

func limited(value any) bool {
	object, isObject := value.(map[string]any)
	return value == false || isObject && len(object) > 0
}

func (b *bundle) property(name string) *bundle {
	var list []schemaAt
	for _, part := range b.parts {
		found := false
		if value, ok := child(part.object, "properties")[name]; ok {
			list, found = append(list, schemaAt{value, part.at + "/properties" + jsonpointer.Join(name)}), true
		}
		patterns := child(part.object, "patternProperties")
		for _, pattern := range sortedKeys(patterns) {
			if b.from.matches(pattern, name) {
				list, found = append(list, schemaAt{patterns[pattern], part.at + "/patternProperties" + jsonpointer.Join(pattern)}), true
			}
		}
		if !found && limited(part.object["additionalProperties"]) {
			list = append(list, schemaAt{part.object["additionalProperties"], part.at + "/additionalProperties"})
		}
		if limited(part.object["unevaluatedProperties"]) && !b.evaluated(name) {
			list = append(list, schemaAt{part.object["unevaluatedProperties"], part.at + "/unevaluatedProperties"})
		}
	}
	return b.from.bundle(list...)
}

// evaluated reports whether any schema of the bundle, or of a union in it, names a property.
func (b *bundle) evaluated(name string) bool {
	for _, part := range b.parts {
		if _, ok := child(part.object, "properties")[name]; ok {
			return true
		}
		for _, keyword := range []string{"oneOf", "anyOf"} {
			branches, _ := b.from.branches(part.object, keyword, part.at)
			for _, branch := range branches {
				if _, ok := b.from.bundle(branch).shape().named[name]; ok {
					return true
				}
			}
		}
	}
	return false
}

// matches reports whether a name fits a pattern; one that Go cannot read fits nothing.
func (s *source) matches(pattern, name string) bool {
	compiled, known := s.patterns[pattern]
	if !known {
		compiled, _ = regexp.Compile(pattern) // nil for one that Go cannot read
		s.patterns[pattern] = compiled
	}
	return compiled != nil && compiled.MatchString(name)
}

func (c *comparison) object() {
	if c.was.types&kindObject == 0 || c.is.types&kindObject == 0 {
		return
	}
	was, is := c.old.shape(), c.new.shape()
	all := map[string]bool{}
	for _, list := range []map[string]string{was.named, is.named, was.required, is.required} {
		for name := range list {
			all[name] = true
		}
	}
	for _, name := range sortedKeys(all) {
		c.property(name, was, is)
	}
	c.others(was, is)
	for _, pattern := range unionKeys(was.patterns, is.patterns) {
		c.pattern(pattern, was.patterns[pattern], is.patterns[pattern])
	}
	c.dependents()
}

// others compares what holds for properties that are not named.
func (c *comparison) others(was, is shape) {
	old, new := c.old.from.bundle(was.others...), c.new.from.bundle(is.others...)
	switch {
	case len(was.others) == 0 && len(is.others) == 0:
	case len(was.others) == 0, new.never != "" && old.never == "":
		c.report(narrower, "additional-properties-limited", say("changes.others-limited", theValue), either(old.at, c.old.at), new.at)
	case len(is.others) == 0, old.never != "" && new.never == "":
		d := difference{level: Info, code: "additional-properties-allowed", text: say("changes.others-allowed", theValue), why: wider.why(c.read), was: old.at, is: either(new.at, c.new.at)}
		if c.read { // who reads with care passes over what it does not know
			d.level, d.why = Warning, unclear.why(true)
		}
		c.note(d)
	case old.never == "" || new.never == "":
		c.below(otherProperties, old, new)
	}
}

func (c *comparison) pattern(pattern string, was, is []schemaAt) {
	old, new := c.old.from.bundle(was...), c.new.from.bundle(is...)
	switch {
	case len(was) == 0:
		c.report(narrower, "pattern-property-added", say("changes.pattern-added", theValue, code(pattern)), c.old.at, new.at)
	case len(is) == 0:
		c.report(wider, "pattern-property-removed", say("changes.pattern-removed", theValue, code(pattern)), old.at, c.new.at)
	default:
		c.below("patternProperties["+pattern+"]", old, new)
	}
}

// dependents compares which properties require others.
func (c *comparison) dependents() {
	was, is := c.old.dependents(), c.new.dependents()
	for _, pair := range unionKeys(was, is) {
		before, had := was[pair]
		after, has := is[pair]
		given, needed, _ := strings.Cut(pair, "\x00")
		if !had {
			c.report(narrower, "-dependent-required-added", say("changes.dependent-added", theValueFirst, code(needed), code(given)), c.old.at, after)
		} else if !has {
			c.report(wider, "-dependent-required-removed", say("changes.dependent-removed", theValueFirst, code(needed), code(given)), before, c.new.at)
		}
	}
}

func (c *comparison) array() {
	if c.was.types&kindArray == 0 || c.is.types&kindArray == 0 {
		return
	}
	first := max(c.old.prefix(), c.new.prefix())
	for i := range min(first, 100) {
		c.within("items["+itoa(i)+"]", c.old.item(i), c.new.item(i))
	}
	c.within("items", c.old.item(first), c.new.item(first))
	c.contains()
}

// within compares schemas of parts, if either document says anything.
func (c *comparison) within(name string, old, new []schemaAt) {
	if len(old) > 0 || len(new) > 0 {
		c.below(name, c.old.from.bundle(old...), c.new.from.bundle(new...))
	}
}

// prefix gives how many items have a schema of their own.
func (b *bundle) prefix() int {
	most := 0
	for _, part := range b.parts {
		tuple, _ := part.object["items"].([]any) // as draft-07 writes it
		most = max(most, len(items(part.object, "prefixItems")), len(tuple))
	}
	return most
}

func (b *bundle) item(i int) []schemaAt {
	var list []schemaAt
	for _, part := range b.parts {
		prefix, at, rest := items(part.object, "prefixItems"), part.at+"/prefixItems/", "items"
		if tuple, ok := part.object["items"].([]any); ok {
			prefix, at, rest = tuple, part.at+"/items/", "additionalItems"
		}
		switch value, limits := part.object[rest]; {
		case i < len(prefix):
			list = append(list, schemaAt{prefix[i], at + itoa(i)})
		case limits:
			list = append(list, schemaAt{value, part.at + "/" + rest})
		case limited(part.object["unevaluatedItems"]):
			list = append(list, schemaAt{part.object["unevaluatedItems"], part.at + "/unevaluatedItems"})
		}
	}
	return list
}

// contains compares what some of the items must be.
func (c *comparison) contains() {
	old, new := c.old.all("contains"), c.new.all("contains")
	switch {
	case len(old) == 0 && len(new) == 0:
		return // minContains and maxContains say nothing without it
	case len(old) == 0:
		c.report(narrower, "-contains-added", say("changes.contains-added", theValue), c.old.at, new[0].at)
		return
	case len(new) == 0:
		c.report(wider, "-contains-removed", say("changes.contains-removed", theValue), old[0].at, c.new.at)
		return
	}
	c.within("contains", old, new)
	for _, key := range []string{"minContains", "maxContains"} {
		was, before := c.old.contained(key)
		is, after := c.new.contained(key)
		switch {
		case was == is:
		case is < 0, was >= 0 && (is < was) == (key == "minContains"):
			c.report(wider, "-"+words(key)+"-changed", say("changes.contains-more", theValue), before, after)
		default:
			c.report(narrower, "-"+words(key)+"-changed", say("changes.contains-less", theValue), before, after)
		}
	}
}

// contained gives how many items must or may be of a kind; less than zero for no limit.
func (b *bundle) contained(key string) (int, string) {
	limit, at := -1, b.at
	if key == "minContains" {
		limit = 1
	}
	for _, part := range b.parts {
		if n := rational(part.object[key]); n != nil && n.IsInt() && n.Num().IsInt64() {
			limit, at = int(n.Num().Int64()), part.at+"/"+key
		}
	}
	return limit, at
}

func (b *bundle) all(keyword string) []schemaAt {
	var list []schemaAt
	for _, part := range b.parts {
		if value, ok := part.object[keyword]; ok {
			list = append(list, schemaAt{value, part.at + "/" + keyword})
		}
	}
	return list
}
