package compare

import (
	"regexp"
	"strings"

	"schakel/registry/jsonpointer"
)

// call is an operation of one document.
type call struct {
	subject, at  string
	operation    map[string]any
	path, pathAt string
	item         map[string]any
}

// openAPI compares what oasdiff does not see, and asks for the rest to be judged.
func (p *pair) openAPI() {
	p.old.copyPaths()
	p.new.copyPaths()
	before, after := p.old.calls(), p.new.calls()
	for _, key := range sortedKeys(before) {
		if then, both := after[key]; both {
			p.operations(before[key], then)
		}
	}
	p.reversed("webhooks", "", child(p.old.root, "webhooks"), "/webhooks", child(p.new.root, "webhooks"), "/webhooks")
	p.openAPISchemes()
	p.openAPIServers()
}

// calls gives the operations of paths by method and path, the names of path parameters left out.
func (c *copier) calls() map[string]call {
	list := map[string]call{}
	braces := regexp.MustCompile(`\{[^}]*\}`)
	paths := child(c.root, "paths")
	for _, path := range sortedKeys(paths) {
		item, at := c.object(paths[path], jsonpointer.Join("paths", path))
		for method, found := range c.callsOf(item, at) {
			found.path, found.subject = path, strings.ToUpper(method)+" "+path
			list[method+" "+braces.ReplaceAllString(path, "{}")] = found
		}
	}
	return list
}

// callsOf gives the operations of a path item by method, in small letters where the specification names it.
func (c *copier) callsOf(item map[string]any, at string) map[string]call {
	list := map[string]call{}
	for _, method := range methods() {
		if operation := child(item, method); operation != nil {
			list[method] = call{operation: operation, at: at + "/" + method, item: item, pathAt: at}
		}
	}
	for method := range child(item, "additionalOperations") {
		operation := child(child(item, "additionalOperations"), method)
		if _, known := list[method]; operation != nil && !known {
			list[method] = call{operation: operation, at: at + "/additionalOperations" + jsonpointer.Join(method), item: item, pathAt: at}
		}
	}
	return list
}

// operations compares an operation that both have.
func (p *pair) operations(old, new call) {
	oldBody, oldAt := p.old.object(old.operation["requestBody"], old.at+"/requestBody")
	newBody, newAt := p.new.object(new.operation["requestBody"], new.at+"/requestBody")
	if oldBody != nil && newBody != nil {
		p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the request"}, content(oldBody, oldAt), content(newBody, newAt))
	}
	before, after := child(old.operation, "responses"), child(new.operation, "responses")
	for _, status := range sortedKeys(before) {
		was, wasAt := p.old.object(before[status], old.at+"/responses"+jsonpointer.Join(status))
		is, isAt := p.new.object(after[status], new.at+"/responses"+jsonpointer.Join(status))
		if was != nil && is != nil {
			p.mediaTypes(exchange{way: answered, subject: new.subject, in: "the answer with status " + status}, content(was, wasAt), content(is, isAt))
		}
	}
	p.queryString(old, new)
	p.callSecurity(old, new)
	p.sunset(old, new)
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
		p.mediaTypes(exchange{way: sent, subject: new.subject, in: "the query string", parts: true, what: "query string"}, content(was, wasAt), content(is, isAt))
	}
}

func (c *copier) wholeQuery(of call) (map[string]any, string) {
	for _, owner := range []located{{of.operation, of.at}, {of.item, of.pathAt}} {
		for _, found := range c.listed(owner, "parameters") {
			if text(found.object, "in") == "querystring" {
				return found.object, found.at
			}
		}
	}
	return nil, ""
}

// located is an object with its pointer.
type located struct {
	object map[string]any
	at     string
}

// listed gives the objects of a list, references followed.
func (c *copier) listed(owner located, key string) []located {
	var list []located
	for i, value := range items(owner.object, key) {
		if object, at := c.object(value, owner.at+jsonpointer.Join(key)+"/"+itoa(i)); object != nil {
			list = append(list, located{object, at})
		}
	}
	return list
}

// sunset compares the day from which an operation may be gone.
func (p *pair) sunset(old, new call) {
	was, is := text(old.operation, "x-sunset"), text(new.operation, "x-sunset")
	c := Change{Level: Info, Code: "sunset-changed", Pointer: new.at + "/x-sunset", Subjects: []string{new.subject}}
	switch {
	case was == is:
		return
	case is == "":
		c.Pointer, c.Removed, c.Text, c.Why = old.at+"/x-sunset", true, "The sunset date "+quote(was)+" was taken away.", "It is no longer said when the operation may be gone."
	case was == "":
		c.Text, c.Why = "The sunset date became "+quote(is)+".", "Until then it works; clients must have left it by then."
	case is < was:
		c.Level = Warning
		c.Text, c.Why = "The sunset date moved from "+quote(was)+" forward to "+quote(is)+".", "Clients have less time than they were told."
	default:
		c.Text, c.Why = "The sunset date moved from "+quote(was)+" back to "+quote(is)+".", "Clients have more time than they were told."
	}
	p.add(c)
}
