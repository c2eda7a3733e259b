package contract

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// kindForeign marks what no component can hold, such as a schema in Avro: a reference is replaced by its target.
const kindForeign = "foreign"

// maxInPlace bounds how often something is put in place of a reference, for each can hold more of them.
const maxInPlace = 10_000

// here tracks the copying: the file, the place in the bundle, and the targets being put in place of references.
type here struct {
	file   string
	base   string // the address that references are relative to
	at     string
	inside []target
	// defined are the named types of an Avro schema that are in it already, by what they were put in place of.
	defined map[target]string
}

func (h here) to(token string) here {
	h.at += jsonpointer.Join(token)
	return h
}

// copied gives a value of a file with its references turned to where things stand in the one document.
func (s *assembler) copied(kind string, value any, h here, depth int) any {
	if s.nodes++; s.nodes > s.limits.Nodes || depth > s.limits.Depth || len(h.at) > maxPath {
		s.fault = archiveFault("archive-too-large", h.file, "findings.files-too-large", "findings.files-too-large-remedy")
	}
	if s.fault != nil {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		return s.object(kind, v, h, depth)
	case []any:
		of := kind
		if rest, ok := strings.CutPrefix(kind, "[]"); ok {
			of = rest
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.copied(of, item, h.to(strconv.Itoa(i)), depth+1)
		}
		return list
	}
	return value
}

func (s *assembler) object(kind string, object map[string]any, h here, depth int) any {
	if of, ok := strings.CutPrefix(kind, "{}"); ok {
		copied := make(map[string]any, len(object))
		for _, name := range sortedKeys(object) {
			copied[name] = s.copied(of, object[name], h.to(name), depth+1)
		}
		return copied
	}
	kind = s.narrowed(kind, object)
	if kind == kindForeign && h.defined == nil {
		h.defined = map[target]string{}
	}
	if id, ok := object["$id"].(string); ok && kind == kindSchema {
		id, _, _ = strings.Cut(id, "#")
		h.base = resolveURI(h.base, id)
	}
	if ref, ok := object["$ref"].(string); ok {
		if value, done := s.reference(kind, ref, object, h, depth); done {
			return value
		}
	}
	copied := make(map[string]any, len(object))
	for _, key := range sortedKeys(object) {
		if kind == kindSchema && h.file != s.main && (key == "$id" || key == "$anchor") {
			continue // the schema stands under another address now, and what led here is turned
		}
		copied[key] = s.member(kind, key, object, h.to(key), depth)
	}
	s.external(kind, copied, h)
	return copied
}

// narrowed distinguishes a payload in JSON Schema from one in another language, by its keywords.
func (s *assembler) narrowed(kind string, object map[string]any) string {
	format, said := object["schemaFormat"].(string)
	_, isReference := object["$ref"]
	switch {
	case kind != "payload" || isReference:
		return kind
	case said && object["schema"] != nil && dialectOf(format) == "":
		return kindForeign
	case said && object["schema"] != nil:
		return "multi"
	}
	return kindSchema
}

func (s *assembler) member(kind, key string, object map[string]any, h here, depth int) any {
	value := object[key]
	if isData(key, value) && s.kinds[kind][key] == "" {
		s.nodes += size(value)
		return value
	}
	if text, ok := value.(string); ok && key == "$ref" {
		return s.turned(kind, text, h)
	}
	if key == "discriminator" && kind == kindSchema {
		return s.discriminator(value, h)
	}
	of := s.kinds[kind][key]
	if of == "" && s.kinds[kind]["*"] != "" && !strings.HasPrefix(key, "x-") {
		of = s.kinds[kind]["*"]
	}
	if kind == "multi" && key == "schema" {
		of = kindSchema
	}
	if of == "" {
		of = kindForeign
	}
	if (kind == kindMessage || kind == "messageTrait") && key == "payload" && dialectOf(member(object, "schemaFormat")) == "" {
		of = kindForeign // AsyncAPI 2.6 says it of the message
	}
	return s.copied(of, value, h, depth+1)
}

// structured reports whether a component can hold what a reference leads to: an object or boolean of a JSON or YAML file.
func (s *assembler) structured(to target) bool {
	p := s.parts[to.file]
	if isDocumentName(to.file) {
		return true
	}
	value, _ := jsonpointer.Lookup(p.root, to.pointer)
	_, isObject := value.(map[string]any)
	_, isBool := value.(bool)
	return p.document != nil && (isObject || isBool) && path.Ext(to.file) != ".avsc"
}

// avroName is the full name of a type in Avro, which stands for it after the first time; "" for what has no name there.
func avroName(value any) string {
	object, _ := value.(map[string]any)
	name := member(object, "name")
	switch member(object, "type") {
	case "record", "enum", "fixed", "error":
	default:
		return ""
	}
	if space := member(object, "namespace"); space != "" && name != "" && !strings.Contains(name, ".") {
		return space + "." + name
	}
	return name
}

// reference deals with a whole object that is a reference: done when something is put in its place.
func (s *assembler) reference(kind, ref string, object map[string]any, h here, depth int) (any, bool) {
	to, ok := s.lead(ref, h)
	if !ok || s.fault != nil {
		return nil, s.fault != nil
	}
	if to.file == s.main && h.file == s.main {
		return nil, false
	}
	to.section = s.section(kind)
	if to.section != "" && s.structured(to) {
		return nil, false
	}
	s.changed = true
	if to.file == s.main {
		return map[string]any{"$ref": "#" + fragment(to.pointer)}, true
	}
	if name := h.defined[to]; name != "" {
		return name, true
	}
	if slices.Contains(h.inside, to) {
		s.fault = archiveFault("reference-cycle", h.file, i18n.M("findings.reference-cycle", shorten(ref, 120)), "findings.reference-cycle-remedy")
		return nil, true
	}
	if s.inPlace++; s.inPlace > maxInPlace {
		s.fault = archiveFault("archive-too-large", h.file, i18n.M("findings.references-in-place", maxInPlace), "findings.references-in-place-remedy")
		return nil, true
	}
	value, _ := jsonpointer.Lookup(s.parts[to.file].root, to.pointer)
	s.from(h.at, to)
	if h.defined != nil {
		h.defined[to] = avroName(value)
	}
	inside := here{file: to.file, base: s.parts[to.file].base(to.pointer), at: h.at, inside: append(slices.Clone(h.inside), to), defined: h.defined}
	return s.merged(kind, s.copied(kind, value, inside, depth+1), object, h, depth), true
}

// merged adds what stands beside the reference of a path item, the only place where that counts.
func (s *assembler) merged(kind string, value any, object map[string]any, h here, depth int) any {
	item, ok := value.(map[string]any)
	if !ok || kind != kindPathItem {
		return value
	}
	for _, key := range sortedKeys(object) {
		if key != "$ref" {
			item[key] = s.member(kind, key, object, h.to(key), depth)
		}
	}
	return item
}

// turned gives a reference as it must be in the one document; as it was when it leads to nothing in the zip.
func (s *assembler) turned(kind, ref string, h here) string {
	to, ok := s.lead(ref, h)
	switch {
	case !ok || h.file == s.main && strings.HasPrefix(ref, "#"):
		return ref
	case to.file == s.main:
		s.changed = true
		return "#" + fragment(to.pointer)
	}
	if to.section = s.section(kind); to.section == "" {
		return ref
	}
	s.changed = true
	return "#" + jsonpointer.Join("components", to.section, s.place(kind, to))
}

// fragment writes a pointer as it stands in a URI.
func fragment(pointer string) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "{", "%7B", "}", "%7D", `"`, "%22", "^", "%5E").Replace(pointer)
}

// discriminator turns the mapping, which holds references too.
func (s *assembler) discriminator(value any, h here) any {
	object, ok := value.(map[string]any)
	mapping := child(object, "mapping")
	if !ok || mapping == nil {
		return value
	}
	turned := map[string]any{}
	for _, name := range sortedKeys(mapping) {
		turned[name] = mapping[name]
		if ref, ok := mapping[name].(string); ok && (strings.ContainsAny(ref, "#/") || isDocumentName(ref)) {
			turned[name] = s.turned(kindSchema, ref, h)
		}
	}
	copied := map[string]any{}
	for key, item := range object {
		copied[key] = item
	}
	copied["mapping"] = turned
	return copied
}

// section names the member of components for a kind in this version of the specification; empty where there is none.
func (s *assembler) section(kind string) string {
	d := s.parts[s.main].document
	switch {
	case kind == kindPathItem && d.release == "3.0", kind == kindMediaType && d.release != "3.2", d.Kind == OpenAPI && kind == kindServer:
		return ""
	case d.Kind == AsyncAPI && d.release == "2.6" && kind == kindOperation:
		return ""
	}
	return componentOf(kind)
}
