package compare

// style compares how the value of a parameter or header is put into text.
func (p *pair) style(d described, was, is located, old, new schemaAt) {
	types := p.old.bundle(old).types(0) | p.new.bundle(new).types(0)
	structured := types&(kindArray|kindObject) != 0
	before, after := styleOf(was.object, d.in), styleOf(is.object, d.in)
	c := d.c
	c.Level, c.Why = Breaking, "The same value is written differently, so those who keep to the old form are not understood."
	if d.read {
		c.Why = "The same value comes in another form, which those who read the old one do not understand."
	}
	if before.style != after.style {
		c.Code, c.Pointer = d.prefix+"-style-changed", is.at+"/style"
		c.Text = "The style of " + lower(d.said) + " changed from " + quote(before.style) + " to " + quote(after.style) + d.tail + "."
		p.add(c)
	}
	if before.explode != after.explode && after.style != "deepObject" && before.style == after.style {
		if !structured {
			c.Level, c.Why = Info, "Values that are no list or object are written the same either way."
		}
		c.Code, c.Pointer = d.prefix+"-explode-changed", is.at+"/explode"
		c.Text = d.said + " now has its values written together" + d.tail + "."
		if after.explode {
			c.Text = d.said + " now has its values written one by one" + d.tail + "."
		}
		p.add(c)
	}
	p.allowance(d, was, is, "allowReserved", "reserved characters as they are")
	if d.in == "query" {
		p.allowance(d, was, is, "allowEmptyValue", "an empty value")
	}
}

// allowance compares a flag that lets more be sent.
func (p *pair) allowance(d described, was, is located, key, what string) {
	before, after := was.object[key] == true, is.object[key] == true
	if before == after || d.in == "header" {
		return
	}
	e, c := narrower, d.c
	c.Code, c.Pointer = d.prefix+"-"+words(key)+"-changed", is.at+"/"+key
	c.Text = d.said + " may no longer have " + what + d.tail + "."
	if after {
		e, c.Text = wider, d.said+" may now have "+what+d.tail+"."
	}
	c.Level, c.Why = e.level(d.read), root{}.who(e.why(d.read))
	p.add(c)
}

// writing holds the style in which a value is written as text.
type writing struct {
	style   string
	explode bool
}

// styleOf gives the style, with the defaults of the specification.
func styleOf(object map[string]any, in string) writing {
	w := writing{style: text(object, "style")}
	if w.style == "" {
		w.style = "form"
		if in == "path" || in == "header" {
			w.style = "simple"
		}
	}
	w.explode = w.style == "form" || w.style == "cookie"
	if said, ok := object["explode"].(bool); ok {
		w.explode = said
	}
	return w
}

func lower(said string) string { return string(said[0]|0x20) + said[1:] }
