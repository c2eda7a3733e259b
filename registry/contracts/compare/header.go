package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

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
