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

type found struct {
	object map[string]any
	at     string
}

// webhooks holds what receives CloudEvents against the Edukoppeling profile.
func (c *checker) webhooks() {
	for _, o := range c.operations() {
		if media, at := c.eventContent(o); len(media) > 0 {
			c.webhook(o, media, at)
		}
	}
}

const eventsPrefix = "application/cloudevents"

// eventContent gives the media types of the request when one is of CloudEvents or the headers describe one.
func (c *checker) eventContent(o operation) (media []string, at string) {
	body, at := c.object(o.object["requestBody"], below(o.at, "requestBody"))
	media = names(child(body, "content"))
	of := func(name string) bool { return strings.HasPrefix(strings.ToLower(name), eventsPrefix) }
	binary := func(f found) bool {
		return text(f.object, "in") == "header" && strings.EqualFold(text(f.object, "name"), "ce-type")
	}
	if !slices.ContainsFunc(media, of) && !slices.ContainsFunc(c.parameters(o), binary) {
		return nil, ""
	}
	return media, below(at, "content")
}

func (c *checker) webhook(o operation, media []string, at string) {
	c.holds("webhook-method", o.method == "post", fixed(o.at), "lint.webhook-method.detail", o.title())
	single := func(name string) bool {
		kind, _, _ := strings.Cut(strings.ToLower(name), ";")
		return strings.TrimSpace(kind) == eventsPrefix+"+json"
	}
	c.holds("webhook-media-type", slices.ContainsFunc(media, single), fixed(at), "lint.webhook-media-type.detail", o.title())
	c.idempotencyKey(o)
	c.webhookAnswers(o)
	c.holds("webhook-security", c.clientCredentials(o), fixed(o.at), "lint.webhook-security.detail", o.title())
}

func (c *checker) idempotencyKey(o operation) {
	c.applies("webhook-idempotency-key")
	for _, p := range c.parameters(o) {
		if text(p.object, "in") == "header" && strings.EqualFold(text(p.object, "name"), "Idempotency-Key") {
			c.holds("webhook-idempotency-key", p.object["required"] == true, fixed(p.at), "lint.webhook-idempotency-key.optional")
			return
		}
	}
	c.fails("webhook-idempotency-key", o.at, "lint.webhook-idempotency-key.detail", o.title())
}

func (c *checker) webhookAnswers(o operation) {
	responses := child(o.object, "responses")
	at := fixed(below(o.at, "responses"))
	_, taken := responses["202"]
	c.holds("webhook-accepted", taken, at, "lint.webhook-accepted.detail", o.title())
	var missing []string
	for _, status := range []string{"400", "409", "422", "429"} {
		_, exact := responses[status]
		_, ranged := responses["4XX"]
		if !exact && !ranged {
			missing = append(missing, status)
		}
	}
	c.holds("webhook-answers", len(missing) == 0, at, "lint.webhook-answers.detail", o.title(), strings.Join(missing, ", "))
	limited, where := c.object(responses["429"], below(o.at, "responses", "429"))
	if limited == nil {
		return
	}
	tells := slices.ContainsFunc(names(child(limited, "headers")), func(n string) bool { return strings.EqualFold(n, "Retry-After") })
	c.holds("webhook-retry-after", tells, fixed(where), "lint.webhook-retry-after.detail")
}

// clientCredentials reports whether each way in asks for OAuth 2 client credentials.
func (c *checker) clientCredentials(o operation) bool {
	ways, own := o.object["security"].([]any)
	if !own {
		ways = items(c.root, "security")
	}
	return len(ways) > 0 && !slices.ContainsFunc(ways, func(way any) bool { return !c.asksCredentials(way) })
}

func (c *checker) asksCredentials(way any) bool {
	object, _ := way.(map[string]any)
	schemes := child(child(c.root, "components"), "securitySchemes")
	return slices.ContainsFunc(names(object), func(name string) bool {
		scheme, _ := c.object(schemes[name], "")
		return text(scheme, "type") == "oauth2" && child(child(scheme, "flows"), "clientCredentials") != nil
	})
}
