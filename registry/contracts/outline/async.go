package outline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// maxLinks bounds the messages that channels refer to: many may refer to one with many messages.
const maxLinks = 50_000

// asyncReader collects the channels of AsyncAPI with their operations and messages; a message stands with the channel that refers
// to it first.
type asyncReader struct {
	*document
	names map[string]string // of messages, by pointer
	links int
	home  map[string][]Entry // operations by the pointer of their channel
}

// async adds a group for each channel, then the operations and messages that belong to none.
func (o *Outline) async() {
	a := &asyncReader{document: o.doc, names: map[string]string{}, home: map[string][]Entry{}}
	var lost []Entry
	var early []Entry // messages that an operation alone names
	operations := a.root.get("operations")
	for _, name := range a.document.names(operations) {
		at := operations.get(name)
		operation := a.merged(a.target(at))
		within, channel := a.follow(operation.get("channel"))
		items := operation.get("messages").items()
		if all := within.get("messages"); len(items) == 0 { // it uses all of its channel
			for _, key := range a.document.names(all)[:min(len(a.document.names(all)), maxList)] {
				items = append(items, all.get(key))
			}
		}
		var links []Link
		for _, item := range items {
			link, found := a.message("", item)
			links, early = append(links, link), append(early, found...)
		}
		e := a.operation(name, at.at, operation, channel, links)
		if channel == "" {
			lost = append(lost, e)
		} else {
			a.home[channel] = append(a.home[channel], e)
		}
	}
	byAt := map[string]Entry{}
	for _, e := range early {
		byAt[e.Pointer] = e
	}
	channels := a.root.get("channels")
	for _, name := range a.document.names(channels) {
		at := channels.get(name)
		channel := a.target(at)
		entries, messages, links := a.channelOperations(name, at.at, channel)
		entries = append(entries, a.home[at.at]...)
		delete(a.home, at.at)
		all := channel.get("messages")
		for _, key := range a.document.names(all) {
			link, found := a.message(key, all.get(key))
			links, messages = append(links, link), append(messages, found...)
			if e, ok := byAt[link.Pointer]; ok {
				messages = append(messages, e)
				delete(byAt, link.Pointer)
			}
		}
		address := cmp.Or(channel.text("address"), name)
		own := a.channel(name, at.at, address, channel, links)
		o.group(i18n.Raw(cmp.Or(channel.text("title"), address)), "", append(append([]Entry{own}, entries...), messages...))
	}
	for _, list := range a.home {
		lost = append(lost, list...)
	}
	sorted.By(lost, func(a, b Entry) int { return strings.Compare(a.Pointer, b.Pointer) })
	o.group("outline.other-operations", "", lost)
	var rest []Entry
	for _, e := range early {
		if _, left := byAt[e.Pointer]; left {
			rest = append(rest, e)
		}
	}
	messages := a.root.get("components", "messages")
	for _, name := range a.document.names(messages) {
		_, found := a.message(name, messages.get(name))
		rest = append(rest, found...)
	}
	o.group("outline.other-messages", "", rest)
}

// channelOperations reads the operations of AsyncAPI 2, which stand in the channel.
func (a *asyncReader) channelOperations(name, at string, channel spot) (entries, messages []Entry, links []Link) {
	for _, action := range []string{"publish", "subscribe"} {
		operation := a.merged(channel.get(action))
		if operation.object() == nil || a.links > maxLinks {
			continue
		}
		choices := a.target(operation.get("message")).get("oneOf").items()
		if len(choices) == 0 && operation.get("message").there() {
			choices = []spot{operation.get("message")}
		}
		var own []Link
		for _, choice := range choices {
			link, found := a.message("message", choice)
			own, messages = append(own, link), append(messages, found...)
		}
		links = append(links, own...)
		entries = append(entries, a.operation(action+" "+name, at+"/"+action, operation, at, own))
		entries[len(entries)-1].Method = action
	}
	return entries, messages, links
}

func (a *asyncReader) channel(name, at, address string, channel spot, links []Link) Entry {
	return Entry{
		Kind: KindChannel, Name: name, Summary: cmp.Or(channel.text("title"), channel.text("summary")), Pointer: at, Anchor: "channel-" + name,
		detail: func(b *builder) Detail {
			detail := Detail{Text: strings.TrimSpace(channel.text("summary") + "\n\n" + channel.text("description")), Links: unique(links)}
			detail.Facts = fact(detail.Facts, "outline.address", i18n.Raw(address))
			for _, s := range channel.get("servers").items() {
				named, _ := s.value.(string)
				_, ref := a.follow(s)
				detail.Facts = fact(detail.Facts, "outline.server", i18n.Raw(cmp.Or(named, lastName(ref))))
			}
			detail.Facts = a.around(detail.Facts, channel)
			parameters := channel.get("parameters")
			whole := &Node{Pointers: []string{parameters.at}}
			for _, name := range a.document.names(parameters) {
				n := b.value(name, a.target(parameters.get(name)), b.anchorOf("parameter-"+slug(name)), readAndWritten)
				n.Required = true
				n.Pointers = append(n.Pointers, parameters.get(name).at)
				whole.Children = append(whole.Children, n)
			}
			if len(whole.Children) > 0 {
				detail.Sections = append(detail.Sections, Section{
					Title: "outline.address-parameters", Anchor: b.anchorOf("parameters"), Pointers: []string{parameters.at}, Open: true, Blocks: []Block{{List: true, Whole: whole}},
				})
			}
			detail.Codes = code(nil, "outline.bindings", a.target(channel.get("bindings")))
			return detail
		},
	}
}

// around gives the facts that parts of AsyncAPI have in common.
func (a *asyncReader) around(facts []Fact, s spot) []Fact {
	facts = fact(facts, "outline.tags", i18n.Raw(a.tagNames(s)))
	docs := a.target(s.get("externalDocs"))
	return linked(facts, "outline.more-documentation", docs.text("description"), docs.text("url"))
}

func (a *asyncReader) operation(name, at string, operation spot, channel string, links []Link) Entry {
	action := operation.text("action")
	if strings.HasSuffix(at, "/publish") || strings.HasSuffix(at, "/subscribe") {
		action = cmp.Or(action, lastName(at))
	}
	return Entry{
		Kind: KindOperation, Name: name, Method: action, Summary: cmp.Or(operation.text("title"), operation.text("summary")), Pointer: at,
		Anchor: "operation-" + name, Deprecated: operation.is("deprecated"),
		detail: func(b *builder) Detail {
			detail := Detail{Text: cmp.Or(operation.text("description"), operation.text("summary"))}
			if channel != "" {
				detail.Links = append(detail.Links, Link{"outline.channel", lastName(channel), channel})
			}
			detail.Links = append(detail.Links, unique(links)...)
			detail.Facts = fact(detail.Facts, "outline.action", actionName(action))
			detail.Facts = fact(detail.Facts, "outline.operation-id", i18n.Raw(operation.text("operationId")))
			detail.Facts = fact(detail.Facts, "outline.security", a.required(operation.get("security")))
			detail.Facts = a.around(detail.Facts, operation)
			detail.Codes = code(nil, "outline.bindings", a.target(operation.get("bindings")))
			a.reply(&detail, b, operation)
			for _, l := range unique(links)[:min(len(unique(links)), maxSamples)] {
				value, ok := lookup(a.document, l.Pointer)
				if ok {
					detail.Samples = append(detail.Samples, a.messageSamples(b, a.merged(value), i18n.M("outline.sample-message", l.Name), l.Pointer)...)
				}
			}
			return detail
		},
	}
}

// reply describes the address of the answer to a message.
func (a *asyncReader) reply(detail *Detail, b *builder, operation spot) {
	reply := a.target(operation.get("reply"))
	if reply.object() == nil {
		return
	}
	s := Section{Title: "outline.reply", Anchor: b.anchorOf("reply"), Pointers: []string{operation.get("reply").at}, Open: true}
	address := a.target(reply.get("address"))
	s.Text = address.text("description")
	detail.Facts = fact(detail.Facts, "outline.reply-address", i18n.Raw(address.text("location")))
	if _, channel := a.follow(reply.get("channel")); channel != "" {
		detail.Links = append(detail.Links, Link{"outline.reply-channel", lastName(channel), channel})
	}
	for _, item := range reply.get("messages").items() {
		link, _ := a.message("", item)
		link.Label = "outline.reply-message"
		detail.Links = append(detail.Links, link)
	}
	if s.Text != "" {
		detail.Sections = append(detail.Sections, s)
	}
}

func actionName(action string) i18n.Message {
	switch action {
	case "send", "subscribe":
		return i18n.M("outline.action-receive", action)
	case "receive", "publish":
		return i18n.M("outline.action-send", action)
	}
	return i18n.Raw(action)
}

func unique(links []Link) []Link {
	var list []Link
	for _, l := range links {
		if !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

func lookup(d *document, pointer string) (spot, bool) {
	found, ref := d.follow(spot{map[string]any{"$ref": "#" + pointerEscape(pointer)}, ""})
	return found, ref != "" && found.object() != nil
}

// pointerEscape keeps a pointer from being unescaped as a part of an address.
func pointerEscape(pointer string) string { return strings.ReplaceAll(pointer, "%", "%25") }

// message gives a link to a message, and its entry when it is met for the first time.
func (a *asyncReader) message(key string, at spot) (Link, []Entry) {
	if a.links++; a.links > maxLinks {
		return Link{"outline.message", key, at.at}, nil
	}
	found, target := a.follow(at)
	pointer := cmp.Or(target, at.at)
	name, known := a.names[pointer]
	if known || found.object() == nil {
		return Link{"outline.message", cmp.Or(name, key), pointer}, nil
	}
	whole := a.merged(found)
	name = cmp.Or(whole.text("name"), lastName(target), key)
	a.names[pointer] = name
	return Link{"outline.message", name, pointer}, []Entry{a.entry(name, pointer, whole)}
}

// merged merges the traits of a message or operation: in 2.6 a trait overrides, from 3.0 on it is overridden.
func (a *asyncReader) merged(s spot) spot {
	traits := s.get("traits").items()
	if len(traits) == 0 {
		return s
	}
	whole := maps.Clone(s.object())
	for _, trait := range traits[:min(len(traits), 20)] {
		for key, value := range a.target(trait).object() {
			if _, own := s.object()[key]; !own || a.old {
				whole[key] = value
			}
		}
	}
	return spot{whole, s.at}
}

func (a *asyncReader) entry(name, at string, message spot) Entry {
	return Entry{
		Kind: KindMessage, Name: name, Summary: cmp.Or(message.text("title"), message.text("summary")), Pointer: at,
		Anchor: "message-" + name, Deprecated: message.is("deprecated"),
		detail: func(b *builder) Detail {
			detail := Detail{Text: cmp.Or(message.text("description"), message.text("summary"))}
			detail.Facts = fact(detail.Facts, "outline.message-id", i18n.Raw(message.text("messageId")))
			detail.Facts = fact(detail.Facts, "outline.content-type", i18n.Raw(cmp.Or(message.text("contentType"), a.root.text("defaultContentType"))))
			if correlation := a.target(message.get("correlationId")); correlation.object() != nil {
				detail.Facts = fact(detail.Facts, "outline.correlation-id", i18n.Raw(strings.TrimSpace(correlation.text("location")+" "+correlation.text("description"))))
			}
			detail.Facts = a.around(detail.Facts, message)
			detail.Codes = code(nil, "outline.bindings", a.target(message.get("bindings")))
			if headers := message.get("headers"); headers.there() {
				s := b.schema(multi(a.target(headers), headers), b.anchorOf("headers"), readAndWritten)
				detail.Sections = append(detail.Sections, Section{Title: "outline.headers", Anchor: s.Anchor, Pointers: []string{headers.at}, Open: true, Blocks: []Block{{Whole: s}}})
			}
			payload, format := a.payload(message)
			detail.Facts = fact(detail.Facts, "outline.schema-format", i18n.Raw(format))
			switch {
			case payload.there() && isJSONSchema(format):
				s := b.schema(payload, b.anchorOf("payload"), readAndWritten)
				detail.Sections = append(detail.Sections, Section{Title: "outline.payload", Anchor: s.Anchor, Pointers: []string{payload.at}, Open: true, Blocks: []Block{{Whole: s}}})
			case payload.there():
				detail.Codes = append([]Code{{"outline.payload-schema", a.code(payload)}}, detail.Codes...)
			}
			detail.Samples = a.messageSamples(b, message, "outline.example", "message")
			return detail
		},
	}
}

// payload gives the schema of a message and the format that it is written in.
func (a *asyncReader) payload(message spot) (payload spot, format string) {
	payload = message.get("payload")
	if whole := a.target(payload); whole.get("schemaFormat").there() && whole.get("schema").there() {
		return whole.get("schema"), whole.text("schemaFormat")
	}
	return payload, message.text("schemaFormat")
}

// multi gives the schema of a value that may name its format.
func multi(whole, otherwise spot) spot {
	if whole.get("schemaFormat").there() && whole.get("schema").there() {
		return whole.get("schema")
	}
	return otherwise
}

// messageSamples gives the examples of a message, or one that is made.
func (a *asyncReader) messageSamples(b *builder, message spot, title i18n.Message, group string) []Sample {
	var list []Sample
	for _, e := range message.get("examples").items() {
		s := Sample{Title: title, Name: strings.TrimSpace(e.text("name")), Group: group, Text: e.text("summary")}
		payload, headers := e.get("payload"), e.get("headers")
		switch {
		case payload.there() && headers.there():
			s.Code = a.write([]member{{"headers", headers.value}, {"payload", payload.value}}, "")
		case payload.there():
			s.Code = a.code(payload)
		case headers.there():
			s.Code = a.code(headers)
		default: // of 2.6, where an example may be the payload itself
			s.Code = a.code(e)
		}
		if list = append(list, s); len(list) == maxSamples {
			return list
		}
	}
	if payload, format := a.payload(message); len(list) == 0 && payload.there() && isJSONSchema(format) {
		return b.samples(title, group, a.target(payload), payload, "application/json", readAndWritten)
	}
	return list
}

func isJSONSchema(format string) bool {
	return format == "" || strings.Contains(format, "asyncapi") || strings.Contains(format, "schema+") || strings.Contains(format, "openapi")
}
