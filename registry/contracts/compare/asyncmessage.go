package compare

import "strings"

func (p *pair) messages(was, is *channel, before, after *async) {
	pairs := matchMessages(was.messages, is.messages)
	matched := map[string]bool{}
	for _, key := range sortedKeys(was.messages) {
		other, found := pairs[key]
		if !found {
			p.messageRemoved(was, was.messages[key])
			continue
		}
		matched[other] = true
		p.message(is, was.messages[key], is.messages[other], before, after)
	}
	for _, key := range sortedKeys(is.messages) {
		if !matched[key] {
			p.messageAdded(is, is.messages[key])
		}
	}
}

// matchMessages finds which message became which: by key, by event type, by name, and the only one left on either side.
func matchMessages(before, after map[string]*message) map[string]string {
	pairs, taken := map[string]string{}, map[string]bool{}
	pass := func(alike func(a, b *message) bool) {
		for _, key := range sortedKeys(before) {
			for _, other := range sortedKeys(after) {
				if pairs[key] == "" && !taken[other] && alike(before[key], after[other]) {
					pairs[key], taken[other] = other, true
				}
			}
		}
	}
	pass(func(a, b *message) bool { return a.key == b.key })
	pass(func(a, b *message) bool { return len(a.types) > 0 && same(a.types, b.types) })
	pass(func(a, b *message) bool {
		return text(a.object, "name") != "" && text(a.object, "name") == text(b.object, "name")
	})
	if len(before) == 1 && len(after) == 1 {
		pass(func(_, _ *message) bool { return true })
	}
	return pairs
}

func (m *message) name() string { return "message " + m.key }

// side gives the party bound by a message: its readers, its senders, or both.
func (m *message) side() string {
	switch {
	case m.sent && m.received:
		return SideBoth
	case m.received:
		return SideProducer
	}
	return SideConsumer
}

func (p *pair) messageRemoved(in *channel, m *message) {
	c := Change{
		Level: Breaking, Code: "message-removed", Pointer: m.at, Removed: true, Side: m.side(), Subjects: []string{m.name()}, EventTypes: m.types,
		Text: "The message " + quote(m.key) + " of " + in.name() + " was removed.", Why: "Those who read it no longer get it.",
	}
	if m.side() == SideProducer {
		c.Why = "Those who send it are refused."
	}
	p.add(c)
}

func (p *pair) messageAdded(in *channel, m *message) {
	c := Change{
		Level: Info, Code: "message-added", Pointer: m.at, Side: m.side(), Subjects: []string{m.name()}, EventTypes: m.types,
		Text: "The message " + quote(m.key) + " was added to " + in.name() + ".", Why: "Those who read the channel can meet it, and must pass over what they do not know.",
	}
	switch {
	case m.side() == SideProducer:
		c.Why = "It may be sent from now on."
	case len(m.types) == 0 && in.key != "":
		c.Level, c.Why = Warning, "Those who read the channel can meet it; it has no event type to tell it by."
	}
	p.add(c)
}

func (p *pair) message(in *channel, was, is *message, before, after *async) {
	is.sent, is.received = is.sent || was.sent, is.received || was.received
	c := Change{Side: is.side(), Subjects: []string{is.name()}, EventTypes: sorted(append(is.types, was.types...)), Cause: causeOf(is.at)}
	p.contentType(c, was, is, before, after)
	p.correlation(c, was, is)
	p.bindings(c, was.object, was.at, is.object, is.at)
	p.payload(c, "payload", was, is)
	p.payload(c, "headers", was, is)
}

func (p *pair) contentType(c Change, was, is *message, before, after *async) {
	old, new := mediaType(orElse(text(was.object, "contentType"), before.fallback)), mediaType(orElse(text(is.object, "contentType"), after.fallback))
	if old == new {
		return
	}
	c.Level, c.Code, c.Pointer = Breaking, "content-type-changed", is.at+"/contentType"
	c.Text = "The content type changed from " + quote(old) + " to " + quote(new) + "."
	c.Why = "Those who take it for what it was cannot read it."
	if is.side() == SideProducer {
		c.Why = "Those who send it the old way are refused."
	}
	switch {
	case old == "":
		c.Level, c.Text, c.Why = Warning, "The content type "+quote(new)+" was added.", "It was not said before, so it may be another than was agreed."
	case new == "":
		c.Level, c.Text, c.Why = Warning, "The content type "+quote(old)+" is no longer given.", "It is not said any more how the message is written."
	}
	p.add(c)
}

func orElse(value, standard string) string {
	if value == "" {
		return standard
	}
	return value
}

func (p *pair) correlation(c Change, was, is *message) {
	old, _ := p.old.object(was.object["correlationId"], was.at)
	new, _ := p.new.object(is.object["correlationId"], is.at)
	if text(old, "location") == text(new, "location") {
		return
	}
	c.Level, c.Code, c.Pointer = Warning, "correlation-changed", is.at+"/correlationId"
	c.Text = "The place of the correlation id changed from " + quote(text(old, "location")) + " to " + quote(text(new, "location")) + "."
	c.Why = "Those who match messages by it look in another place."
	p.add(c)
}

// payload compares a schema of a message, from each side that it binds.
func (p *pair) payload(c Change, what string, was, is *message) {
	old, oldFormat := p.old.formatted(was, what)
	new, newFormat := p.new.formatted(is, what)
	if old.value == nil && new.value == nil {
		return
	}
	if oldFormat != "" || newFormat != "" {
		p.foreignSchema(c, what, old, new, oldFormat, newFormat)
		return
	}
	r := root{subject: is.name(), prefix: what, it: "the " + what, types: c.EventTypes}
	if is.sent || !is.received {
		r.read, r.side = true, SideConsumer
		p.judge(r, old, new)
	}
	if is.received {
		r.read, r.side = false, SideProducer
		p.judge(r, old, new)
	}
}

// foreignSchema compares schemas that are not in JSON Schema as they are written.
func (p *pair) foreignSchema(c Change, what string, old, new schemaAt, oldFormat, newFormat string) {
	c.Pointer = new.at
	switch {
	case oldFormat != newFormat:
		c.Level, c.Code = Breaking, "schema-format-changed"
		c.Text = "The language of the schema of the " + what + " changed from " + quote(orElse(oldFormat, "JSON Schema")) + " to " + quote(orElse(newFormat, "JSON Schema")) + "."
		c.Why = "The two cannot be held against each other, and code made from the old one no longer fits."
	case !same(old.value, new.value):
		c.Level, c.Code = Warning, "schema-not-judged"
		c.Text = "The schema of the " + what + " changed."
		c.Why = "It is written as " + quote(newFormat) + ", which is not judged here; look at it."
	default:
		return
	}
	p.add(c)
}

// formatted gives a schema of a message and the language it is in, empty for JSON Schema.
func (c *source) formatted(m *message, what string) (schemaAt, string) {
	at := m.at + "/" + what
	value, present := m.object[what]
	if !present {
		return schemaAt{nil, m.at}, ""
	}
	format := ""
	if what == "payload" {
		format = text(m.object, "schemaFormat")
	}
	target, place := c.value(value, at)
	if object, _ := target.(map[string]any); c.release != "2.6" && object["schemaFormat"] != nil && object["schema"] != nil {
		format, value, at = text(object, "schemaFormat"), object["schema"], place+"/schema"
	}
	if isJSONSchema(format) {
		format = ""
	}
	return schemaAt{value, at}, format
}

func isJSONSchema(format string) bool {
	format = strings.ToLower(format)
	for _, known := range []string{"application/vnd.aai.asyncapi", "application/schema+", "application/vnd.oai.openapi"} {
		if strings.HasPrefix(format, known) {
			return true
		}
	}
	return format == ""
}
