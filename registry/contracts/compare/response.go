package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

func (p *pair) requestBody(old, new call) {
	was, wasAt := p.old.object(old.operation["requestBody"], old.at+"/requestBody")
	is, isAt := p.new.object(new.operation["requestBody"], new.at+"/requestBody")
	c := Change{Pointer: isAt, OldPointer: wasAt, NewPointer: isAt, Subjects: []i18n.Message{new.subject}, Direction: DirectionSent}
	switch required := is["required"] == true; {
	case was == nil && is == nil:
		return
	case was == nil:
		c.OldPointer = ""
		c.Level, c.Code, c.Text, c.Why = Info, "request-body-added-optional", "changes.body-added-optional", toClients("changes.may-leave-out-why")
		if required {
			c.Level, c.Code, c.Text, c.Why = Breaking, "request-body-added-required", "changes.body-added-required", "changes.body-required-why"
		}
		p.add(c)
		return
	case is == nil:
		c.Level, c.Code, c.Pointer, c.Removed, c.NewPointer = Breaking, "request-body-removed", wasAt, true, ""
		c.Text, c.Why = "changes.body-removed", "changes.body-removed-why"
		p.add(c)
		return
	case required && was["required"] != true:
		c.Level, c.Code, c.Text, c.Why = Breaking, "request-body-became-required", sentence("changes.became-required", bodyNoun().first), "changes.body-required-why"
		p.add(c)
	case !required && was["required"] == true:
		c.Level, c.Code, c.Text, c.Why = Info, "request-body-became-optional", sentence("changes.became-optional", bodyNoun().first), ofClients("changes.still-allowed-why")
		p.add(c)
	}
	r := root{subject: new.subject, prefix: "request", it: bodyNoun(), tail: inRequest(), short: inRequest()}
	p.mediaTypes(exchange{way: sent, subject: new.subject, in: "changes.the-request", root: &r}, content(was, wasAt), content(is, isAt))
}

func (p *pair) responses(old, new call) {
	before, after := p.old.statuses(old), p.new.statuses(new)
	for _, status := range sortedKeys(before) {
		if is, both := after[status]; both {
			p.response(new.subject, status, before[status], is)
			continue
		}
		if is, ok := covering(after, status); ok {
			p.response(new.subject, status, before[status], is)
			continue
		}
		p.statusRemoved(new.subject, status, before[status])
	}
	for _, status := range sortedKeys(after) {
		if _, both := before[status]; both {
			continue
		}
		if was, ok := covering(before, status); ok {
			p.response(new.subject, status, was, after[status])
		}
		c := Change{
			Level: Info, Code: "response-non-success-status-added", Pointer: after[status].at, Subjects: []i18n.Message{new.subject}, Direction: DirectionRead,
			Text: i18n.M("changes.status-added", quote(status)), Why: "changes.failure-added-why",
		}
		if status[0] == '2' {
			c.Code, c.Why = "response-success-status-added", "changes.success-added-why"
		}
		p.add(c)
	}
}

// statuses gives the responses of an operation by status.
func (s *source) statuses(of call) map[string]located {
	list := map[string]located{}
	responses := child(of.operation, "responses")
	for _, status := range sortedKeys(responses) {
		object, at := s.object(responses[status], of.at+"/responses"+jsonpointer.Join(status))
		if object == nil || strings.HasPrefix(status, "x-") || status == "" {
			continue
		}
		if status != "default" {
			status = strings.ToUpper(status)
		}
		list[status] = located{object, at}
	}
	return list
}

// covering gives the response that holds for a status without one of its own: that of the range, else the default one.
func covering(list map[string]located, status string) (located, bool) {
	if status == "default" || status == "" {
		return located{}, false
	}
	if found, ok := list[status[:1]+"XX"]; ok {
		return found, true
	}
	found, ok := list["default"]
	return found, ok
}

func (p *pair) statusRemoved(subject i18n.Message, status string, was located) {
	c := Change{
		Level: Warning, Code: "response-non-success-status-removed", Pointer: was.at, Removed: true, Subjects: []i18n.Message{subject}, Direction: DirectionRead,
		Text: i18n.M("changes.status-removed", quote(status)), Why: "changes.status-removed-why",
	}
	switch {
	case status == "default":
		c.Level, c.Code, c.Text = Breaking, "response-default-removed", "changes.default-answer-removed"
		c.Why = "changes.default-answer-removed-why"
	case status[0] == '2':
		c.Level, c.Code, c.Why = Breaking, "response-success-status-removed", "changes.awaited-status-removed-why"
	}
	p.add(c)
}

func (p *pair) response(subject i18n.Message, status string, was, is located) {
	tail := inAnswer(status)
	r := root{read: true, subject: subject, prefix: "response", it: bodyNoun(), tail: tail, short: inAnyAnswer()}
	p.mediaTypes(exchange{way: answered, subject: subject, in: i18n.M("changes.answer-with-status", status), root: &r}, content(was.object, was.at), content(is.object, is.at))
	p.headers(headers{subject: subject, prefix: "response-header", owner: answerNoun(), tail: tail, short: inAnyAnswer(), read: true}, was, is)
	p.links(subject, was, is)
}

// links compares what a response describes of operations that follow.
func (p *pair) links(subject i18n.Message, was, is located) {
	before, after := child(was.object, "links"), child(is.object, "links")
	for _, name := range unionKeys(before, after) {
		old, oldAt := p.old.object(before[name], was.at+"/links"+jsonpointer.Join(name))
		new, newAt := p.new.object(after[name], is.at+"/links"+jsonpointer.Join(name))
		c := Change{Level: Warning, Pointer: newAt, Subjects: []i18n.Message{subject}, Direction: DirectionRead}
		switch {
		case new == nil && old != nil:
			c.Code, c.Pointer, c.Removed, c.Text = "link-removed", oldAt, true, i18n.M("changes.link-removed", quote(name))
			c.Why = "changes.link-removed-why"
		case old == nil && new != nil:
			c.Level, c.Code, c.Text, c.Why = Info, "link-added", i18n.M("changes.link-added", quote(name)), "changes.link-added-why"
		case old != nil && !same(bare(old), bare(new)):
			c.Code, c.Text, c.Why = "link-changed", i18n.M("changes.link-changed", quote(name)), "changes.link-changed-why"
		default:
			continue
		}
		p.add(c)
	}
}

// headers is a place where headers are sent: an answer, or a part of a form.
type headers struct {
	subject      i18n.Message
	prefix, side string
	owner        noun
	tail, short  ending
	read         bool
}

// headersOf gives headers by their name in small letters; the one for the media type is told of elsewhere.
func (s *source) headersOf(owner located) map[string]parameter {
	list := map[string]parameter{}
	given := child(owner.object, "headers")
	for _, name := range sortedKeys(given) {
		object, at := s.object(given[name], owner.at+"/headers"+jsonpointer.Join(name))
		if object != nil && !strings.EqualFold(name, "content-type") {
			list[strings.ToLower(name)] = parameter{located{object, at}, name, "header"}
		}
	}
	return list
}

// headers compares the headers of an answer, or of a part of a form.
func (p *pair) headers(h headers, was, is located) {
	before, after := p.old.headersOf(was), p.new.headersOf(is)
	for _, key := range unionKeys(before, after) {
		old, had := before[key]
		new, has := after[key]
		c := Change{Level: Info, Side: h.side, Pointer: new.at, OldPointer: old.at, NewPointer: new.at, Subjects: []i18n.Message{h.subject}, Direction: direction(h.read)}
		switch {
		case !has:
			p.headerRemoved(h, c, old)
		case !had:
			p.headerAdded(h, c, new)
		default:
			p.header(h, c, old, new)
		}
	}
}

func (p *pair) headerRemoved(h headers, c Change, old parameter) {
	c.Pointer, c.Removed = old.at, true
	c.Code, c.Text = "optional-"+h.prefix+"-removed", h.tail.of(i18n.M("changes.optional-removed", headerNoun(old.name).bare))
	c.Why = toClients("changes.still-sent-why")
	c.Level = Warning
	if old.object["required"] == true {
		c.Code, c.Text = "required-"+h.prefix+"-removed", h.tail.of(i18n.M("changes.removed", headerNoun(old.name).first))
	}
	if h.read {
		c.Level, c.Why = Breaking, "changes.header-used-why"
	}
	p.add(c)
}

func (p *pair) headerAdded(h headers, c Change, new parameter) {
	c.Code, c.Text = h.prefix+"-added", i18n.M("changes.header-added", quote(new.name), h.owner.inside)
	c.Why = toClients("changes.pass-over-why")
	if !h.read {
		c.Why = toClients("changes.may-leave-out-why")
		if new.object["required"] == true {
			c.Level, c.Why = Breaking, toClients("changes.not-sent-why")
		}
	}
	p.add(c)
}

// header compares a header that both have.
func (p *pair) header(h headers, c Change, old, new parameter) {
	said := headerNoun(new.name)
	was, is := old.object["required"] == true, new.object["required"] == true
	switch {
	case was && !is:
		c.Level, c.Code, c.Text, c.Why = wider.level(h.read), h.prefix+"-became-optional", h.tail.of(i18n.M("changes.became-optional", said.first)), ofClients("changes.still-allowed-why")
		if h.read {
			c.Why = "changes.header-optional-why"
		}
		p.add(c)
	case is && !was:
		c.Level, c.Code, c.Text, c.Why = narrower.level(h.read), h.prefix+"-became-required", h.tail.of(i18n.M("changes.became-required", said.first)), toClients("changes.not-sent-why")
		if h.read {
			c.Why = "changes.always-comes-why"
		}
		p.add(c)
	}
	p.deprecated(c, h.prefix, said, old.located, new.located)
	p.described(described{c: c, prefix: h.prefix, said: said, in: "header", read: h.read, tail: h.tail, short: h.short}, old.located, new.located)
}
