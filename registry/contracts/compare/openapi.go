package compare

import (
	"net/http"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

func (p *pair) openAPI() {
	before, after := p.old.calls(), p.new.calls()
	p.addedAndRemoved(before, after)
	for _, key := range sortedKeys(before) {
		if then, both := after[key]; both {
			p.operations(before[key], then)
		}
	}
	p.reversed(webhookReversal(), child(p.old.root, "webhooks"), "/webhooks", child(p.new.root, "webhooks"), "/webhooks")
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
			Level: Info, Code: "querystring-added", Pointer: isAt, Subjects: []i18n.Message{new.subject},
			Text: "changes.query-string-added", Why: toClients("changes.may-leave-out-why"),
		}
		if is["required"] == true {
			c.Level, c.Why = Breaking, "changes.query-string-required-why"
		}
		p.add(c)
	case is == nil:
		p.add(Change{
			Level: Warning, Code: "querystring-removed", Pointer: wasAt, Removed: true, Subjects: []i18n.Message{new.subject},
			Text: "changes.query-string-removed", Why: toClients("changes.still-sent-why"),
		})
	default:
		if was["required"] != true && is["required"] == true {
			p.add(Change{
				Level: Breaking, Code: "querystring-became-required", Pointer: isAt, Subjects: []i18n.Message{new.subject},
				Text: "changes.query-string-became-required", Why: toClients("changes.not-sent-why"),
			})
		}
		r := root{subject: new.subject, prefix: "payload", it: queryStringNoun()}
		p.mediaTypes(exchange{way: sent, subject: new.subject, in: queryStringNoun().inside, root: &r}, content(was, wasAt), content(is, isAt))
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

type call struct {
	method, at   string
	subject      i18n.Message
	operation    map[string]any
	path, pathAt string
	item         map[string]any
}

// methods are the members of a path item that are operations.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// validMethod reports whether a method is one of additionalOperations, not of those that have a member in the path item.
func validMethod(method string) bool {
	for _, known := range methods() {
		if strings.EqualFold(method, known) {
			return false
		}
	}
	_, err := http.NewRequest(method, "/", http.NoBody)
	return err == nil && method != ""
}

// calls gives the operations of paths by method and path, the names of path parameters left out.
func (s *source) calls() map[string]call {
	list := map[string]call{}
	paths := child(s.root, "paths")
	for _, path := range sortedKeys(paths) {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		item, at := s.object(paths[path], jsonpointer.Join("paths", path))
		for method, found := range s.callsOf(item, at) {
			found.path, found.subject = path, i18n.Raw(strings.ToUpper(method)+" "+path)
			list[method+" "+template(path)] = found
		}
	}
	return list
}

// template writes a path without the names of its parameters.
func template(path string) string {
	var made strings.Builder
	for _, piece := range pieces(path) {
		if made.WriteString(piece.fixed); piece.closed {
			made.WriteString("{}")
		}
	}
	return made.String()
}

// piece is a part of a path: fixed text and the parameter behind it, if there is one.
type piece struct {
	fixed, name string
	closed      bool
}

func pieces(path string) []piece {
	var list []piece
	for path != "" {
		fixed, rest, open := strings.Cut(path, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			return append(list, piece{fixed: path})
		}
		list, path = append(list, piece{fixed, name, true}), after
	}
	return list
}

// callsOf gives the operations of a path item by method, in small letters where the specification names it.
func (s *source) callsOf(item map[string]any, at string) map[string]call {
	list := map[string]call{}
	for _, method := range methods() {
		if operation := child(item, method); operation != nil {
			list[method] = call{method: method, operation: operation, at: at + "/" + method, item: item, pathAt: at}
		}
	}
	for method := range child(item, "additionalOperations") {
		operation := child(child(item, "additionalOperations"), method)
		if operation != nil && validMethod(method) {
			list[method] = call{method: method, operation: operation, at: at + "/additionalOperations" + jsonpointer.Join(method), item: item, pathAt: at}
		}
	}
	return list
}

func (p *pair) addedAndRemoved(before, after map[string]call) {
	paths := map[string]bool{}
	for _, is := range after {
		paths[template(is.path)] = true
	}
	for _, key := range sortedKeys(before) {
		was := before[key]
		if _, stays := after[key]; stays {
			continue
		}
		c := Change{
			Level: Breaking, Code: "api-removed-without-deprecation", Pointer: was.at, Removed: true, Subjects: []i18n.Message{was.subject},
			Text: "changes.operation-removed", Why: "changes.operation-removed-why",
		}
		whole := !paths[template(was.path)]
		if whole {
			c.Code, c.Text = "api-path-removed-without-deprecation", "changes.path-removed"
		}
		if was.operation["deprecated"] == true { // that it was announced does not make it work
			c.Code = strings.Replace(c.Code, "without", "with", 1)
			if c.Text = "changes.operation-removed-deprecated"; whole {
				c.Text = "changes.path-removed-deprecated"
			}
			c.Why = "changes.removed-deprecated-why"
		}
		p.add(c)
	}
	for _, key := range sortedKeys(after) {
		if is := after[key]; before[key].operation == nil {
			p.add(Change{
				Level: Info, Code: "endpoint-added", Pointer: is.at, Subjects: []i18n.Message{is.subject},
				Text: "changes.operation-added", Why: "changes.added-why",
			})
		}
	}
}

// about compares what is said of an operation itself.
func (p *pair) about(old, new call) {
	was, is := old.operation["deprecated"] == true, new.operation["deprecated"] == true
	c := Change{Level: Info, Pointer: new.at, Subjects: []i18n.Message{new.subject}}
	switch {
	case is && !was:
		c.Code, c.Pointer, c.Text = "endpoint-deprecated", new.at+"/deprecated", "changes.operation-deprecated"
		c.Why = ofClients("changes.deprecated-why")
		p.add(c)
	case was && !is:
		c.Code, c.Text, c.Why = "endpoint-reactivated", "changes.operation-reactivated", ofClients("changes.nothing-why")
		p.add(c)
	}
	before, after := text(old.operation, "operationId"), text(new.operation, "operationId")
	c = Change{Level: Info, Pointer: new.at + "/operationId", Subjects: []i18n.Message{new.subject}}
	switch {
	case before == after:
		return
	case before == "":
		c.Code, c.Text, c.Why = "api-operation-id-added", i18n.M("changes.operation-id-added", quote(after)), ofClients("changes.nothing-why")
	default:
		c.Code, c.Text = "api-operation-id-removed", i18n.M("changes.operation-id-changed", quote(before), quote(after))
		c.Why = "changes.operation-id-changed-why"
	}
	p.add(c)
}

// sunset compares the day from which something may be gone.
func (p *pair) sunset(subject i18n.Message, old, new located) {
	was, is := text(old.object, "x-sunset"), text(new.object, "x-sunset")
	c := Change{Level: Info, Code: "sunset-changed", Pointer: new.at + "/x-sunset", Subjects: []i18n.Message{subject}}
	switch {
	case was == is:
		return
	case is == "":
		c.Pointer, c.Removed, c.Text, c.Why = old.at+"/x-sunset", true, i18n.M("changes.sunset-removed", quote(was)), "changes.sunset-removed-why"
	case was == "":
		c.Text, c.Why = i18n.M("changes.sunset-added", quote(is)), "changes.sunset-added-why"
	case is < was:
		c.Level = Warning
		c.Text, c.Why = i18n.M("changes.sunset-earlier", quote(was), quote(is)), "changes.sunset-earlier-why"
	default:
		c.Text, c.Why = i18n.M("changes.sunset-later", quote(was), quote(is)), "changes.sunset-later-why"
	}
	p.add(c)
}
