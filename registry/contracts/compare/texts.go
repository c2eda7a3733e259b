package compare

import (
	"math/big"
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
			c.report(addedEffect(key), name+"-added", "The "+code(key)+" of {it} is now "+code(came[0]), before, after)
		case len(came) == 0:
			c.report(removedEffect(key), name+"-removed", "The "+code(key)+" "+code(gone[0])+" of {it} was removed", before, after)
		default:
			c.report(changedEffect(key, gone[0], came[0]), name+"-changed", "The "+code(key)+" of {it} changed from "+code(gone[0])+" to "+code(came[0]), before, after)
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
	if same(sorted(c.old.outside), sorted(c.new.outside)) {
		return false
	}
	c.report(unclear, "-reference-changed", "{It} is described outside the document, or was, and no longer by the same reference", c.old.at, c.new.at)
	return true
}

// marks compares what is said of a value beside what it may be.
func (c *comparison) marks() {
	if _, had := c.was.flags["uniqueItems"]; c.concerns("uniqueItems") {
		is, has := c.is.flags["uniqueItems"]
		if has && !had {
			c.report(narrower, "-unique-items-set", "The items of {it} must now differ from each other", c.old.at, is)
		} else if had && !has {
			c.report(wider, "-unique-items-unset", "The items of {it} need no longer differ from each other", c.was.flags["uniqueItems"], c.new.at)
		}
	}
	was, had := c.was.flags["deprecated"]
	is, has := c.is.flags["deprecated"]
	if has && !had {
		c.note(difference{level: Info, code: "-deprecated", text: "{It} was deprecated", why: "It still works; {who} do well to stop using it.", was: c.old.at, is: is})
	} else if had && !has {
		c.report(nothing, "-reactivated", "{It} is no longer deprecated", was, c.new.at)
	}
	c.defaults()
}

// defaults compares what holds for a value that is left out.
func (c *comparison) defaults() {
	was, had := c.was.values["default"]
	is, has := c.is.values["default"]
	d := difference{level: Info, code: "-default-value-changed", why: "It changes nothing in what {who} get.", was: either(was.at, c.old.at), is: either(is.at, c.new.at)}
	switch {
	case !had && !has || had && has && same(was.object, is.object):
		return
	case !had:
		d.code, d.text = "-default-value-added", "The default of {it} is now "+quote(is.object[""])
	case !has:
		d.code, d.text = "-default-value-removed", "The default "+quote(was.object[""])+" of {it} was removed"
	default:
		d.text = "The default of {it} changed from " + quote(was.object[""]) + " to " + quote(is.object[""])
	}
	if !c.read && had {
		d.level, d.why = Warning, "{who} that leave it out now mean something else."
	} else if !c.read {
		d.why = "{who} that leave it out now know what it stands for."
	}
	c.note(d)
}
