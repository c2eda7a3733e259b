package compare

import (
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/checker/rules"
)

// sharpen puts the pointer of a change at the property that it is of, where oasdiff only named the whole body.
func (t *translator) sharpen(c *Change, found checker.Change) {
	path, ok := propertyPath(found)
	if !ok || len(path) > 0 && strings.Contains(c.Pointer, "/properties"+jsonpointer.Join(path[len(path)-1])) {
		return // of another kind, or told exactly
	}
	for _, side := range []struct {
		c       *copier
		removed bool
	}{{t.pair.new, false}, {t.pair.old, true}} {
		for _, body := range side.c.bodies(found, t.rules[found.GetId()]) {
			way := side.c.walk(body, path)
			if len(way) == 0 || side.removed && !c.Removed {
				continue
			}
			last := way[len(way)-1]
			if strings.Contains(c.Code, "additional-properties") {
				c.Pointer, c.Removed = last+"/additionalProperties", side.removed
				return
			}
			if strings.Contains(found.GetId(), "-became-required") || strings.HasSuffix(found.GetId(), "-became-optional") {
				last = way[max(len(way)-2, 0)] + "/required"
			}
			if cameOrWent(found.GetId()) || vague(c.Pointer, way[:len(way)-1], body) {
				c.Pointer, c.Removed = last, side.removed
			}
			return
		}
	}
}

// cameOrWent tells a finding of a property that was added or removed: it is of the place that names the property, and not
// of a shared schema that the property had.
func cameOrWent(id string) bool {
	return strings.HasSuffix(id, "-property-removed") || strings.HasSuffix(id, "-property-added") ||
		strings.HasPrefix(id, "new-required-request-property") || id == "new-optional-request-property"
}

// propertyPath gives the steps that lead from the body to the property that a finding is of; ok is false for a finding of
// another kind.
func propertyPath(found checker.Change) (path []string, ok bool) {
	id, args := found.GetId(), found.GetArgs()
	if other, _ := reveal(id, args); other != id && strings.HasPrefix(nameOf(id), "body-") {
		return nil, true
	}
	place := pathPlace(id, args)
	if place < 0 || place >= len(args) {
		return nil, false
	}
	said, _ := args[place].(string)
	return steps(said), said != ""
}

// pathPlace tells which argument of a finding is the way to a property; less than zero for none.
func pathPlace(id string, args []any) int {
	other, _ := reveal(id, args)
	name := nameOf(id)
	switch {
	case !strings.Contains(name, "property") || strings.HasPrefix(name, "body-") || strings.HasPrefix(name, "parameter-"):
		return -1
	case other != id, strings.HasPrefix(name, "property-enum-value"), strings.Contains(name, "-one-of-"), strings.Contains(name, "-any-of-"), strings.Contains(name, "-all-of-"),
		strings.HasPrefix(id, "request-property-pattern-"), strings.HasSuffix(name, "pattern-property-added"), strings.HasSuffix(name, "pattern-property-removed"):
		return 1
	}
	return 0
}

// vague tells whether a pointer is that of the operation, the body or something between it and the property.
func vague(pointer string, way []string, body string) bool {
	for _, above := range way {
		if pointer == above || pointer == above+"/required" || pointer == above+"/properties" {
			return true
		}
	}
	return strings.HasPrefix(body, pointer) || strings.HasPrefix(way[0], pointer)
}

// bodies gives the pointers, in the copy, of the schemas that a finding can be of.
func (c *copier) bodies(found checker.Change, rule rules.Rule) []string {
	at := jsonpointer.Join("paths", found.GetPath(), strings.ToLower(found.GetOperation()))
	if rule.Direction == rules.DirectionRequest {
		at += "/requestBody"
	} else {
		args := found.GetArgs()
		status := ""
		if len(args) > 0 {
			status, _ = args[len(args)-1].(string)
		}
		at += "/responses" + jsonpointer.Join(status)
	}
	owner, _ := jsonpointer.Lookup(c.made, at)
	object, _ := owner.(map[string]any)
	var list []string
	for _, name := range sortedKeys(child(object, "content")) {
		list = append(list, at+"/content"+jsonpointer.Join(name)+"/schema")
	}
	return list
}

// walk follows the names of properties from a schema in the copy, and gives the places in the document on the way, that
// of the schema first; fewer than all when a name is not found.
func (c *copier) walk(at string, names []string) []string {
	node, at := c.follow(at)
	way := []string{c.origin(at)}
	for _, name := range names {
		next := ""
		switch _, named, isPart := partOf(name); {
		case isPart && strings.HasPrefix(named, "#/components/schemas/"):
			node, at = c.follow(strings.TrimPrefix(named, "#"))
			way = append(way, c.origin(at))
			continue
		case child(node, "properties")[name] != nil:
			next = at + "/properties" + jsonpointer.Join(name)
		case name == "items" && node["items"] != nil:
			next = at + "/items"
		default:
			return nil
		}
		way = append(way, c.named(next))
		node, at = c.follow(next)
	}
	return way
}

// named gives the place in the document that a pointer in the copy stands for; where that is what allOf came down to, the
// place that it came from.
func (c *copier) named(at string) string {
	place := c.origin(at)
	if _, ok := jsonpointer.Lookup(c.root, place); ok {
		return place
	}
	value, _ := jsonpointer.Lookup(c.made, at)
	object, _ := value.(map[string]any)
	if pointer, local := localPointer(text(object, "$ref")); local && pointer != "" {
		return c.origin(pointer)
	}
	return place
}

// follow gives the schema at a pointer in the copy, behind a reference if that is what stands there.
func (c *copier) follow(at string) (map[string]any, string) {
	for range maxHops {
		value, _ := jsonpointer.Lookup(c.made, at)
		object, _ := value.(map[string]any)
		pointer, local := localPointer(text(object, "$ref"))
		if !local || pointer == "" {
			return object, at
		}
		at = pointer
	}
	return nil, at
}
