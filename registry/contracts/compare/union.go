package compare

import (
	"schakel/registry/jsonpointer"

	"schakel/templates/i18n"
)

// maxBranches bounds how many branches of a union are tried against each other.
const maxBranches = 40

// union is oneOf or anyOf with two branches or more, null not counted.
type union struct {
	keyword, at string
	branches    []schemaAt
}

func (b *bundle) unions() []union {
	var list []union
	for _, part := range b.parts {
		for _, keyword := range []string{"oneOf", "anyOf"} {
			if branches, _ := b.from.branches(part.object, keyword, part.at); len(branches) > 1 {
				list = append(list, union{keyword, part.at + "/" + keyword, branches})
			}
		}
	}
	return list
}

// onlyUnion reports whether a bundle says nothing but that a value has one of several forms.
func (b *bundle) onlyUnion() bool {
	for _, part := range b.parts {
		for key := range part.object {
			switch key {
			case "oneOf", "anyOf", "allOf", "type", "discriminator", "nullable", "$ref":
			default:
				if !silentKeyword(key) {
					return false
				}
			}
		}
	}
	return len(b.outside) == 0
}

// unions compares the forms that values have; it reports whether nothing else is left to compare.
func (c *comparison) unions() bool {
	old, new := c.old.unions(), c.new.unions()
	switch {
	case len(old) == len(new):
		for i := range old {
			c.union(old[i], new[i])
		}
	case len(old) == 0 && len(new) == 1 && c.new.onlyUnion() && !c.old.any():
		c.wrapped(new[0])
		return true
	case len(new) == 0 && len(old) == 1 && c.old.onlyUnion() && !c.new.any():
		c.unwrapped(old[0])
		return true
	case len(old) < len(new):
		e := narrower
		if !c.read && c.coveredAfter(schemaAt{nil, ""}, new[len(new)-1]) {
			e = nothing
		}
		c.report(e, "-"+words(new[len(new)-1].keyword)+"-set", say("changes.union-set", theValueFirst), c.old.at, new[len(new)-1].at)
	default:
		c.report(wider, "-"+words(old[len(old)-1].keyword)+"-unset", say("changes.union-unset", theValueFirst), old[len(old)-1].at, c.new.at)
	}
	return false
}

func (c *comparison) try(old, new schemaAt) *node {
	return c.schemas(c.old.from.bundle(old), c.new.from.bundle(new), c.read, c.in)
}

func (c *comparison) tryOld(new schemaAt) *node {
	return c.schemas(c.old, c.new.from.bundle(new), c.read, c.in)
}

func (c *comparison) tryNew(old schemaAt) *node {
	return c.schemas(c.old.from.bundle(old), c.new, c.read, c.in)
}

// wrapped compares one form with several: one of them goes on as the old one, the others come with it.
func (c *comparison) wrapped(u union) {
	best := c.mildest(len(u.branches), func(i int) *node { return c.tryOld(u.branches[i]) })
	for i, branch := range u.branches {
		if n := c.tryOld(branch); i == best || c.read && c.mild(n) {
			c.link(c.new.from.branchName(u, i), n)
		} else {
			c.branchAdded(u, i)
		}
	}
}

// unwrapped compares several forms with one.
func (c *comparison) unwrapped(u union) {
	best := c.mildest(len(u.branches), func(i int) *node { return c.tryNew(u.branches[i]) })
	for i, branch := range u.branches {
		if n := c.tryNew(branch); i == best || !c.read && c.mild(n) {
			c.link(c.old.from.branchName(u, i), n)
		} else {
			c.branchRemoved(u, i)
		}
	}
}

// mildest gives the one with the least of differences.
func (c *comparison) mildest(count int, at func(int) *node) int {
	best, least := 0, -1
	for i := range min(count, maxBranches) {
		if weight := rank(c.worst(at(i))); weight > least {
			best, least = i, weight
		}
	}
	return best
}

func (c *comparison) branchAdded(u union, i int) {
	c.report(wider, "-"+words(u.keyword)+"-added", say("changes.form-added", c.new.from.form(u, i), theValue), c.old.at, u.at+"/"+lastStep(u.branches[i].at))
}

func (c *comparison) branchRemoved(u union, i int) {
	c.report(narrower, "-"+words(u.keyword)+"-removed", say("changes.form-removed", c.old.from.form(u, i), theValue), u.at+"/"+lastStep(u.branches[i].at), c.new.at)
}

// union compares two unions branch by branch.
func (c *comparison) union(old, new union) {
	if old.keyword != new.keyword && !c.old.from.disjoint(old) {
		e := unclear
		if (old.keyword == "oneOf") != c.read {
			e = nothing
		}
		c.report(e, "-union-changed", say("changes.union-changed", theValueFirst, code(new.keyword), code(old.keyword)), old.at, new.at)
	}
	pairs := c.matched(old, new)
	taken := map[int]bool{}
	for i := range old.branches {
		if j, found := pairs[i]; found {
			taken[j] = true
			c.link(c.new.from.branchName(new, j), c.try(old.branches[i], new.branches[j]))
		} else if c.coveredAfter(old.branches[i], new) {
			c.report(nothing, "-"+words(old.keyword)+"-removed", say("changes.form-removed-covered", c.old.from.form(old, i), theValue), old.branches[i].at, new.at)
		} else {
			c.branchRemoved(old, i)
		}
	}
	for j := range new.branches {
		switch {
		case taken[j]:
		case c.coveredBefore(new.branches[j], old):
			c.report(nothing, "-"+words(new.keyword)+"-added", say("changes.form-added-covered", c.new.from.form(new, j), theValue), old.at, new.branches[j].at)
		default:
			c.branchAdded(new, j)
		}
	}
}

// coveredAfter reports whether what is sent in a form that went is still taken as another one; a branch without a place
// stands for the whole schema as it was.
func (c *comparison) coveredAfter(branch schemaAt, new union) bool {
	if c.read || len(new.branches) > maxBranches {
		return false
	}
	for _, other := range new.branches {
		if branch.at == "" && c.mild(c.tryOld(other)) || branch.at != "" && c.mild(c.try(branch, other)) {
			return true
		}
	}
	return false
}

// coveredBefore reports whether what is read in a form that came was possible as another one.
func (c *comparison) coveredBefore(branch schemaAt, old union) bool {
	if !c.read || len(old.branches) > maxBranches {
		return false
	}
	for _, other := range old.branches {
		if c.mild(c.try(other, branch)) {
			return true
		}
	}
	return false
}

// matched finds which branch became which: by name, by what they say, and those at the same place that are written out.
func (c *comparison) matched(old, new union) map[int]int {
	pairs, taken := map[int]int{}, map[int]bool{}
	pass := func(alike func(i, j int) bool) {
		for i := range old.branches {
			for j := range new.branches {
				if _, found := pairs[i]; !found && !taken[j] && alike(i, j) {
					pairs[i], taken[j] = j, true
				}
			}
		}
	}
	names := func(i, j int) (string, string) {
		return c.old.from.name(old.branches[i]), c.new.from.name(new.branches[j])
	}
	pass(func(i, j int) bool { was, is := names(i, j); return was != "" && was == is })
	if len(old.branches) <= maxBranches && len(new.branches) <= maxBranches {
		pass(func(i, j int) bool { return c.worst(c.try(old.branches[i], new.branches[j])) == "" })
	}
	pass(func(i, j int) bool {
		was, is := names(i, j)
		return i == j && (was == "" || is == "") && len(old.branches) == len(new.branches)
	})
	return pairs
}

// name gives the name by which a branch is known: that of the shared schema, or its title.
func (s *source) name(branch schemaAt) string {
	object, _ := branch.value.(map[string]any)
	if ref := text(object, "$ref"); ref != "" {
		pointer, _ := localPointer(ref)
		if list, _ := jsonpointer.Tokens(pointer); len(list) > 0 {
			return list[len(list)-1]
		}
		return ref
	}
	return text(object, "title")
}

func (s *source) formName(u union, i int) string {
	if name := s.name(u.branches[i]); name != "" {
		return name
	}
	return itoa(i)
}

// form names a branch for people.
func (s *source) form(u union, i int) i18n.Message {
	if name := s.name(u.branches[i]); name != "" {
		return i18n.Raw(code(name))
	}
	return i18n.M("changes.form-number", i+1)
}

func (s *source) branchName(u union, i int) string { return u.keyword + "[" + s.formName(u, i) + "]" }

// disjoint reports whether no value can fit two branches, as far as their types tell.
func (s *source) disjoint(u union) bool {
	var before kinds
	for _, branch := range u.branches {
		types := s.bundle(branch).types(0)
		if before&types != 0 {
			return false
		}
		before |= types
	}
	return true
}

func lastStep(pointer string) string {
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// conditions compares the keywords that hold for some values only.
func (c *comparison) conditions() {
	c.within("propertyNames", c.old.all("propertyNames"), c.new.all("propertyNames"))
	c.within("contentSchema", c.old.all("contentSchema"), c.new.all("contentSchema"))
	c.exceptions()
	was, is := c.old.dependentSchemas(), c.new.dependentSchemas()
	for _, given := range unionKeys(was, is) {
		c.within("dependentSchemas["+given+"]", was[given], is[given])
	}
	c.branchesOnIf()
}

// dependentSchemas gives the schemas that hold when a property is there.
func (b *bundle) dependentSchemas() map[string][]schemaAt {
	list := map[string][]schemaAt{}
	for _, part := range b.parts {
		for _, keyword := range []string{"dependentSchemas", "dependencies"} {
			for given, value := range child(part.object, keyword) {
				if _, names := value.([]any); !names {
					list[given] = append(list[given], schemaAt{value, part.at + "/" + keyword + jsonpointer.Join(given)})
				}
			}
		}
	}
	return list
}

// exceptions compares what values must not be: less is allowed where more is ruled out.
func (c *comparison) exceptions() {
	old, new := c.old.all("not"), c.new.all("not")
	switch {
	case len(old) == 0 && len(new) == 0:
	case len(old) == 0:
		c.report(narrower, "-not-added", say("changes.not-added", theValue), c.old.at, new[0].at)
	case len(new) == 0:
		c.report(wider, "-not-removed", say("changes.not-removed", theValue), old[0].at, c.new.at)
	case len(old) == len(new):
		for i := range old {
			c.link("not", c.schemas(c.old.from.bundle(old[i]), c.new.from.bundle(new[i]), !c.read, c.in))
		}
	default:
		c.report(unclear, "-not-changed", say("changes.not-changed", theValue), old[0].at, new[0].at)
	}
}

func (c *comparison) branchesOnIf() {
	old, new := c.old.conditional(), c.new.conditional()
	if len(old) != len(new) {
		if len(old) < len(new) {
			c.report(narrower, "-if-added", say("changes.if-added", theValue), c.old.at, new[len(new)-1].at+"/if")
		} else {
			c.report(wider, "-if-removed", say("changes.if-removed", theValue), old[len(old)-1].at+"/if", c.new.at)
		}
		return
	}
	for i := range old {
		was, is := old[i], new[i]
		pair := func(key string) (*bundle, *bundle) {
			return c.old.from.bundle(schemaAt{was.object[key], was.at + "/" + key}), c.new.from.bundle(schemaAt{is.object[key], is.at + "/" + key})
		}
		before, after := pair("if")
		if c.worst(c.schemas(before, after, c.read, c.in)) != "" {
			c.report(unclear, "-if-changed", say("changes.if-changed", theValue), before.at, after.at)
			continue
		}
		for _, key := range []string{"then", "else"} {
			before, after := pair(key)
			c.below(key, before, after)
		}
	}
}

func (b *bundle) conditional() []located {
	var list []located
	for _, part := range b.parts {
		_, conditional := part.object["if"]
		if conditional && (limited(part.object["then"]) || limited(part.object["else"])) {
			list = append(list, part)
		}
	}
	return list
}
