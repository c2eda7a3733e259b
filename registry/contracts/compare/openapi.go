package compare

import "schakel/registry/jsonpointer"

// openAPI compares two OpenAPI documents.
func (p *pair) openAPI() {
	before, after := p.old.calls(), p.new.calls()
	p.addedAndRemoved(before, after)
	for _, key := range sortedKeys(before) {
		if then, both := after[key]; both {
			p.operations(before[key], then)
		}
	}
	p.reversed("webhooks", "", child(p.old.root, "webhooks"), "/webhooks", child(p.new.root, "webhooks"), "/webhooks")
	p.openAPISchemes()
	p.openAPIServers()
}

// operations compares an operation that both have.
func (p *pair) operations(old, new call) {
	p.about(old, new)
	p.parameters(old, new, false)
	p.requestBody(old, new)
	p.responses(old, new)
	p.queryString(old, new)
	p.callSecurity(old, new)
	p.sunset(new.subject, located{old.operation, old.at}, located{new.operation, new.at})
	p.callServers(old, new)
	p.reversedCallbacks(old, new)
}

// queryString compares a parameter that takes the query string as a whole (OpenAPI 3.2).
func (p *pair) queryString(old, new call) {
	was, wasAt := p.old.wholeQuery(old)
	is, isAt := p.new.wholeQuery(new)
	switch {
	case was == nil && is == nil:
	case was == nil:
		c := Change{
			Level: Info, Code: "querystring-added", Pointer: isAt, Subjects: []string{new.subject},
			Text: "A parameter that takes the whole query string was added.", Why: "Clients may leave it out.",
		}
		if is["required"] == true {
			c.Level, c.Why = Breaking, "It is required, so clients that send no such query string are refused."
		}
		p.add(c)
	case is == nil:
		p.add(Change{
			Level: Warning, Code: "querystring-removed", Pointer: wasAt, Removed: true, Subjects: []string{new.subject},
			Text: "The parameter that takes the whole query string was removed.", Why: "Clients that still send it may be refused, or it is ignored.",
		})
	default:
		if was["required"] != true && is["required"] == true {
			p.add(Change{
				Level: Breaking, Code: "querystring-became-required", Pointer: isAt, Subjects: []string{new.subject},
				Text: "The parameter that takes the whole query string became required.", Why: "Clients that do not send it are refused.",
			})
		}
		r := root{subject: new.subject, prefix: "payload", it: "the query string"}
		p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the query string", root: &r}, content(was, wasAt), content(is, isAt))
	}
}

func (s *source) wholeQuery(of call) (map[string]any, string) {
	for _, owner := range []located{{of.operation, of.at}, {of.item, of.pathAt}} {
		for _, found := range s.listed(owner, "parameters") {
			if text(found.object, "in") == "querystring" {
				return found.object, found.at
			}
		}
	}
	return nil, ""
}

// listed gives the objects of a list, references followed.
func (s *source) listed(owner located, key string) []located {
	var list []located
	for i, value := range items(owner.object, key) {
		if object, at := s.object(value, owner.at+jsonpointer.Join(key)+"/"+itoa(i)); object != nil {
			list = append(list, located{object, at})
		}
	}
	return list
}
