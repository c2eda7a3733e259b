package compare

import (
	"math/big"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// multiple gives the largest of the numbers that values are multiples of.
func multiple(all map[string]string) (n *big.Rat, at string) {
	for said, place := range all {
		if one, ok := new(big.Rat).SetString(said); ok && (n == nil || one.Cmp(n) > 0) {
			n, at = one, place
		}
	}
	return n, at
}

func multipleEffect(was, is *big.Rat) effect {
	switch {
	case new(big.Rat).Quo(is, was).IsInt():
		return narrower
	case new(big.Rat).Quo(was, is).IsInt():
		return wider
	}
	return other
}

// texts compares the keywords whose value is a text: patterns, formats and encodings.
func (c *comparison) texts() {
	oldSets, newSets := c.sameBytes()
	for _, key := range []string{"format", "pattern", "contentEncoding", "contentMediaType", "$dynamicRef", "$recursiveRef"} {
		gone, came := apart(oldSets[key], newSets[key]), apart(newSets[key], oldSets[key])
		if len(gone) == 0 && len(came) == 0 || !c.concerns(key) {
			continue
		}
		name, before, after := "-"+words(key), c.old.at, c.new.at
		if len(gone) > 0 {
			before = c.was.sets[key][gone[0]]
		}
		if len(came) > 0 {
			after = c.is.sets[key][came[0]]
		}
		switch {
		case len(gone) == 0:
			c.report(addedEffect(key), name+"-added", say("changes.keyword-added", code(key), theValue, code(came[0])), before, after)
		case len(came) == 0:
			c.report(removedEffect(key), name+"-removed", say("changes.keyword-removed", code(key), code(gone[0]), theValue), before, after)
		default:
			c.report(changedEffect(key, gone[0], came[0]), name+"-changed", say("changes.keyword-changed", code(key), theValue, code(gone[0]), code(came[0])), before, after)
		}
	}
}

// apart gives the texts that stand in one set only.
func apart(in, notIn map[string]string) []string {
	var list []string
	for _, said := range sortedKeys(in) {
		if _, both := notIn[said]; !both {
			list = append(list, said)
		}
	}
	return list
}

func addedEffect(key string) effect {
	switch key {
	case "contentEncoding":
		return other
	case "$dynamicRef", "$recursiveRef":
		return unclear
	}
	return narrower
}

func removedEffect(key string) effect {
	if key == "format" || key == "pattern" || key == "contentMediaType" {
		return wider
	}
	return addedEffect(key)
}

func changedEffect(key, was, is string) effect {
	switch key {
	case "pattern", "$dynamicRef", "$recursiveRef":
		return unclear
	case "format":
		switch size := map[string]int{"int32": 1, "int64": 2, "float": 11, "double": 12}; {
		case size[was] == 0 || size[is] == 0 || size[was]/10 != size[is]/10:
		case size[was] < size[is]:
			return wider
		default:
			return narrower
		}
	}
	return other
}

// outside compares references that lead out of the documents; it reports whether nothing else can be compared.
func (c *comparison) outside() bool {
	if same(distinct(c.old.outside), distinct(c.new.outside)) {
		return false
	}
	c.report(unclear, "-reference-changed", say("changes.reference-changed", theValueFirst), c.old.at, c.new.at)
	return true
}

// marks compares what is said of a value beside what it may be.
func (c *comparison) marks() {
	if _, had := c.was.flags["uniqueItems"]; c.concerns("uniqueItems") {
		is, has := c.is.flags["uniqueItems"]
		if has && !had {
			c.report(narrower, "-unique-items-set", say("changes.unique-items-set", theValue), c.old.at, is)
		} else if had && !has {
			c.report(wider, "-unique-items-unset", say("changes.unique-items-unset", theValue), c.was.flags["uniqueItems"], c.new.at)
		}
	}
	was, had := c.was.flags["deprecated"]
	is, has := c.is.flags["deprecated"]
	if has && !had {
		c.note(difference{level: Info, code: "-deprecated", text: say("changes.deprecated", theValueFirst), why: say("changes.deprecated-why", theBound), was: c.old.at, is: is})
	} else if had && !has {
		c.report(nothing, "-reactivated", say("changes.reactivated", theValueFirst), was, c.new.at)
	}
	c.defaults()
}

// defaults compares what holds for a value that is left out.
func (c *comparison) defaults() {
	was, had := c.was.values["default"]
	is, has := c.is.values["default"]
	d := difference{level: Info, code: "-default-value-changed", why: say("changes.nothing-read-why", theBound), was: either(was.at, c.old.at), is: either(is.at, c.new.at)}
	switch {
	case !had && !has || had && has && same(was.object, is.object):
		return
	case !had:
		d.code, d.text = "-default-value-added", say("changes.default-added", theValue, quote(is.object[""]))
	case !has:
		d.code, d.text = "-default-value-removed", say("changes.default-removed", quote(was.object[""]), theValue)
	default:
		d.text = say("changes.default-changed", theValue, quote(was.object[""]), quote(is.object[""]))
	}
	if !c.read && had {
		d.level, d.why = Warning, say("changes.default-changed-why", theBoundFirst)
	} else if !c.read {
		d.why = say("changes.default-added-why", theBoundFirst)
	}
	c.note(d)
}

// documentationChanged is the code of a change that is of the document as a whole.
const documentationChanged = "documentation-changed"

// documentation reports, in one change, that texts for people changed: descriptions, titles, summaries, examples.
func (p *pair) documentation() {
	t := &texts{}
	t.walk(p.old.root, p.new.root, "", false)
	if t.count == 0 {
		return
	}
	p.add(Change{
		Level: Info, Code: documentationChanged, Pointer: t.first, Side: SideBoth, Subjects: []i18n.Message{"changes.subject-document"},
		Text: i18n.M("changes.documentation", t.count), Why: "changes.documentation-why",
	})
}

// texts counts what differs among the texts of two documents, in the parts that both have.
type texts struct {
	count int
	first string
}

// walk goes down both documents; named is set where the members are names that someone chose, such as properties.
func (t *texts) walk(before, after any, at string, named bool) {
	switch was := before.(type) {
	case map[string]any:
		is, _ := after.(map[string]any)
		for _, key := range unionKeys(was, is) {
			if !named && isText(key) {
				if !same(was[key], is[key]) {
					t.found(at + jsonpointer.Join(key))
				}
			} else if data(key) && !named {
				continue
			} else if is != nil && is[key] != nil {
				t.walk(was[key], is[key], at+jsonpointer.Join(key), !named && namesChosen(key))
			}
		}
	case []any:
		is, _ := after.([]any)
		for i := range min(len(was), len(is)) {
			t.walk(was[i], is[i], at+"/"+itoa(i), false)
		}
	}
}

func (t *texts) found(at string) {
	if t.count++; t.first == "" {
		t.first = at
	}
}

func isText(key string) bool {
	switch key {
	case "description", "title", "summary", "example", "examples", "externalDocs", "tags", "contact", "license", "termsOfService", "$comment":
		return true
	}
	return false
}

// data are members whose value is no part of a contract's own structure.
func data(key string) bool {
	return key == "default" || key == "enum" || key == "const" || len(key) > 2 && key[:2] == "x-"
}

// namesChosen reports whether a member holds other members by a name of the author's choice.
func namesChosen(key string) bool {
	switch key {
	case "properties", "patternProperties", "dependentSchemas", "definitions", "$defs", "schemas", "messages", "channels",
		"operations", "servers", "parameters", "responses", "headers", "paths", "webhooks", "callbacks", "requestBodies",
		"securitySchemes", "links", "content", "variables", "mapping", "pathItems", "mediaTypes", "scopes", "availableScopes":
		return true
	}
	return false
}
