package xsd

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry/xmlscan"
)

// component is a definition at the top of a schema. Types, simple or complex, share their names, and so do keys.
type component struct {
	kind string
	name xml.Name
}

// kinds are the kinds of definitions, by the element that makes one.
var kinds = map[string]string{
	"element": "element", "attribute": "attribute", "group": "group", "attributeGroup": "attributeGroup", "simpleType": "type", "complexType": "type",
	"key": "key", "unique": "key",
}

// Namespaces that stand for several. A part without a namespace takes that of each schema which includes it.
const (
	anySpace = "*"
	ofPart   = "+"
)

// complete checks that every name which a schema uses is defined. The compiler would leave an element of an unknown type out, and
// documents be refused for it that are valid.
func complete(files map[string]file) error {
	defined, parts := map[component]bool{}, map[string]bool{}
	for _, f := range files {
		for _, ref := range f.refs {
			parts[ref.target] = parts[ref.target] || ref.kind != "import"
		}
	}
	for name, f := range files {
		define(f.root, f.namespace, defined)
		if f.namespace == "" && parts[name] {
			define(f.root, ofPart, defined)
		}
		define(f.root, anySpace, defined)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		u := uses{defined: defined, anywhere: f.namespace == "" && parts[name]}
		if line, missing := u.missing(f.root, map[string]string{"xml": xmlNamespace}); missing != "" {
			return &LoadError{File: name, Line: line, Text: missing + ", which no schema of the folder defines"}
		}
	}
	return nil
}

// define collects what is defined at the top of a schema, and the keys anywhere in it.
func define(n *xmlscan.Node, namespace string, defined map[component]bool) {
	for _, kid := range n.Kids {
		if kind := kinds[kid.Name.Local]; kid.Name.Space == schemaNamespace && (kind == "key" || n.Name.Local == "schema" || n.Name.Local == "redefine") {
			defined[component{kind, xml.Name{Space: namespace, Local: attribute(kid, "name")}}] = true
		}
		define(kid, namespace, defined)
	}
}

// uses looks for names without a definition.
type uses struct {
	defined  map[component]bool
	anywhere bool
}

// missing returns the first name below an element that nothing defines, with its line. Scope holds the namespaces by prefix.
func (u uses) missing(n *xmlscan.Node, scope map[string]string) (line int, missing string) {
	if n.Name.Space != schemaNamespace || n.Name.Local == "annotation" {
		return 0, ""
	}
	scope = within(n, scope)
	for _, a := range n.Attr {
		if a.Name.Space != "" {
			continue
		}
		for _, name := range strings.Fields(a.Value) {
			if kind := kindOf(n.Name.Local, a.Name.Local); kind != "" && !u.knows(kind, name, scope) {
				return n.Line, fmt.Sprintf("xs:%s names the %s %q", n.Name.Local, kind, name)
			}
		}
	}
	for _, kid := range n.Kids {
		if line, missing := u.missing(kid, scope); missing != "" {
			return line, missing
		}
	}
	return 0, ""
}

// within adds the declarations of an element to those around it.
func within(n *xmlscan.Node, scope map[string]string) map[string]string {
	inner, own := scope, false
	for _, a := range n.Attr {
		if a.Name.Space == "xmlns" || a.Name == (xml.Name{Local: "xmlns"}) {
			if !own {
				inner, own = maps.Clone(scope), true
			}
			inner[strings.TrimPrefix(a.Name.Local, "xmlns")] = a.Value
		}
	}
	return inner
}

// kindOf gives the kind of component that an attribute names; empty when it names none.
func kindOf(element, attribute string) string {
	switch attribute {
	case "type", "base", "itemType", "memberTypes":
		return "type"
	case "substitutionGroup":
		return "element"
	case "refer":
		return "key"
	case "ref":
		return kinds[element]
	}
	return ""
}

func (u uses) knows(kind, name string, scope map[string]string) bool {
	prefix, local, ok := strings.Cut(name, ":")
	if !ok {
		prefix, local = "", name
	}
	space := scope[prefix]
	if space == schemaNamespace || space == xmlNamespace {
		return true // the compiler knows those
	}
	if u.anywhere {
		space = cmp.Or(space, anySpace)
	}
	return u.defined[component{kind, xml.Name{Space: space, Local: local}}] || u.defined[component{kind, xml.Name{Space: ofPart, Local: local}}]
}
