package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// reversal is the kind of operations that the owner of the document calls, with its texts.
type reversal struct {
	subject        func(name, method string) i18n.Message
	added, removed i18n.Message
}

func webhookReversal() reversal {
	return reversal{
		subject: func(name, method string) i18n.Message { return i18n.M("changes.subject-webhook", name, method) },
		added:   "changes.webhook-added", removed: "changes.webhook-removed",
	}
}

func callbackOf(callback string, operation i18n.Message) reversal {
	return reversal{
		subject: func(name, method string) i18n.Message {
			return i18n.M("changes.subject-callback", name, method, callback, operation)
		},
		added: "changes.callback-added", removed: "changes.callback-removed",
	}
}

// reversed compares operations that the owner of the document calls at the others: webhooks and callbacks. The directions
// are turned round: the others read the request and send the answer.
func (p *pair) reversed(by reversal, before map[string]any, beforeAt string, after map[string]any, afterAt string) {
	for _, name := range unionKeys(before, after) {
		was, wasAt := p.old.object(before[name], beforeAt+jsonpointer.Join(name))
		is, isAt := p.new.object(after[name], afterAt+jsonpointer.Join(name))
		olds, news := p.old.callsOf(was, wasAt), p.new.callsOf(is, isAt)
		for _, method := range unionKeys(olds, news) {
			subject := by.subject(name, strings.ToUpper(method))
			old, had := olds[method]
			new, has := news[method]
			old.subject, new.subject = subject, subject
			if !has {
				p.add(Change{
					Level: Breaking, Code: "webhook-removed", Pointer: old.at, Removed: true, Subjects: []i18n.Message{subject},
					Text: by.removed, Why: "changes.webhook-removed-why",
				})
			} else if !had {
				p.add(Change{
					Level: Info, Code: "webhook-added", Pointer: new.at, Subjects: []i18n.Message{subject},
					Text: by.added, Why: "changes.webhook-added-why",
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
		p.reversed(callbackOf(name, new.subject), was, wasAt, is, isAt)
	}
}

// calledBack compares a webhook or callback that both have.
func (p *pair) calledBack(old, new call) {
	was, wasAt := p.old.object(old.operation["requestBody"], old.at+"/requestBody")
	is, isAt := p.new.object(new.operation["requestBody"], new.at+"/requestBody")
	r := root{read: true, subject: new.subject, prefix: "payload", it: payloadNoun()}
	p.mediaTypes(exchange{way: pushed, subject: new.subject, in: "changes.what-is-sent", root: &r}, content(was, wasAt), content(is, isAt))
	if was != nil && is == nil {
		p.add(Change{
			Level: Breaking, Code: "payload-removed", Pointer: wasAt, Removed: true, Subjects: []i18n.Message{new.subject},
			Text: "changes.pushed-body-removed", Why: "changes.pushed-body-removed-why",
		})
	}
	if was != nil && is != nil && was["required"] == true && is["required"] != true {
		p.add(Change{
			Level: Breaking, Code: "payload-became-optional", Pointer: isAt, Subjects: []i18n.Message{new.subject}, Direction: DirectionRead,
			Text: sentence("changes.became-optional", bodyNoun().first), Why: "changes.pushed-body-optional-why",
		})
	}
	p.parameters(old, new, true)
	p.answers(old, new)
	if !same(old.operation["security"], new.operation["security"]) {
		p.add(Change{
			Level: Warning, Code: "security-changed", Pointer: new.at + "/security", Side: SideBoth, Subjects: []i18n.Message{new.subject},
			Text: "changes.caller-security", Why: "changes.caller-security-why",
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
			r := root{subject: new.subject, prefix: "payload", it: answerNoun()}
			p.mediaTypes(exchange{way: sent, subject: new.subject, in: i18n.M("changes.answer-with-status", status), root: &r}, content(was, wasAt), content(is, isAt))
			p.headers(headers{subject: new.subject, prefix: "answer-header", owner: answerNoun(), tail: inAnswer(status)}, located{was, wasAt}, located{is, isAt})
		case was != nil:
			c := Change{
				Level: Info, Code: "answer-status-removed", Pointer: wasAt, Removed: true, Subjects: []i18n.Message{new.subject},
				Text: i18n.M("changes.status-removed", status), Why: "changes.failure-removed-why",
			}
			if strings.HasPrefix(status, "2") {
				c.Level, c.Why = Breaking, "changes.success-removed-why"
			}
			p.add(c)
		case is != nil:
			p.add(Change{
				Level: Info, Code: "answer-status-added", Pointer: isAt, Subjects: []i18n.Message{new.subject},
				Text: i18n.M("changes.status-added", status), Why: "changes.answer-added-why",
			})
		}
	}
}
