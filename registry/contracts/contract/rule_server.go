package contract

import (
	"fmt"
	"slices"
	"strings"
)

// checkServerVariables holds the variables of a server against the names in its address, and their values against
// their own enum. It is an error where the specification says must: the enum of OpenAPI from 3.1 on.
func checkServerVariables(r *report, server map[string]any, address string, at *place, enumBinds bool) {
	variables := child(server, "variables")
	used := templateNames(address)
	for _, name := range distinct(used) {
		if _, ok := variables[name]; !ok {
			r.error("server-variable-undeclared", at, fmt.Sprintf("The address of the server has {%s}, but no variable of that name.", shorten(name, 80)),
				"Declare it under variables of the server, with a default.")
		}
	}
	for _, name := range sortedKeys(variables) {
		if !slices.Contains(used, name) && !strings.HasPrefix(name, "x-") {
			r.warn("server-variable-unused", at.to("variables", name), fmt.Sprintf("The variable %q is not part of the address of the server.", shorten(name, 80)),
				"Add it to the address in braces, or remove it.")
		}
		variable, where := r.refs.object(variables[name], at.to("variables", name))
		checkVariable(r, variable, where, enumBinds)
	}
}

func checkVariable(r *report, variable map[string]any, at *place, enumBinds bool) {
	chosen, ok := variable["default"].(string)
	allowed, limited := variable["enum"].([]any)
	if !ok || !limited || slices.Contains(texts(allowed), chosen) {
		return
	}
	severity := SeverityWarning
	if enumBinds {
		severity = SeverityError
	}
	r.add(severity, "server-variable-default", at.to("default").String, fmt.Sprintf("The default %q is not one of the values that enum allows.", shorten(chosen, 80)),
		"Choose one of the values, or add it to enum.")
}

// checkTags reports tags that stand in one list twice.
func checkTags(r *report, owner map[string]any, at *place) {
	first := map[string]bool{}
	for i, value := range items(owner, "tags") {
		tag, _ := r.refs.object(value, nil)
		name, ok := tag["name"].(string)
		if ok && first[name] {
			r.error("tag-duplicate", at.to("tags", fmt.Sprint(i)), fmt.Sprintf("The tag %q stands in this list twice.", shorten(name, 80)), "Keep one of the two.")
		}
		first[name] = ok
	}
}

// checkReferenceKind reports a reference into a section of components that holds something else than is wanted here.
func checkReferenceKind(r *report, kind string, object map[string]any, at *place) {
	ref, ok := object["$ref"].(string)
	section := componentOf(kind)
	if !ok || section == "" {
		return
	}
	list := underRoot(ref, "components")
	if len(list) != 2 || list[0] == section || strings.HasPrefix(list[0], "x-") || strings.HasSuffix(kind, "Trait") {
		return
	}
	r.error("reference-kind", at.to("$ref"), fmt.Sprintf("The reference leads to components/%s, where no %s stands.", shorten(list[0], 40), kindName(kind)),
		"Refer to components/"+section+", or move what it refers to.")
}

// kindName writes a kind in words.
func kindName(kind string) string {
	if kind == "payload" {
		kind = kindSchema
	}
	var words strings.Builder
	for _, c := range kind {
		if c >= 'A' && c <= 'Z' {
			words.WriteByte(' ')
		}
		words.WriteString(strings.ToLower(string(c)))
	}
	return words.String()
}
