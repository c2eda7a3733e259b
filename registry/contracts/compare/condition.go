package compare

import "schakel/registry/jsonpointer"

// conditions compares the keywords that hold for some values only.
func (c *comparison) conditions() {
	c.within("names of properties", c.old.all("propertyNames"), c.new.all("propertyNames"))
	c.within("content", c.old.all("contentSchema"), c.new.all("contentSchema"))
	c.exceptions()
	was, is := c.old.dependentSchemas(), c.new.dependentSchemas()
	for _, given := range unionKeys(was, is) {
		c.within("with "+given, was[given], is[given])
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
		c.report(narrower, "-not-added", "Some values of {it} are now ruled out", c.old.at, new[0].at)
	case len(new) == 0:
		c.report(wider, "-not-removed", "No values of {it} are ruled out any more", old[0].at, c.new.at)
	case len(old) == len(new):
		for i := range old {
			c.link("not", c.schemas(c.old.from.bundle(old[i]), c.new.from.bundle(new[i]), !c.read, c.in))
		}
	default:
		c.report(unclear, "-not-changed", "Other values of {it} are ruled out", old[0].at, new[0].at)
	}
}

// branchesOnIf compares if, then and else.
func (c *comparison) branchesOnIf() {
	old, new := c.old.conditional(), c.new.conditional()
	if len(old) != len(new) {
		if len(old) < len(new) {
			c.report(narrower, "-if-added", "A condition was added to {it}", c.old.at, new[len(new)-1].at+"/if")
		} else {
			c.report(wider, "-if-removed", "A condition was removed from {it}", old[len(old)-1].at+"/if", c.new.at)
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
			c.report(unclear, "-if-changed", "A condition of {it} changed", before.at, after.at)
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
