package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

// reversed compares operations that the owner of the document calls at the others: webhooks and callbacks. The directions
// are turned round: the others read the request and send the answer.
func (p *pair) reversed(kind, of string, before map[string]any, beforeAt string, after map[string]any, afterAt string) {
	for _, name := range unionKeys(before, after) {
		was, wasAt := p.old.object(before[name], beforeAt+jsonpointer.Join(name))
		is, isAt := p.new.object(after[name], afterAt+jsonpointer.Join(name))
		olds, news := p.old.callsOf(was, wasAt), p.new.callsOf(is, isAt)
		for _, method := range unionKeys(olds, news) {
			subject := strings.TrimSuffix(kind, "s") + " " + name + " (" + strings.ToUpper(method) + ")"
			if of != "" {
				subject += " of " + of
			}
			old, had := olds[method]
			new, has := news[method]
			old.subject, new.subject = subject, subject
			if !has {
				p.add(Change{
					Level: Breaking, Code: "webhook-removed", Pointer: old.at, Removed: true, Subjects: []string{subject},
					Text: "The " + strings.TrimSuffix(kind, "s") + " was removed.", Why: "Those who wait to be called are not called any more.",
				})
			} else if !had {
				p.add(Change{
					Level: Info, Code: "webhook-added", Pointer: new.at, Subjects: []string{subject},
					Text: "The " + strings.TrimSuffix(kind, "s") + " was added.", Why: "Nothing that exists changes; those who want to be called can offer it.",
				})
			} else {
				p.calledBack(old, new)
			}
		}
	}
}

func (p *pair) reversedCallbacks(old, new call) {
	before, after := child(old.operation, "callbacks"), child(new.operation, "callbacks")
	for _, name := range unionKeys(before, after) {
		was, wasAt := p.old.object(before[name], old.at+"/callbacks"+jsonpointer.Join(name))
		is, isAt := p.new.object(after[name], new.at+"/callbacks"+jsonpointer.Join(name))
		p.reversed("callbacks", name+" of "+new.subject, was, wasAt, is, isAt)
	}
}

// calledBack compares a webhook or callback that both have.
func (p *pair) calledBack(old, new call) {
	was, wasAt := p.old.object(old.operation["requestBody"], old.at+"/requestBody")
	is, isAt := p.new.object(new.operation["requestBody"], new.at+"/requestBody")
	p.mediaTypes(exchange{way: pushed, subject: new.subject, in: "what is sent", parts: true, what: "payload"}, content(was, wasAt), content(is, isAt))
	if was != nil && is == nil {
		p.add(Change{
			Level: Breaking, Code: "payload-removed", Pointer: wasAt, Removed: true, Subjects: []string{new.subject},
			Text: "No body is sent any more.", Why: "Those who read the body no longer find it.",
		})
	}
	p.compare(part{read: true, side: SideConsumer, subject: new.subject, what: "headers"}, p.old.sentParameters(old), p.new.sentParameters(new))
	p.answers(old, new)
	if !same(old.operation["security"], new.operation["security"]) {
		p.add(Change{
			Level: Warning, Code: "security-changed", Pointer: new.at + "/security", Side: SideBoth, Subjects: []string{new.subject},
			Text: "How the caller proves who it is was changed.", Why: "Those who are called may have to check something else.",
		})
	}
}

// sentParameters puts the parameters of an operation into one schema, the way the others read them.
func (c *copier) sentParameters(of call) schemaAt {
	properties, required := map[string]any{}, []any{}
	for _, owner := range []located{{of.item, of.pathAt}, {of.operation, of.at}} {
		for _, found := range c.listed(owner, "parameters") {
			name, in := text(found.object, "name"), text(found.object, "in")
			if in != "header" && in != "query" || name == "" {
				continue
			}
			if in == "header" {
				name = strings.ToLower(name)
			}
			schema, ok := found.object["schema"]
			if !ok {
				schema = map[string]any{}
			}
			properties[name] = schema
			if found.object["required"] == true {
				required = append(required, name)
			}
		}
	}
	return schemaAt{map[string]any{"properties": properties, "required": required}, of.at + "/parameters"}
}

// answers compares what those who are called may answer.
func (p *pair) answers(old, new call) {
	before, after := child(old.operation, "responses"), child(new.operation, "responses")
	for _, status := range unionKeys(before, after) {
		if strings.HasPrefix(status, "x-") {
			continue
		}
		was, wasAt := p.old.object(before[status], old.at+"/responses"+jsonpointer.Join(status))
		is, isAt := p.new.object(after[status], new.at+"/responses"+jsonpointer.Join(status))
		switch {
		case was != nil && is != nil:
			p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the answer with status " + status, parts: true, what: "answer"}, content(was, wasAt), content(is, isAt))
		case was != nil:
			c := Change{
				Level: Info, Code: "answer-status-removed", Pointer: wasAt, Removed: true, Subjects: []string{new.subject},
				Text: "The answer with status " + status + " was removed.", Why: "A failure that is not named is still a failure.",
			}
			if strings.HasPrefix(status, "2") {
				c.Level, c.Why = Breaking, "Those who answer with it may no longer be taken to have received the call."
			}
			p.add(c)
		case is != nil:
			p.add(Change{
				Level: Info, Code: "answer-status-added", Pointer: isAt, Subjects: []string{new.subject},
				Text: "An answer with status " + status + " was added.", Why: "Those who are called may use it.",
			})
		}
	}
}
