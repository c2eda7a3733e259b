package outline

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"schakel/templates/i18n"
)

// write writes a value of the document, or one that was made, as JSON with its members in order.
func (d *document) write(value any, at string) string {
	var b bytes.Buffer
	d.append(&b, value, at, "\n")
	return cut(b.String(), maxSample)
}

func (d *document) append(b *bytes.Buffer, value any, at, indent string) {
	if b.Len() > maxSample {
		return
	}
	inner := indent + "  "
	item := func(i int, closing bool) {
		switch {
		case closing && i == 0:
		case closing:
			b.WriteString(indent)
		case i > 0:
			b.WriteString("," + inner)
		default:
			b.WriteString(inner)
		}
	}
	switch v := value.(type) {
	case []member:
		b.WriteByte('{')
		for i, m := range v {
			item(i, false)
			b.WriteString(quoted(m.name) + ": ")
			d.append(b, m.value, "", inner)
		}
		item(len(v), true)
		b.WriteByte('}')
	case map[string]any:
		b.WriteByte('{')
		s := spot{v, at}
		list := d.names(s)
		if len(list) < len(v) { // names leaves out extensions, which an example may have
			list = list[:0]
			for name := range v {
				list = append(list, name)
			}
			slices.Sort(list)
		}
		for i, name := range list {
			item(i, false)
			b.WriteString(quoted(name) + ": ")
			d.append(b, v[name], s.get(name).at, inner)
		}
		item(len(list), true)
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, one := range v {
			item(i, false)
			d.append(b, one, "", inner)
		}
		item(len(v), true)
		b.WriteByte(']')
	default:
		b.WriteString(quoted(v))
	}
}

// quoted writes a simple value as JSON, without escapes that only HTML asks for.
func quoted(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sample writes a part of the document as JSON, or as it stands when it is text.
func sample(value any) string {
	if s, ok := value.(string); ok {
		return cut(s, maxSample)
	}
	return (&document{}).write(value, "")
}

// example is a value with the name and text that its author gave it.
type example struct{ name, text, code string }

// examplesOf collects the examples of a parameter, media type or schema.
func (d *document) examplesOf(s spot) []example {
	var found []example
	add := func(name, text string, value spot) {
		if value.there() && len(found) < maxSamples {
			found = append(found, example{strings.TrimSpace(name), text, d.code(value)})
		}
	}
	add("", "", s.get("example"))
	for _, item := range s.get("examples").items() {
		add("", "", item)
	}
	examples := s.get("examples")
	for _, name := range d.names(examples) {
		e := d.target(examples.get(name))
		said := strings.TrimSpace(e.text("summary") + "\n\n" + e.text("description"))
		switch {
		case e.get("serializedValue").there():
			add(name, said, e.get("serializedValue"))
		case e.get("dataValue").there():
			add(name, said, e.get("dataValue"))
		case e.get("value").there():
			add(name, said, e.get("value"))
		case e.get("externalValue").there():
			add(name, said, e.get("externalValue"))
		}
	}
	return found
}

func (d *document) code(s spot) string {
	if text, ok := s.value.(string); ok {
		return cut(text, maxSample)
	}
	return d.write(s.value, s.at)
}

// samples gives the examples of a body, or one that is made where its author gave none.
func (b *builder) samples(title i18n.Message, group string, around, schema spot, media string, in use) []Sample {
	var list []Sample
	given := b.doc.examplesOf(around)
	if target := b.doc.target(schema); len(given) == 0 && target.at != around.at {
		given = b.doc.examplesOf(target)
	}
	for _, e := range given {
		list = append(list, Sample{Title: title, Name: e.name, Group: group, Text: e.text, Code: e.code})
	}
	if len(list) > 0 {
		return list
	}
	value, ok := b.made(schema, in)
	if !ok {
		return nil
	}
	said := ""
	switch {
	case strings.Contains(media, "json") || media == "*/*" || media == "":
		said = b.doc.write(value, "")
	case media == "application/x-www-form-urlencoded":
		said = form(value)
	case strings.HasPrefix(media, "text/"):
		said, _ = value.(string)
	}
	if said == "" {
		return nil
	}
	return []Sample{{Title: title, Group: group, Code: said, Generated: true}}
}

func form(value any) string {
	members, _ := value.([]member)
	var pairs []string
	for _, m := range members {
		pairs = append(pairs, url.QueryEscape(m.name)+"="+url.QueryEscape(strings.Trim(quoted(m.value), `"`)))
	}
	return strings.Join(pairs, "&")
}
