package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// openAPIServers compares the addresses where an API is offered.
func (p *pair) openAPIServers() {
	p.servers("changes.subject-document", servers(p.old.root), "/servers", servers(p.new.root), "/servers")
}

// callServers compares addresses of an operation or path of its own.
func (p *pair) callServers(old, new call) {
	p.servers(new.subject, servers(old.operation), old.at+"/servers", servers(new.operation), new.at+"/servers")
	p.servers(i18n.M("changes.subject-path", new.path), servers(old.item), old.pathAt+"/servers", servers(new.item), new.pathAt+"/servers")
}

func (p *pair) servers(subject i18n.Message, before map[string]string, beforeAt string, after map[string]string, afterAt string) {
	for _, url := range unionKeys(before, after) {
		was, had := before[url]
		is, has := after[url]
		c := Change{Level: Info, Subjects: []i18n.Message{subject}, Pointer: afterAt, Cause: afterAt}
		switch {
		case !has:
			c.Level, c.Code, c.Pointer, c.Removed = Warning, "server-removed", beforeAt, true
			c.Text, c.Why = i18n.M("changes.api-server-removed", quote(url)), "changes.api-server-removed-why"
		case !had:
			c.Code, c.Text, c.Why = "server-added", i18n.M("changes.api-server-added", quote(url)), "changes.api-server-added-why"
		case was != is:
			c.Code, c.Text, c.Why = "server-changed", i18n.M("changes.api-server-variables", quote(url)), "changes.api-server-variables-why"
		default:
			continue
		}
		p.add(c)
	}
}

// servers gives the variables of each server by its address.
func servers(owner map[string]any) map[string]string {
	list := map[string]string{}
	for _, item := range items(owner, "servers") {
		object, _ := item.(map[string]any)
		if url := text(object, "url"); url != "" {
			list[url] = written(child(object, "variables"))
		}
	}
	return list
}

// asyncServers compares the servers, or brokers, by name.
func (p *pair) asyncServers() {
	before, after := child(p.old.root, "servers"), child(p.new.root, "servers")
	for _, name := range unionKeys(before, after) {
		was, wasAt := p.old.object(before[name], jsonpointer.Join("servers", name))
		is, isAt := p.new.object(after[name], jsonpointer.Join("servers", name))
		c := Change{Side: SideBoth, Subjects: []i18n.Message{i18n.M("changes.subject-server", name)}, Pointer: isAt}
		switch {
		case was == nil && is == nil:
		case is == nil:
			c.Level, c.Code, c.Pointer, c.Removed = Warning, "server-removed", wasAt, true
			c.Text, c.Why = "changes.server-removed", "changes.server-removed-why"
			p.add(c)
		case was == nil:
			c.Level, c.Code, c.Text, c.Why = Info, "server-added", "changes.server-added", "changes.added-why"
			p.add(c)
		default:
			p.asyncServer(c, was, is, wasAt, isAt)
		}
	}
}

func (p *pair) asyncServer(c Change, was, is map[string]any, wasAt, isAt string) {
	for _, key := range []string{"protocol", "host", "url", "pathname", "protocolVersion"} {
		before, after := text(was, key), text(is, key)
		if before == after || p.old.release != p.new.release && (key == "url" || key == "host" || key == "pathname") {
			continue // 2.6 writes as url what 3.0 writes as host and pathname
		}
		c.Level, c.Code, c.Pointer = Warning, "server-changed", isAt+"/"+key
		c.Text = i18n.M("changes.member-changed", key, quote(before), quote(after))
		c.Why = "changes.server-changed-why"
		if key == "protocol" && before != "" {
			c.Level, c.Why = Breaking, "changes.protocol-changed-why"
		}
		p.add(c)
	}
	if !same(child(was, "variables"), child(is, "variables")) && p.old.release == p.new.release {
		c.Level, c.Code, c.Pointer = Info, "server-changed", isAt+"/variables"
		c.Text, c.Why = "changes.server-variables", "changes.server-variables-why"
		p.add(c)
	}
	p.bindings(c, was, wasAt, is, isAt)
	p.asyncSecurity(c, was, is, wasAt, isAt)
}

// asyncSecurity compares how a server or operation lets others in.
func (p *pair) asyncSecurity(c Change, was, is map[string]any, wasAt, isAt string) {
	if p.old.release == "2.6" && p.new.release == "2.6" {
		p.security(secured{subject: c.Subjects[0], before: alternatives(items(was, "security")), after: alternatives(items(is, "security")), beforeAt: wasAt + "/security", afterAt: isAt + "/security"})
		return
	}
	p.security(secured{subject: c.Subjects[0], before: p.old.asyncAlternatives(was, wasAt), after: p.new.asyncAlternatives(is, isAt), beforeAt: wasAt + "/security", afterAt: isAt + "/security"})
}

// asyncAlternatives gives the ways in; from 3.0 on each is a scheme itself, with the scopes in it.
func (c *source) asyncAlternatives(owner map[string]any, at string) []alternative {
	if c.release == "2.6" {
		return alternatives(items(owner, "security"))
	}
	var list []alternative
	for _, found := range c.listed(located{owner, at}, "security") {
		name := strings.TrimSpace(strings.Join([]string{text(found.object, "type"), text(found.object, "scheme"), text(found.object, "in"), text(found.object, "name")}, " "))
		if list, _ := jsonpointer.Tokens(found.at); len(list) == 3 && list[0] == "components" {
			name = list[2]
		}
		var scopes []string
		for _, item := range items(found.object, "scopes") {
			if scope, ok := item.(string); ok {
				scopes = append(scopes, scope)
			}
		}
		list = append(list, alternative{name: distinct(scopes)})
	}
	if len(list) == 0 {
		return []alternative{{}}
	}
	return list
}
