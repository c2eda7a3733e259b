package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

func (p *pair) requestBody(old, new call) {
	was, wasAt := p.old.object(old.operation["requestBody"], old.at+"/requestBody")
	is, isAt := p.new.object(new.operation["requestBody"], new.at+"/requestBody")
	c := Change{Pointer: isAt, OldPointer: wasAt, NewPointer: isAt, Subjects: []string{new.subject}, Direction: DirectionSent}
	switch required := is["required"] == true; {
	case was == nil && is == nil:
		return
	case was == nil:
		c.OldPointer = ""
		c.Level, c.Code, c.Text, c.Why = Info, "request-body-added-optional", "A body became part of the request.", "Clients may leave it out."
		if required {
			c.Level, c.Code, c.Text, c.Why = Breaking, "request-body-added-required", "A body became part of the request, and is required.", "Clients that send no body are refused."
		}
		p.add(c)
		return
	case is == nil:
		c.Level, c.Code, c.Pointer, c.Removed, c.NewPointer = Breaking, "request-body-removed", wasAt, true, ""
		c.Text, c.Why = "The body of the request was removed.", "Clients that still send one are refused, or nothing is done with what they send."
		p.add(c)
		return
	case required && was["required"] != true:
		c.Level, c.Code, c.Text, c.Why = Breaking, "request-body-became-required", "The body became required.", "Clients that send no body are refused."
		p.add(c)
	case !required && was["required"] == true:
		c.Level, c.Code, c.Text, c.Why = Info, "request-body-became-optional", "The body became optional.", "All that clients could send stays allowed."
		p.add(c)
	}
	r := root{subject: new.subject, prefix: "request", it: "the body", tail: ", in the request", short: ", in the request"}
	p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the request", root: &r}, content(was, wasAt), content(is, isAt))
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
			Level: Info, Code: "response-non-success-status-added", Pointer: after[status].at, Subjects: []string{new.subject}, Direction: DirectionRead,
			Text: "An answer with status " + quote(status) + " was added.", Why: "Clients meet one more kind of failure, and must expect failures they do not know anyway.",
		}
		if status[0] == '2' {
			c.Code, c.Why = "response-success-status-added", "Clients that treat every 2xx as success notice nothing."
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

func (p *pair) statusRemoved(subject, status string, was located) {
	c := Change{
		Level: Warning, Code: "response-non-success-status-removed", Pointer: was.at, Removed: true, Subjects: []string{subject}, Direction: DirectionRead,
		Text: "The answer with status " + quote(status) + " was removed.", Why: "Clients that act on this status may get another one, or the same without a description.",
	}
	switch {
	case status == "default":
		c.Level, c.Code, c.Text = Breaking, "response-default-removed", "The default answer was removed."
		c.Why = "Clients that read every other answer by it no longer know what those look like."
	case status[0] == '2':
		c.Level, c.Code, c.Why = Breaking, "response-success-status-removed", "Clients that wait for this status do not get it any more."
	}
	p.add(c)
}

func (p *pair) response(subject, status string, was, is located) {
	tail := ", in the answer with status " + status
	r := root{read: true, subject: subject, prefix: "response", it: "the body", tail: tail, short: ", in the answer"}
	p.mediaTypes(exchange{way: answered, subject: subject, in: "the answer with status " + status, root: &r}, content(was.object, was.at), content(is.object, is.at))
	p.headers(headers{subject: subject, prefix: "response-header", owner: "the answer", tail: tail, short: ", in the answer", read: true}, was, is)
	p.links(subject, was, is)
}

// links compares what a response describes of operations that follow.
func (p *pair) links(subject string, was, is located) {
	before, after := child(was.object, "links"), child(is.object, "links")
	for _, name := range unionKeys(before, after) {
		old, oldAt := p.old.object(before[name], was.at+"/links"+jsonpointer.Join(name))
		new, newAt := p.new.object(after[name], is.at+"/links"+jsonpointer.Join(name))
		c := Change{Level: Warning, Pointer: newAt, Subjects: []string{subject}, Direction: DirectionRead}
		switch {
		case new == nil && old != nil:
			c.Code, c.Pointer, c.Removed, c.Text = "link-removed", oldAt, true, "The link "+quote(name)+" was removed."
			c.Why = "Clients that follow it no longer find it in the contract."
		case old == nil && new != nil:
			c.Level, c.Code, c.Text, c.Why = Info, "link-added", "The link "+quote(name)+" was added.", "Clients may follow it."
		case old != nil && !same(bare(old), bare(new)):
			c.Code, c.Text, c.Why = "link-changed", "The link "+quote(name)+" changed.", "Clients that follow it come to another operation, or call it with other values."
		default:
			continue
		}
		p.add(c)
	}
}

// headers is a place where headers are sent: an answer, or a part of a form.
type headers struct {
	subject, prefix, owner, tail, short string
	read                                bool
	side                                string
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
		c := Change{Level: Info, Side: h.side, Pointer: new.at, OldPointer: old.at, NewPointer: new.at, Subjects: []string{h.subject}, Direction: direction(h.read)}
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
	c.Code, c.Text = "optional-"+h.prefix+"-removed", "The optional header "+quote(old.name)+" was removed"+h.tail+"."
	c.Why = "Clients that still send it may be refused, or it is ignored."
	c.Level = Warning
	if old.object["required"] == true {
		c.Code, c.Text = "required-"+h.prefix+"-removed", "The header "+quote(old.name)+" was removed"+h.tail+"."
	}
	if h.read {
		c.Level, c.Why = Breaking, "Clients that use the header no longer find it."
	}
	p.add(c)
}

func (p *pair) headerAdded(h headers, c Change, new parameter) {
	c.Code, c.Text = h.prefix+"-added", "The header "+quote(new.name)+" was added to "+h.owner+"."
	c.Why = "Clients that do not know it can pass over it."
	if !h.read {
		c.Why = "Clients may leave it out."
		if new.object["required"] == true {
			c.Level, c.Why = Breaking, "Clients that do not send it are refused."
		}
	}
	p.add(c)
}

// header compares a header that both have.
func (p *pair) header(h headers, c Change, old, new parameter) {
	said := "The header " + quote(new.name)
	was, is := old.object["required"] == true, new.object["required"] == true
	switch {
	case was && !is:
		c.Level, c.Code, c.Text, c.Why = wider.level(h.read), h.prefix+"-became-optional", said+" became optional"+h.tail+".", "All that clients could send stays allowed."
		if h.read {
			c.Why = "Clients that count on the header may find it absent."
		}
		p.add(c)
	case is && !was:
		c.Level, c.Code, c.Text, c.Why = narrower.level(h.read), h.prefix+"-became-required", said+" became required"+h.tail+".", "Clients that do not send it are refused."
		if h.read {
			c.Why = "It always comes now."
		}
		p.add(c)
	}
	p.deprecated(c, h.prefix, said, old.located, new.located)
	p.described(described{c: c, prefix: h.prefix, said: said, in: "header", read: h.read, tail: h.tail, short: h.short}, old.located, new.located)
}
