package compare

import (
	"strings"

	"schakel/templates/i18n"
)

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

func (m *message) name() i18n.Message { return i18n.M("changes.subject-message", m.key) }

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
		Level: Breaking, Code: "message-removed", Pointer: m.at, Removed: true, Side: m.side(), Subjects: []i18n.Message{m.name()}, EventTypes: m.types,
		Text: i18n.M("changes.message-removed", quote(m.key), in.name()), Why: "changes.message-removed-why",
	}
	if m.side() == SideProducer {
		c.Why = "changes.sent-removed-why"
	}
	p.add(c)
}

func (p *pair) messageAdded(in *channel, m *message) {
	c := Change{
		Level: Info, Code: "message-added", Pointer: m.at, Side: m.side(), Subjects: []i18n.Message{m.name()}, EventTypes: m.types,
		Text: i18n.M("changes.message-added", quote(m.key), in.name()), Why: "changes.message-added-why",
	}
	switch {
	case m.side() == SideProducer:
		c.Why = "changes.message-added-sent-why"
	case len(m.types) == 0 && in.key != "":
		c.Level, c.Why = Warning, "changes.message-added-untyped-why"
	}
	p.add(c)
}

func (p *pair) message(in *channel, was, is *message, before, after *async) {
	is.sent, is.received = is.sent || was.sent, is.received || was.received
	c := Change{Side: is.side(), Subjects: []i18n.Message{is.name()}, EventTypes: distinct(append(is.types, was.types...)), Cause: causeOf(is.at)}
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
	c.Text = i18n.M("changes.content-type", quote(old), quote(new))
	c.Why = "changes.content-type-why"
	if is.side() == SideProducer {
		c.Why = "changes.content-type-sent-why"
	}
	switch {
	case old == "":
		c.Level, c.Text, c.Why = Warning, i18n.M("changes.content-type-added", quote(new)), "changes.content-type-added-why"
	case new == "":
		c.Level, c.Text, c.Why = Warning, i18n.M("changes.content-type-removed", quote(old)), "changes.content-type-removed-why"
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
	c.Text = i18n.M("changes.correlation", quote(text(old, "location")), quote(text(new, "location")))
	c.Why = "changes.correlation-why"
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
	r := root{subject: is.name(), prefix: what, it: payloadNoun(), types: c.EventTypes}
	if what == "headers" {
		r.it = headersNoun()
	}
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
		before, after := quote(orElse(oldFormat, "JSON Schema")), quote(orElse(newFormat, "JSON Schema"))
		if c.Text = i18n.M("changes.payload-schema-format", before, after); what == "headers" {
			c.Text = i18n.M("changes.headers-schema-format", before, after)
		}
		c.Why = "changes.schema-format-why"
	case !same(old.value, new.value):
		c.Level, c.Code = Warning, "schema-not-judged"
		if c.Text = "changes.payload-schema"; what == "headers" {
			c.Text = "changes.headers-schema"
		}
		c.Why = i18n.M("changes.schema-not-judged-why", quote(newFormat))
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
