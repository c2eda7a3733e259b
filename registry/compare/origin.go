package compare

import (
	"reflect"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/getkin/kin-openapi/openapi3"
)

// placer writes into a loaded document where each of its parts comes from. oasdiff hands on line numbers; the numbers here
// count JSON Pointers instead of lines.
type placer struct {
	copier   *copier
	pointers []string
	fields   map[reflect.Type][]field
}

// field is a member of a struct of the loaded document.
type field struct {
	index int
	name  string // of the JSON member; empty for what a wrapper stands for
}

func newPlacer(c *copier) *placer {
	return &placer{copier: c, fields: map[reflect.Type][]field{}}
}

// pointer gives what a line number stands for.
func (p *placer) pointer(line int) string {
	if line < 1 || line > len(p.pointers) {
		return ""
	}
	return p.pointers[line-1]
}

func (p *placer) line(pointer string) int {
	p.pointers = append(p.pointers, pointer)
	return len(p.pointers)
}

// place marks a value and all below it.
func (p *placer) place(value reflect.Value, raw any, at string) {
	for value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return
		}
		if list, ok := mapLike(value); ok {
			p.placeMap(list, raw, at)
			return
		}
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct:
		p.placeStruct(value, raw, at)
	case reflect.Map:
		p.placeMap(value, raw, at)
	case reflect.Slice:
		list, _ := raw.([]any)
		for i := range min(value.Len(), len(list)) {
			p.place(value.Index(i), list[i], at+"/"+strconv.Itoa(i))
		}
	}
}

// mapLike gives the members of the types that hide theirs.
func mapLike(value reflect.Value) (reflect.Value, bool) {
	switch v := value.Interface().(type) {
	case *openapi3.Paths:
		return reflect.ValueOf(v.Map()), true
	case *openapi3.Responses:
		return reflect.ValueOf(v.Map()), true
	}
	return reflect.Value{}, false
}

func (p *placer) placeMap(value reflect.Value, raw any, at string) {
	object, _ := raw.(map[string]any)
	for _, name := range sortedKeys(object) {
		item := value.MapIndex(reflect.ValueOf(name).Convert(value.Type().Key()))
		if item.IsValid() && item.Kind() == reflect.Pointer {
			p.place(item, object[name], at+jsonpointer.Join(name))
		}
	}
}

func (p *placer) placeStruct(value reflect.Value, raw any, at string) {
	object, isObject := raw.(map[string]any)
	if origin := value.FieldByName("Origin"); isObject && origin.IsValid() && origin.CanSet() {
		origin.Set(reflect.ValueOf(p.origin(object, at)))
	}
	for _, f := range p.fieldsOf(value.Type()) {
		member := value.Field(f.index)
		if member.IsZero() {
			continue
		}
		if f.name == "" {
			p.place(member, raw, at)
		} else if below, ok := object[f.name]; ok {
			p.place(member, below, at+"/"+f.name)
		}
	}
}

func (p *placer) origin(object map[string]any, at string) *openapi3.Origin {
	pointer := p.copier.origin(at)
	origin := &openapi3.Origin{Key: &openapi3.Location{Line: p.line(pointer)}}
	for _, name := range sortedKeys(object) {
		origin.Fields = append(origin.Fields, openapi3.Location{Name: name, Line: p.line(p.copier.origin(at + jsonpointer.Join(name)))})
	}
	return origin
}

// fieldsOf gives the members of a struct that may hold marked values.
func (p *placer) fieldsOf(t reflect.Type) []field {
	if list, known := p.fields[t]; known {
		return list
	}
	list := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported() || f.Name == "Origin" || name == "-":
		case name != "" && holds(f.Type):
			list = append(list, field{i, name})
		case !tagged && (f.Name == "Value" || f.Name == "Schema"):
			list = append(list, field{i, ""})
		}
	}
	p.fields[t] = list
	return list
}

func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Struct:
		return true
	}
	return false
}
