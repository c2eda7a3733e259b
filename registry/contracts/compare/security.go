package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// alternative is one way to be let in: names of security schemes with the scopes that are asked for.
type alternative map[string][]string

// callSecurity compares how clients get access to an operation.
func (p *pair) callSecurity(old, new call) {
	was, wasAt := p.old.securityOf(old.operation, old.at)
	is, isAt := p.new.securityOf(new.operation, new.at)
	p.security(secured{subject: new.subject, before: was, beforeAt: wasAt, after: is, afterAt: isAt})
}

// securityOf gives the alternatives that hold for an operation; one that asks for nothing when there are none.
func (c *source) securityOf(operation map[string]any, at string) ([]alternative, string) {
	list, ok := operation["security"].([]any)
	at += "/security"
	if !ok {
		list, at = items(c.root, "security"), "/security"
	}
	return alternatives(list), at
}

func alternatives(list []any) []alternative {
	if len(list) == 0 {
		return []alternative{{}}
	}
	var made []alternative
	for _, item := range list {
		object, _ := item.(map[string]any)
		one := alternative{}
		for name, value := range object {
			scopes := []string{}
			asked, _ := value.([]any)
			for _, scope := range asked {
				if s, ok := scope.(string); ok {
					scopes = append(scopes, s)
				}
			}
			one[name] = distinct(scopes)
		}
		made = append(made, one)
	}
	return made
}

// secured is something that asks for proof of who one is, in both documents.
type secured struct {
	subject           i18n.Message
	before, after     []alternative
	beforeAt, afterAt string
}

// security reports alternatives that were removed and added.
func (p *pair) security(s secured) {
	var closed, opened []i18n.Message
	for _, was := range s.before {
		if !satisfies(s.after, p.renamed(was)) {
			closed = append(closed, was.text())
		}
	}
	for _, is := range s.after {
		if !satisfies(p.renamedAll(s.before), is) {
			opened = append(opened, is.text())
		}
	}
	if len(closed) > 0 {
		p.add(Change{
			Level: Breaking, Code: "security-narrowed", Pointer: s.afterAt, Subjects: []i18n.Message{s.subject},
			Text: i18n.M("changes.security-narrowed", joined("changes.or", closed), names(s.after)),
			Why:  "changes.security-narrowed-why",
		})
	} else if len(opened) > 0 {
		p.add(Change{
			Level: Info, Code: "security-widened", Pointer: s.afterAt, Subjects: []i18n.Message{s.subject},
			Text: i18n.M("changes.security-widened", joined("changes.or", opened)), Why: "changes.security-widened-why",
		})
	}
}

func names(list []alternative) i18n.Message {
	var said []i18n.Message
	for _, a := range list {
		said = append(said, a.text())
	}
	return joined("changes.or", said)
}

// text names what an alternative asks for.
func (a alternative) text() i18n.Message {
	if len(a) == 0 {
		return "changes.no-security"
	}
	var parts []i18n.Message
	for _, name := range sortedKeys(a) {
		said := quote(name)
		if len(a[name]) > 0 {
			said += " (" + strings.Join(a[name], ", ") + ")"
		}
		parts = append(parts, i18n.Raw(said))
	}
	return joined("changes.and", parts)
}

// satisfies reports whether credentials for one alternative satisfy one of the list.
func satisfies(list []alternative, has alternative) bool {
	for _, asks := range list {
		if asks.within(has) {
			return true
		}
	}
	return false
}

func (a alternative) within(has alternative) bool {
	for name, scopes := range a {
		got, ok := has[name]
		if !ok {
			return false
		}
		for _, scope := range scopes {
			if !contains(got, scope) {
				return false
			}
		}
	}
	return true
}

func contains(list []string, wanted string) bool {
	for _, item := range list {
		if item == wanted {
			return true
		}
	}
	return false
}

// renamed gives an alternative of the old document with the names that its schemes have in the new one.
func (p *pair) renamed(a alternative) alternative {
	made := alternative{}
	for name, scopes := range a {
		made[p.newName(name)] = scopes
	}
	return made
}

func (p *pair) renamedAll(list []alternative) []alternative {
	var made []alternative
	for _, a := range list {
		made = append(made, p.renamed(a))
	}
	return made
}

// newName finds the name of a scheme in the new document: its own, or that of one which is described the same.
func (p *pair) newName(name string) string {
	before, after := p.old.schemes(), p.new.schemes()
	if _, stays := after[name]; stays {
		return name
	}
	for _, other := range sortedKeys(after) {
		if _, existed := before[other]; !existed && before[name].object != nil && same(bare(before[name].object), bare(after[other].object)) {
			return other
		}
	}
	return name
}

func (c *source) schemes() map[string]located {
	if c.secured == nil {
		c.secured = map[string]located{}
		given := child(child(c.root, "components"), "securitySchemes")
		for name, value := range given {
			object, at := c.object(value, jsonpointer.Join("components", "securitySchemes", name))
			c.secured[name] = located{object, at}
		}
	}
	return c.secured
}

// bare leaves out of an object what only informs.
func bare(object map[string]any) map[string]any {
	made := map[string]any{}
	for key, value := range object {
		if key != "description" && key != "summary" && key != "title" && key != "tags" && key != "externalDocs" && !strings.HasPrefix(key, "x-") {
			made[key] = value
		}
	}
	return made
}

// openAPISchemes compares the security schemes themselves, for both kinds of document.
func (p *pair) openAPISchemes() {
	before, after := p.old.schemes(), p.new.schemes()
	for _, name := range sortedKeys(before) {
		if is, both := after[name]; both && before[name].object != nil && is.object != nil {
			p.scheme(name, before[name].object, is)
		}
	}
}

// scheme compares what a security scheme asks: another kind or place is another proof, other addresses are a move.
func (p *pair) scheme(name string, was map[string]any, is located) {
	c := Change{Side: SideConsumer, Subjects: []i18n.Message{i18n.M("changes.subject-security-scheme", name)}, Cause: is.at}
	for _, key := range []string{"type", "in", "name", "scheme"} {
		if before, after := text(was, key), text(is.object, key); before != after {
			c.Level, c.Code, c.Pointer = Breaking, "security-scheme-changed", is.at+"/"+key
			c.Text = i18n.M("changes.member-changed", key, quote(before), quote(after))
			c.Why = "changes.scheme-changed-why"
			p.add(c)
		}
	}
	if before, after := text(was, "bearerFormat"), text(is.object, "bearerFormat"); before != after {
		c.Level, c.Code, c.Pointer = Warning, "security-scheme-changed", is.at+"/bearerFormat"
		c.Text = i18n.M("changes.bearer-format", quote(before), quote(after))
		c.Why = "changes.bearer-format-why"
		p.add(c)
	}
	for _, key := range []string{"openIdConnectUrl", "oauth2MetadataUrl"} {
		p.moved(c, key, text(was, key), text(is.object, key), is.at+"/"+key)
	}
	before, after := child(was, "flows"), child(is.object, "flows")
	for _, flow := range unionKeys(before, after) {
		p.flow(c, flow, child(before, flow), child(after, flow), is.at+"/flows"+jsonpointer.Join(flow))
	}
}

func (p *pair) moved(c Change, key, before, after, at string) {
	if before == after {
		return
	}
	c.Level, c.Code, c.Pointer = Warning, "security-address-changed", at
	c.Text = i18n.M("changes.member-changed", key, quote(before), quote(after))
	c.Why = "changes.security-address-why"
	p.add(c)
}

func (p *pair) flow(c Change, name string, was, is map[string]any, at string) {
	switch {
	case is == nil:
		c.Level, c.Code, c.Pointer, c.Text = Breaking, "security-flow-removed", at, i18n.M("changes.flow-removed", quote(name))
		c.Why = "changes.flow-removed-why"
		p.add(c)
		return
	case was == nil:
		c.Level, c.Code, c.Pointer, c.Text = Info, "security-flow-added", at, i18n.M("changes.flow-added", quote(name))
		c.Why = "changes.flow-added-why"
		p.add(c)
		return
	}
	for _, key := range []string{"authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"} {
		p.moved(c, key, text(was, key), text(is, key), at+"/"+key)
	}
	before, after := scopes(was), scopes(is)
	for _, scope := range unionKeys(before, after) {
		_, had := before[scope]
		_, has := after[scope]
		c.Pointer, c.Removed = at+"/scopes", false
		switch {
		case had && !has:
			c.Level, c.Code, c.Text = Warning, "security-scope-removed", i18n.M("changes.scope-removed", quote(scope), quote(name))
			c.Why = "changes.scope-removed-why"
			p.add(c)
		case has && !had:
			c.Level, c.Code, c.Text = Info, "security-scope-added", i18n.M("changes.scope-added", quote(scope), quote(name))
			c.Why = "changes.scope-added-why"
			p.add(c)
		}
	}
}

// scopes gives the scopes of a flow; AsyncAPI 3 calls them availableScopes.
func scopes(flow map[string]any) map[string]any {
	if list := child(flow, "availableScopes"); list != nil {
		return list
	}
	return child(flow, "scopes")
}
