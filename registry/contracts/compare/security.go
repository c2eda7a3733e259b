package compare

import (
	"fmt"
	"strings"

	"schakel/registry/jsonpointer"
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
			one[name] = sorted(scopes)
		}
		made = append(made, one)
	}
	return made
}

// secured is something that asks for proof of who one is, in both documents.
type secured struct {
	subject           string
	before, after     []alternative
	beforeAt, afterAt string
}

// security reports alternatives that were removed and added.
func (p *pair) security(s secured) {
	var closed, opened []string
	for _, was := range s.before {
		if !satisfies(s.after, p.renamed(was)) {
			closed = append(closed, was.String())
		}
	}
	for _, is := range s.after {
		if !satisfies(p.renamedAll(s.before), is) {
			opened = append(opened, is.String())
		}
	}
	if len(closed) > 0 {
		p.add(Change{
			Level: Breaking, Code: "security-narrowed", Pointer: s.afterAt, Subjects: []string{s.subject},
			Text: fmt.Sprintf("Access with %s is no longer enough; it now takes %s.", strings.Join(closed, " or "), names(s.after)),
			Why:  "Clients that come with what the old version asked for are refused.",
		})
	} else if len(opened) > 0 {
		p.add(Change{
			Level: Info, Code: "security-widened", Pointer: s.afterAt, Subjects: []string{s.subject},
			Text: fmt.Sprintf("Access is now possible with %s.", strings.Join(opened, " or ")), Why: "What was enough until now still is.",
		})
	}
}

func names(list []alternative) string {
	var said []string
	for _, a := range list {
		said = append(said, a.String())
	}
	return strings.Join(said, " or ")
}

// String names what an alternative asks for.
func (a alternative) String() string {
	if len(a) == 0 {
		return "nothing"
	}
	var parts []string
	for _, name := range sortedKeys(a) {
		said := quote(name)
		if len(a[name]) > 0 {
			said += " (" + strings.Join(a[name], ", ") + ")"
		}
		parts = append(parts, said)
	}
	return strings.Join(parts, " and ")
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

// schemes are the security schemes of a document.
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
