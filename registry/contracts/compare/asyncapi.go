package compare

import (
	"strings"

	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
	"schakel/templates/i18n"
)

// asyncAPI compares channels, messages, operations, servers and event types.
func (p *pair) asyncAPI(old, new *contract.Document) {
	before, after := readAsync(p.old, old), readAsync(p.new, new)
	p.eventTypes(before, after)
	renamed := p.channels(before, after)
	p.asyncOperations(before, after, renamed)
	p.asyncServers()
	p.openAPISchemes()
}

func (p *pair) eventTypes(before, after *async) {
	was, is := map[string]contract.EventType{}, map[string]contract.EventType{}
	for _, e := range before.events {
		was[e.Type] = e
	}
	for _, e := range after.events {
		is[e.Type] = e
	}
	for _, name := range unionKeys(was, is) {
		p.types[name] = true
		gone, had := was[name]
		came, has := is[name]
		c := Change{Side: SideConsumer, Subjects: []i18n.Message{i18n.M("changes.subject-event-type", name)}, EventTypes: []string{name}}
		switch {
		case !has:
			c.Level, c.Code, c.Pointer, c.Removed = Breaking, "event-type-removed", gone.Pointer, true
			c.Text, c.Why = i18n.M("changes.event-type-removed", quote(name)), "changes.event-type-removed-why"
			if before.onlyReceived(gone.Pointer) {
				c.Side, c.Why = SideProducer, "changes.sent-removed-why"
			}
		case !had:
			c.Level, c.Code, c.Pointer = Info, "event-type-added", came.Pointer
			c.Text, c.Why = i18n.M("changes.event-type-added", quote(name)), "changes.event-type-added-why"
			if after.onlyReceived(came.Pointer) {
				c.Side, c.Why = SideProducer, "changes.event-type-added-sent-why"
			}
		case came.Deprecated && !gone.Deprecated:
			c.Level, c.Code, c.Pointer = Info, "event-type-deprecated", came.Pointer
			c.Text, c.Why = i18n.M("changes.event-type-deprecated", quote(name)), "changes.event-type-deprecated-why"
		default:
			continue
		}
		p.add(c)
	}
}

// onlyReceived reports whether the application only receives the message at a pointer.
func (a *async) onlyReceived(pointer string) bool {
	received := false
	for _, c := range a.channels {
		for _, m := range c.messages {
			if m.at == pointer && m.sent {
				return false
			}
			received = received || m.at == pointer && m.received
		}
	}
	return received
}

// channels compares the channels; it gives the new key of each old one.
func (p *pair) channels(before, after *async) map[string]string {
	pairs := matchChannels(before.channels, after.channels)
	matched := map[string]bool{}
	for _, key := range sortedKeys(before.channels) {
		was := before.channels[key]
		other, found := pairs[key]
		if !found {
			p.channelRemoved(was)
			continue
		}
		matched[other] = true
		is := after.channels[other]
		p.channel(was, is)
		p.messages(was, is, before, after)
	}
	for _, key := range sortedKeys(after.channels) {
		if !matched[key] && key != "" {
			is := after.channels[key]
			p.add(Change{
				Level: Info, Code: "channel-added", Pointer: is.at, Subjects: []i18n.Message{is.name()}, EventTypes: is.types(), Side: SideBoth,
				Text: "changes.channel-added", Why: "changes.added-why",
			})
		}
	}
	return pairs
}

// matchChannels finds which channel became which: by key, then by address.
func matchChannels(before, after map[string]*channel) map[string]string {
	pairs, taken := map[string]string{}, map[string]bool{}
	for key := range before {
		if after[key] != nil {
			pairs[key], taken[key] = key, true
		}
	}
	for _, key := range sortedKeys(before) {
		if pairs[key] != "" || before[key].address == "" {
			continue
		}
		for _, other := range sortedKeys(after) {
			if !taken[other] && after[other].address == before[key].address {
				pairs[key], taken[other] = other, true
				break
			}
		}
	}
	return pairs
}

func (c *channel) name() i18n.Message {
	switch {
	case c.key == "":
		return "changes.subject-no-channel"
	case c.address != "" && c.address != c.key:
		return i18n.M("changes.subject-channel-address", c.key, c.address)
	}
	return i18n.M("changes.subject-channel", c.key)
}

func (c *channel) types() []string {
	var list []string
	for _, m := range c.messages {
		list = append(list, m.types...)
	}
	return distinct(list)
}

func (p *pair) channelRemoved(was *channel) {
	if was.key == "" {
		for _, key := range sortedKeys(was.messages) {
			p.messageRemoved(was, was.messages[key])
		}
		return
	}
	p.add(Change{
		Level: Breaking, Code: "channel-removed", Pointer: was.at, Removed: true, Side: SideBoth, Subjects: []i18n.Message{was.name()}, EventTypes: was.types(),
		Text: "changes.channel-removed", Why: "changes.channel-removed-why",
	})
}

func (p *pair) channel(was, is *channel) {
	c := Change{Side: SideBoth, Subjects: []i18n.Message{is.name()}, EventTypes: is.types(), Cause: is.at}
	if was.address != is.address {
		c.Level, c.Code, c.Pointer = Breaking, "channel-address-changed", is.at+"/address"
		c.Text = i18n.M("changes.channel-address", quote(was.address), quote(is.address))
		c.Why = "changes.channel-address-why"
		p.add(c)
	}
	p.channelParameters(c, was, is)
	p.bindings(c, was.object, was.at, is.object, is.at)
	if !same(p.serverNames(p.old, was.object), p.serverNames(p.new, is.object)) {
		c.Level, c.Code, c.Pointer = Warning, "channel-servers-changed", is.at+"/servers"
		c.Text, c.Why = "changes.channel-servers", "changes.channel-servers-why"
		p.add(c)
	}
}

func (p *pair) serverNames(c *source, owner map[string]any) []string {
	var list []string
	for _, item := range items(owner, "servers") {
		name, ok := item.(string)
		if object, isObject := item.(map[string]any); isObject && !ok {
			ref := text(object, "$ref")
			name = ref[strings.LastIndexByte(ref, '/')+1:]
		}
		list = append(list, name)
	}
	return distinct(list)
}

func (p *pair) channelParameters(c Change, was, is *channel) {
	before, after := child(was.object, "parameters"), child(is.object, "parameters")
	for _, name := range unionKeys(before, after) {
		old, _ := p.old.object(before[name], "")
		new, _ := p.new.object(after[name], "")
		c.Pointer, c.Removed = is.at+"/parameters"+jsonpointer.Join(name), false
		switch {
		case new == nil && old != nil:
			c.Level, c.Code, c.Pointer, c.Removed = Breaking, "channel-parameter-removed", was.at+"/parameters"+jsonpointer.Join(name), true
			c.Text, c.Why = i18n.M("changes.channel-parameter-removed", quote(name)), "changes.channel-parameter-removed-why"
		case old == nil && new != nil:
			c.Level, c.Code = Breaking, "channel-parameter-added"
			c.Text, c.Why = i18n.M("changes.channel-parameter-added", quote(name)), "changes.channel-parameter-added-why"
		case old != nil && !same(bareSchema(old), bareSchema(new)):
			c.Level, c.Code = Warning, "channel-parameter-changed"
			c.Text, c.Why = i18n.M("changes.channel-parameter-changed", quote(name)), "changes.channel-parameter-changed-why"
		default:
			continue
		}
		p.add(c)
	}
}

// bareSchema leaves out what only informs, also of the schema that a 2.6 parameter has.
func bareSchema(parameter map[string]any) map[string]any {
	made := bare(parameter)
	delete(made, "examples")
	if schema, ok := made["schema"].(map[string]any); ok {
		made["schema"] = bare(schema)
	}
	return made
}
