package compare

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
