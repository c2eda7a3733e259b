package lint

import (
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
)

// operation is one of an OpenAPI document, wherever it stands.
type operation struct {
	method string // as written, such as get
	path   string
	object map[string]any
	item   map[string]any // the path item it is of
	at     string
	itemAt string
	// webhook is set for what the other party receives; called for what a callback or webhook describes.
	webhook bool
	custom  bool // one of additionalOperations
}

func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// operations gives the operations of paths, webhooks and callbacks, each once.
func (c *checker) operations() []operation {
	l := operationList{tree: &c.tree, seen: map[string]bool{}}
	for _, key := range []string{"paths", "webhooks"} {
		all := child(c.root, key)
		for _, name := range names(all) {
			l.item(name, all[name], jsonpointer.Join(key, name), key == "webhooks", 0)
		}
	}
	return l.list
}

type operationList struct {
	tree *tree
	seen map[string]bool
	list []operation
}

func (l *operationList) item(path string, value any, at string, webhook bool, depth int) {
	item, at := l.tree.object(value, at)
	if item == nil || strings.HasPrefix(path, "x-") || depth > 5 {
		return
	}
	for _, method := range methods() {
		l.operation(operation{method: method, path: path, item: item, itemAt: at, webhook: webhook, at: below(at, method)}, item[method], depth)
	}
	more := child(item, "additionalOperations")
	for _, method := range names(more) {
		l.operation(operation{method: method, path: path, item: item, itemAt: at, webhook: webhook, custom: true, at: below(at, "additionalOperations", method)}, more[method], depth)
	}
}

func (l *operationList) operation(o operation, value any, depth int) {
	o.object, _ = value.(map[string]any)
	if o.object == nil || l.seen[o.at] {
		return
	}
	l.seen[o.at] = true
	l.list = append(l.list, o)
	callbacks := child(o.object, "callbacks")
	for _, name := range names(callbacks) {
		callback, at := l.tree.object(callbacks[name], below(o.at, "callbacks", name))
		for _, expression := range names(callback) {
			l.item(expression, callback[expression], below(at, expression), true, depth+1)
		}
	}
}

// title names an operation for people.
func (o operation) title() string { return strings.ToUpper(o.method) + " " + short(o.path) }

// parameters gives the parameters of the operation and of its path.
func (c *checker) parameters(o operation) []found {
	var list []found
	for i, p := range items(o.object, "parameters") {
		object, at := c.object(p, below(o.at, "parameters", itoa(i)))
		list = append(list, found{object, at})
	}
	for i, p := range items(o.item, "parameters") {
		object, at := c.object(p, below(o.itemAt, "parameters", itoa(i)))
		list = append(list, found{object, at})
	}
	return slices.DeleteFunc(list, func(f found) bool { return f.object == nil })
}

// found is an object and where it stands.
type found struct {
	object map[string]any
	at     string
}
