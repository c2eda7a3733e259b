package outline

import (
	"cmp"
	"slices"
	"strings"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// http adds the operations of OpenAPI by tag, then the webhooks.
func (o *Outline) http() {
	d := o.doc
	var tags []string
	byTag := map[string][]Entry{}
	texts := map[string]string{}
	titles := map[string]string{}
	for _, tag := range d.root.get("tags").items() {
		name := tag.text("name")
		if !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
		texts[name] = strings.TrimSpace(tag.text("summary") + "\n\n" + tag.text("description"))
		if docs := tag.get("externalDocs").text("url"); docs != "" {
			texts[name] = strings.TrimSpace(texts[name] + "\n\n" + tag.get("externalDocs").text("description") + " <" + docs + ">")
		}
		if parent := tag.text("parent"); parent != "" {
			titles[name] = parent + " / " + name
		}
	}
	for _, op := range d.operations("paths") {
		list := op.operation.get("tags").items()
		name := ""
		if len(list) > 0 {
			name, _ = list[0].value.(string)
		}
		if _, known := byTag[name]; !known && name != "" && !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
		byTag[name] = append(byTag[name], d.httpEntry(op, KindOperation))
	}
	for _, name := range tags {
		if name != "" {
			o.group(i18n.Raw(cmp.Or(titles[name], name)), texts[name], byTag[name])
		}
	}
	title := i18n.Message("outline.operations")
	if len(o.Groups) > 0 {
		title = "outline.other-operations"
	}
	o.group(title, "", byTag[""])
	var hooks []Entry
	for _, op := range d.operations("webhooks") {
		hooks = append(hooks, d.httpEntry(op, KindWebhook))
	}
	o.group("outline.webhooks", "", hooks)
}

// httpOperation is an operation with the path item that it stands in.
type httpOperation struct {
	method, path    string
	item, operation spot
	at              string // where it stands before references are followed
}

func (d *document) operations(section string) []httpOperation {
	var found []httpOperation
	paths := d.root.get(section)
	for _, path := range d.names(paths) {
		found = append(found, d.ofItem(path, paths.get(path))...)
		if len(found) > maxEntries {
			break
		}
	}
	return found
}

func (d *document) ofItem(path string, at spot) []httpOperation {
	var found []httpOperation
	item := d.target(at)
	for _, method := range []string{"get", "query", "put", "post", "patch", "delete", "options", "head", "trace"} {
		if operation := item.get(method); operation.object() != nil {
			found = append(found, httpOperation{strings.ToUpper(method), path, item, operation, at.at + "/" + method})
		}
	}
	more := item.get("additionalOperations")
	for _, method := range d.names(more) {
		operation := more.get(method)
		found = append(found, httpOperation{method, path, item, d.target(operation), at.at + strings.TrimPrefix(operation.at, item.at)})
	}
	return found
}

func (d *document) httpEntry(op httpOperation, kind string) Entry {
	name := op.method + " " + op.path
	return Entry{
		Kind: kind, Name: name, Method: op.method, Path: op.path, Summary: op.operation.text("summary"), Pointer: op.at,
		Anchor: kind + "-" + name, Deprecated: op.operation.is("deprecated"),
		detail: func(b *builder) Detail { return b.http(op, kind) },
	}
}

// http gives all of an operation. Who is called back reads requests and writes responses.
func (b *builder) http(op httpOperation, kind string) Detail {
	d, operation := b.doc, op.operation
	asked, answered := written, read
	if kind != KindOperation {
		asked, answered = read, written
	}
	detail := Detail{Text: strings.TrimSpace(op.item.text("description") + "\n\n" + operation.text("description"))}
	detail.Facts = fact(detail.Facts, "outline.operation-id", i18n.Raw(operation.text("operationId")))
	if len(operation.get("tags").items()) > 1 {
		detail.Facts = fact(detail.Facts, "outline.tags", i18n.Raw(words(operation.get("tags"))))
	}
	detail.Facts = fact(detail.Facts, "outline.security", d.securityOf(operation))
	for _, servers := range []spot{op.item.get("servers"), operation.get("servers")} {
		for _, s := range servers.items() {
			detail.Facts = fact(detail.Facts, "outline.server", i18n.Raw(s.text("url")))
		}
	}
	docs := d.target(operation.get("externalDocs"))
	detail.Facts = linked(detail.Facts, "outline.more-documentation", docs.text("description"), docs.text("url"))
	detail.Sections = b.parameters(op, asked)
	body := d.target(operation.get("requestBody"))
	var bodies []Sample
	if body.object() != nil {
		title := i18n.Message("outline.request-body")
		if body.is("required") {
			title = "outline.request-body-required"
		}
		section, samples := b.body("request", title, "outline.request", operation.get("requestBody").at, body, asked)
		section.Open = true
		detail.Sections, bodies = append(detail.Sections, section), samples
	}
	detail.Samples = b.requests(op, kind, bodies)
	responses := operation.get("responses")
	statuses := d.names(responses)
	sorted.Stable(statuses, strings.Compare)
	for _, status := range statuses[:min(len(statuses), maxResponses)] {
		at := responses.get(status)
		section, samples := b.body("response-"+slug(status), i18n.M("outline.response", status), i18n.M("outline.response", status), at.at, d.target(at), answered)
		if section.Open = strings.HasPrefix(status, "2"); !section.Open { // what fails is only shown as its author does
			samples = slices.DeleteFunc(samples, func(s Sample) bool { return s.Generated })
		}
		detail.Sections, detail.Samples = append(detail.Sections, section), append(detail.Samples, samples...)
	}
	b.callbacks(&detail, operation)
	return detail
}

const (
	maxResponses = 60
	maxMedia     = 10
	maxCallbacks = 20
)

// parameters lists the operation's and its path's, by their place in a request.
func (b *builder) parameters(op httpOperation, in use) []Section {
	sections, seen := map[string]*Section{}, map[string]bool{}
	for _, at := range append(op.operation.get("parameters").items(), op.item.get("parameters").items()...) {
		p := b.doc.target(at)
		where, name := p.text("in"), p.text("name")
		if name == "" || seen[where+" "+name] {
			continue
		}
		seen[where+" "+name] = true
		if sections[where] == nil {
			sections[where] = &Section{Title: parametersIn(where), Anchor: b.anchorOf(slug(where)), Open: true, Direction: in.direction(), Blocks: []Block{{List: true, Whole: &Node{}}}}
		}
		n := b.value(name, p, b.anchorOf(slug(where+"-"+name)), in)
		n.Pointers = append(n.Pointers, at.at)
		if p.text("style") == "" {
			if style := p.text("collectionFormat"); style != "" {
				n.Rules = append(n.Rules, i18n.M("outline.rule-style", style))
			}
		}
		whole := sections[where].Blocks[0].Whole
		whole.Children = append(whole.Children, n)
	}
	var list []Section
	for _, where := range []string{"path", "query", "querystring", "header", "cookie"} {
		if s := sections[where]; s != nil {
			list = append(list, *s)
		}
	}
	return list
}

func parametersIn(where string) i18n.Message {
	switch where {
	case "path":
		return "outline.parameters-path"
	case "header":
		return "outline.parameters-header"
	case "cookie":
		return "outline.parameters-cookie"
	}
	return "outline.parameters-query"
}

// body gives the section of a request or response body, with what can be sampled of it.
func (b *builder) body(anchor string, title, sampled i18n.Message, at string, body spot, in use) (Section, []Sample) {
	d := b.doc
	s := Section{Title: title, Anchor: b.anchorOf(anchor), Pointers: []string{at, body.at}, Text: body.text("description"), Direction: in.direction()}
	var samples []Sample
	if headers := body.get("headers"); headers.there() {
		s.Blocks = append(s.Blocks, b.headers("outline.headers", headers, s.Anchor, in))
	}
	content := body.get("content")
	for _, media := range d.names(content)[:min(len(d.names(content)), maxMedia)] {
		object := d.target(content.get(media))
		schema, label := object.get("schema"), i18n.Raw(media)
		if !schema.there() && object.get("itemSchema").there() {
			schema, label = object.get("itemSchema"), i18n.M("outline.each-item", media)
		}
		whole := b.schema(schema, b.anchorOf(anchor+"-"+slug(media)), in)
		whole.Pointers = append(whole.Pointers, content.get(media).at)
		s.Blocks = append(s.Blocks, Block{Title: label, Whole: whole})
		s.Codes = code(s.Codes, i18n.M("outline.encoding", media), object.get("encoding"))
		samples = append(samples, b.samples(i18n.M("outline.body-as", sampled, media), s.Anchor, object, schema, media, in)...)
	}
	s.Codes = code(s.Codes, "outline.links", body.get("links"))
	return s, samples
}

func (b *builder) headers(title i18n.Message, headers spot, anchor string, in use) Block {
	whole := &Node{Pointers: []string{headers.at}}
	for _, name := range b.doc.names(headers)[:min(len(b.doc.names(headers)), 100)] {
		at := headers.get(name)
		n := b.value(name, b.doc.target(at), b.anchorOf(strings.TrimPrefix(anchor, b.anchor+".")+"-"+slug(name)), in)
		n.Pointers = append(n.Pointers, at.at)
		whole.Children = append(whole.Children, n)
	}
	return Block{Title: title, List: true, Whole: whole}
}

// callbacks are requests that the provider makes to an address that the caller gave.
func (b *builder) callbacks(detail *Detail, operation spot) {
	all := operation.get("callbacks")
	for _, name := range b.doc.names(all)[:min(len(b.doc.names(all)), maxCallbacks)] {
		callback := b.doc.target(all.get(name))
		for _, expression := range b.doc.names(callback)[:min(len(b.doc.names(callback)), maxCallbacks)] {
			for _, op := range b.doc.ofItem(expression, callback.get(expression)) {
				title := i18n.M("outline.callback", name, op.method, expression)
				anchor := "callback-" + slug(name) + "-" + slug(op.method)
				body := b.doc.target(op.operation.get("requestBody"))
				section, samples := b.body(anchor, title, title, op.at, body, read)
				section.Text = strings.TrimSpace(op.operation.text("summary") + "\n\n" + op.operation.text("description") + "\n\n" + section.Text)
				detail.Sections, detail.Samples = append(detail.Sections, section), append(detail.Samples, samples...)
				responses := op.operation.get("responses")
				for _, status := range b.doc.names(responses)[:min(len(b.doc.names(responses)), maxResponses)] {
					at := responses.get(status)
					answer := i18n.M("outline.callback-response", name, status)
					section, samples := b.body(anchor+"-response-"+slug(status), answer, answer, at.at, b.doc.target(at), written)
					detail.Sections, detail.Samples = append(detail.Sections, section), append(detail.Samples, samples...)
				}
			}
		}
	}
}
