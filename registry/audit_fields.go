package registry

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"schakel/store"
)

// notTold are columns that follow from a change and need no words of their own.
var notTold = []string{"updated_at", "token_version", "config_version", "decided_at", "decided_by"}

// Changed adds to details in which fields two states of a row differ, by their names in the APIs: "fields", and their values "before" and "after". Of
// the columns in quiet, which hold secrets or more than an entry has room for, it adds the name alone.
func (d Details) Changed(before, after any, quiet ...string) Details {
	var fields []string
	from, to := map[string]any{}, map[string]any{}
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range was.NumField() {
		column := was.Type().Field(i).Tag.Get("db")
		a, b := was.Field(i).Interface(), is.Field(i).Interface()
		if column == "" || slices.Contains(notTold, column) || sameValue(a, b) {
			continue
		}
		name := apiName(column)
		fields = append(fields, name)
		if !slices.Contains(quiet, column) {
			from[name], to[name] = a, b
		}
	}
	d["fields"], d["before"], d["after"] = fields, from, to
	return d
}

// sameValue compares two values of a column; a list that is not there is an empty one.
func sameValue(a, b any) bool {
	if list, ok := a.(store.Strings); ok {
		return slices.Equal(list, b.(store.Strings))
	}
	return reflect.DeepEqual(a, b)
}

// apiName writes the name of a column as the APIs write members: token_url is tokenUrl.
func apiName(column string) string {
	var name strings.Builder
	up := false
	for _, r := range column {
		if up {
			r = unicode.ToUpper(r)
		}
		if up = r == '_'; !up {
			name.WriteRune(r)
		}
	}
	return name.String()
}
