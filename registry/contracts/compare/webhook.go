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
	r := root{read: true, subject: new.subject, prefix: "payload", it: "the payload"}
	p.mediaTypes(exchange{way: pushed, subject: new.subject, in: "what is sent", root: &r}, content(was, wasAt), content(is, isAt))
	if was != nil && is == nil {
		p.add(Change{
			Level: Breaking, Code: "payload-removed", Pointer: wasAt, Removed: true, Subjects: []string{new.subject},
			Text: "No body is sent any more.", Why: "Those who read the body no longer find it.",
		})
	}
	if was != nil && is != nil && was["required"] == true && is["required"] != true {
		p.add(Change{
			Level: Breaking, Code: "payload-became-optional", Pointer: isAt, Subjects: []string{new.subject}, Direction: DirectionRead,
			Text: "The body became optional.", Why: "Those who count on the body may find it absent.",
		})
	}
	p.parameters(old, new, true)
	p.answers(old, new)
	if !same(old.operation["security"], new.operation["security"]) {
		p.add(Change{
			Level: Warning, Code: "security-changed", Pointer: new.at + "/security", Side: SideBoth, Subjects: []string{new.subject},
			Text: "How the caller proves who it is was changed.", Why: "Those who are called may have to check something else.",
		})
	}
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
			r := root{subject: new.subject, prefix: "payload", it: "the answer"}
			p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the answer with status " + status, root: &r}, content(was, wasAt), content(is, isAt))
			p.headers(headers{subject: new.subject, prefix: "answer-header", owner: "the answer", tail: ", in the answer with status " + status}, located{was, wasAt}, located{is, isAt})
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
