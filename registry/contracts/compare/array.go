package compare

// array compares what arrays may have.
func (c *comparison) array() {
	if c.was.types&kindArray == 0 || c.is.types&kindArray == 0 {
		return
	}
	first := max(c.old.prefix(), c.new.prefix())
	for i := range min(first, 100) {
		c.within("item "+itoa(i+1), c.old.item(i), c.new.item(i))
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

// item gives the schemas that the item at a place has to fit.
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
		c.report(narrower, "-contains-added", "Some items of {it} must now be of a kind", c.old.at, new[0].at)
		return
	case len(new) == 0:
		c.report(wider, "-contains-removed", "The items of {it} need no longer include one of a kind", old[0].at, c.new.at)
		return
	}
	c.within("contains", old, new)
	for _, key := range []string{"minContains", "maxContains"} {
		was, before := c.old.contained(key)
		is, after := c.new.contained(key)
		switch {
		case was == is:
		case is < 0, was >= 0 && (is < was) == (key == "minContains"):
			c.report(wider, "-"+words(key)+"-changed", "More is allowed of how many items of {it} are of a kind", before, after)
		default:
			c.report(narrower, "-"+words(key)+"-changed", "Less is allowed of how many items of {it} are of a kind", before, after)
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

// all gives the schemas under a keyword.
func (b *bundle) all(keyword string) []schemaAt {
	var list []schemaAt
	for _, part := range b.parts {
		if value, ok := part.object[keyword]; ok {
			list = append(list, schemaAt{value, part.at + "/" + keyword})
		}
	}
	return list
}
