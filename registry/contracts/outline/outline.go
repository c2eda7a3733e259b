package outline

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"schakel/registry/contracts/contract"
	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// Kinds of entries.
const (
	KindOperation = "operation"
	KindChannel   = "channel"
	KindMessage   = "message"
	KindSchema    = "schema"
)

// Outline lists the contents of a document without the details.
type Outline struct {
	Servers, Security []Named
	Entries           []Entry // operations, channels, messages and schemas, each by name
	doc               *document
}

// Named is a server or security scheme.
type Named struct {
	Name, Kind string
	Detail     i18n.Message
	Text       string // Markdown
}

// Entry is a part of a document that stands by itself.
type Entry struct {
	Kind, Name, Summary string
	Pointer             string // JSON Pointer
	Deprecated          bool
	detail              func() Detail
}

// Detail holds all that a page shows of an entry.
type Detail struct {
	Text   string // Markdown
	Facts  []Fact
	Links  []Link
	Tables []Table
	// Examples are JSON, or text as it stands.
	Examples []Example
}

// Fact is a property of an entry in a few words.
type Fact struct{ Label, Text i18n.Message }

// Link leads to another entry by its pointer.
type Link struct {
	Label         i18n.Message
	Name, Pointer string
}

// Example is a sample of a message or body.
type Example struct {
	Name i18n.Message
	Text string
}

const maxEntries = 20_000

// Of makes the outline of a document, which need not be valid.
func Of(d *contract.Document) *Outline {
	root, _ := d.Root.(map[string]any)
	o := &Outline{doc: &document{root: root, old: strings.HasPrefix(d.SpecVersion, "2.")}}
	o.Servers, o.Security = o.doc.servers(), o.doc.security()
	if d.Kind == contract.OpenAPI {
		o.add(o.doc.httpOperations("paths", "")...)
		o.add(o.doc.httpOperations("webhooks", "webhook ")...)
	} else if o.doc.old {
		o.add(o.doc.oldAsync()...)
	} else {
		o.add(o.doc.async()...)
	}
	o.add(o.doc.schemas()...)
	return o
}

func (o *Outline) add(entries ...Entry) {
	for _, e := range entries {
		if len(o.Entries) < maxEntries {
			o.Entries = append(o.Entries, e)
		}
	}
}

// Detail gives all of an entry of this outline.
func (o *Outline) Detail(e Entry) Detail {
	if e.detail == nil {
		return Detail{}
	}
	return e.detail()
}

func (d *document) servers() []Named {
	var list []Named
	if servers, ok := d.root["servers"].([]any); ok {
		for _, item := range servers[:min(len(servers), 100)] {
			s := d.object(item)
			list = append(list, Named{Name: cmp.Or(text(s, "name"), text(s, "url")), Kind: "http", Detail: i18n.Raw(text(s, "url")), Text: text(s, "description")})
		}
	}
	servers := child(d.root, "servers")
	for _, name := range names(servers) {
		s := d.object(servers[name])
		address := cmp.Or(text(s, "url"), text(s, "host")+text(s, "pathname"))
		list = append(list, Named{Name: name, Kind: strings.TrimSpace(text(s, "protocol") + " " + text(s, "protocolVersion")), Detail: i18n.Raw(address), Text: text(s, "description")})
	}
	return list
}

func (d *document) security() []Named {
	schemes := child(child(d.root, "components"), "securitySchemes")
	var list []Named
	for _, name := range names(schemes) {
		s := d.object(schemes[name])
		list = append(list, Named{Name: name, Kind: text(s, "type"), Detail: schemeDetail(s), Text: text(s, "description")})
	}
	return list
}

func schemeDetail(s map[string]any) i18n.Message {
	switch text(s, "type") {
	case "http":
		return i18n.Raw(strings.TrimSpace(text(s, "scheme") + " " + text(s, "bearerFormat")))
	case "apiKey", "httpApiKey":
		return i18n.M("outline.key-in", text(s, "name"), text(s, "in"))
	case "openIdConnect":
		return i18n.Raw(text(s, "openIdConnectUrl"))
	case "oauth2":
		var flows []string
		for _, name := range names(child(s, "flows")) {
			flows = append(flows, strings.TrimSpace(name+" "+text(child(child(s, "flows"), name), "tokenUrl")))
		}
		return i18n.Raw(strings.Join(flows, ", "))
	}
	return ""
}

func (d *document) schemas() []Entry {
	schemas := child(child(d.root, "components"), "schemas")
	var list []Entry
	for _, name := range names(schemas) {
		value, at := schemas[name], "/components/schemas/"+jsonpointer.Escape(name)
		object := d.object(value)
		list = append(list, Entry{
			Kind: KindSchema, Name: name, Summary: text(object, "title"), Pointer: at, Deprecated: object["deprecated"] == true,
			detail: func() Detail {
				return Detail{Text: text(object, "description"), Tables: []Table{d.table("outline.fields", value, at)}, Examples: shownExamples(d.examplesOf(object))}
			},
		})
	}
	return list
}

// names lists the members of an object in order, without extensions, as many as are shown.
func names(object map[string]any) []string {
	list := slices.Sorted(maps.Keys(object))
	list = slices.DeleteFunc(list, func(name string) bool { return strings.HasPrefix(name, "x-") })
	return list[:min(len(list), maxEntries)]
}

type document struct {
	root map[string]any
	old  bool // AsyncAPI 2
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 20

// follow gives what a value stands for, with its pointer when a reference led there.
func (d *document) follow(value any) (any, string) {
	at := ""
	for range maxHops {
		object, _ := value.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok {
			return value, at
		}
		pointer, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil, ""
		}
		if decoded, err := url.PathUnescape(pointer); err == nil {
			pointer = decoded
		}
		if value, ok = jsonpointer.Lookup(d.root, pointer); !ok {
			return nil, ""
		}
		at = pointer
	}
	return nil, ""
}

func (d *document) object(value any) map[string]any {
	value, _ = d.follow(value)
	object, _ := value.(map[string]any)
	return object
}

func lastName(pointer string) string {
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func text(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

func child(object map[string]any, key string) map[string]any {
	c, _ := object[key].(map[string]any)
	return c
}

func list(object map[string]any, key string) []any {
	l, _ := object[key].([]any)
	return l[:min(len(l), 500)]
}

const (
	maxExample  = 8_000 // bytes
	maxExamples = 10
)

// sample writes an example as JSON, or as it stands when it is text.
func sample(value any) string {
	s, ok := value.(string)
	if !ok {
		written, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return ""
		}
		s = string(written)
	}
	if len(s) > maxExample {
		s = strings.ToValidUTF8(s[:maxExample], "") + "\n…"
	}
	return s
}

// namedExample is an example with the name that its author gave it, or none.
type namedExample struct{ name, text string }

// shownExamples names examples that stand by themselves.
func shownExamples(list []namedExample) []Example {
	var found []Example
	for _, e := range list {
		name := i18n.Message("outline.example")
		if e.name != "" {
			name = i18n.M("outline.example-named", e.name)
		}
		found = append(found, Example{name, e.text})
	}
	return found
}

// examplesOf collects the examples of a schema, media type or message.
func (d *document) examplesOf(object map[string]any) []namedExample {
	var found []namedExample
	if value, ok := object["example"]; ok {
		found = append(found, namedExample{"", sample(value)})
	}
	for _, item := range list(object, "examples") {
		example, _ := item.(map[string]any)
		value, isMessage := example["payload"]
		if !isMessage {
			value = item
		}
		found = append(found, namedExample{strings.TrimSpace(text(example, "name")), sample(value)})
	}
	examples := child(object, "examples")
	for _, name := range names(examples) {
		if example := d.object(examples[name]); example["value"] != nil {
			found = append(found, namedExample{strings.TrimSpace(name), sample(example["value"])})
		} else if example["dataValue"] != nil {
			found = append(found, namedExample{strings.TrimSpace(name), sample(example["dataValue"])})
		}
	}
	return found[:min(len(found), maxExamples)]
}
