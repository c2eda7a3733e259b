package outline

import (
	"cmp"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

func (d *document) httpOperations(section, prefix string) []Entry {
	var found []Entry
	paths := child(d.root, section)
	for _, path := range names(paths) {
		item := d.object(paths[path])
		at := "/" + section + "/" + jsonpointer.Escape(path)
		for _, method := range []string{"get", "query", "put", "post", "patch", "delete", "options", "head", "trace"} {
			if operation := child(item, method); operation != nil {
				found = append(found, d.httpOperation(prefix+strings.ToUpper(method)+" "+path, at+"/"+method, item, operation))
			}
		}
		more := child(item, "additionalOperations")
		for _, method := range names(more) {
			if len(found) > maxEntries {
				return found
			}
			found = append(found, d.httpOperation(prefix+method+" "+path, at+"/additionalOperations/"+jsonpointer.Escape(method), item, d.object(more[method])))
		}
	}
	return found
}

func (d *document) httpOperation(name, at string, item, operation map[string]any) Entry {
	return Entry{
		Kind: KindOperation, Name: name, Summary: text(operation, "summary"), Pointer: at, Deprecated: operation["deprecated"] == true,
		detail: func() Detail {
			detail := Detail{Text: text(operation, "description")}
			detail.fact("outline.operation-id", i18n.Raw(text(operation, "operationId")))
			detail.fact("outline.tags", i18n.Raw(words(list(operation, "tags"))))
			detail.fact("outline.security", d.securityOf(operation))
			if table := d.parameters(item, operation); len(table.Fields) > 0 {
				detail.Tables = append(detail.Tables, table)
			}
			if body := d.object(operation["requestBody"]); body != nil {
				d.body(&detail, "outline.request-body", body)
			}
			responses := child(operation, "responses")
			for _, status := range names(responses) {
				d.body(&detail, i18n.M("outline.response", status), d.object(responses[status]))
			}
			return detail
		},
	}
}

func (t *Detail) fact(label, text i18n.Message) {
	if text != "" && text != i18n.Raw("") {
		t.Facts = append(t.Facts, Fact{label, text})
	}
}

func words(values []any) string {
	var list []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return strings.Join(list, ", ")
}

// securityOf gives what a caller needs: any one of the requirements.
func (d *document) securityOf(operation map[string]any) i18n.Message {
	requirements, own := operation["security"].([]any)
	if !own {
		requirements = list(d.root, "security")
	}
	var ways []i18n.Message
	for _, item := range requirements[:min(len(requirements), 20)] {
		requirement, _ := item.(map[string]any)
		var all []i18n.Message
		for _, name := range names(requirement) {
			scopes, _ := requirement[name].([]any)
			all = append(all, i18n.Raw(strings.TrimSpace(name+" "+words(scopes))))
		}
		ways = append(ways, cmp.Or(joined("outline.and", all[:min(len(all), 10)]), "outline.no-security"))
	}
	return joined("outline.or", ways)
}

// joined makes one text of several by a key with two arguments.
func joined(key string, list []i18n.Message) i18n.Message {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	half := len(list) / 2
	return i18n.M(key, joined(key, list[:half]), joined(key, list[half:]))
}

func (d *document) parameters(item, operation map[string]any) Table {
	table, seen := Table{Title: "outline.parameters"}, map[string]bool{}
	for _, value := range append(slices.Clone(list(operation, "parameters")), list(item, "parameters")...) {
		p := d.object(value)
		name := text(p, "name") + " (" + text(p, "in") + ")"
		if p == nil || seen[name] {
			continue
		}
		seen[name] = true
		schema := p["schema"]
		for _, media := range names(child(p, "content")) {
			schema = child(child(p, "content"), media)["schema"]
		}
		table.Fields = append(table.Fields, d.value(name, schema, p))
	}
	return table
}

// value is a parameter or header in one row.
func (d *document) value(name string, schema any, around map[string]any) Field {
	w := &walk{doc: d}
	value, target := d.follow(schema)
	object, _ := value.(map[string]any)
	field := w.field(name, object, around["required"] == true)
	field.Text = cmp.Or(text(around, "description"), field.Text)
	field.Deprecated = field.Deprecated || around["deprecated"] == true
	if strings.HasPrefix(target, "/components/schemas/") {
		field.Ref = target
	}
	return field
}

const maxTables = 60

// body adds the tables of a request or response body.
func (d *document) body(detail *Detail, title i18n.Message, body map[string]any) {
	if len(detail.Tables) > maxTables {
		return
	}
	said := text(body, "description")
	if headers := child(body, "headers"); len(headers) > 0 {
		table := Table{Title: i18n.M("outline.headers-of", title), Text: said}
		said = ""
		for _, name := range names(headers) {
			header := d.object(headers[name])
			table.Fields = append(table.Fields, d.value(name, header["schema"], header))
		}
		detail.Tables = append(detail.Tables, table)
	}
	content := child(body, "content")
	for _, media := range names(content)[:min(len(names(content)), 10)] {
		object := d.object(content[media])
		schema, label := object["schema"], i18n.M("outline.body-as", title, media)
		if schema == nil && object["itemSchema"] != nil {
			schema, label = object["itemSchema"], i18n.M("outline.each-item", label)
		}
		table := d.table(label, schema, "")
		table.Text, said = said, ""
		detail.Tables = append(detail.Tables, table)
		for _, example := range d.examplesOf(object) {
			name := i18n.M("outline.example-of", label)
			if example.name != "" {
				name = i18n.M("outline.example-of-named", label, example.name)
			}
			detail.Examples = append(detail.Examples, Example{name, example.text})
		}
	}
	if len(content) == 0 && said != "" {
		detail.Tables = append(detail.Tables, Table{Title: title, Text: said})
	}
}
