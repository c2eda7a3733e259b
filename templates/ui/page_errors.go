package ui

import "slices"

// Labelled is a field with the words its errors start with in a summary.
type Labelled [2]string

// NamedErrors lists what is wrong in the order of the fields, each line with the
// label of its field: several fields can have the same mistake. What is wrong
// with no field, or one that is not listed, comes last.
func NamedErrors(wrong map[string]string, fields ...Labelled) []FieldError {
	var list []FieldError
	for _, f := range fields {
		if text := wrong[f[0]]; text != "" {
			list = append(list, FieldError{Field: f[0], Text: f[1] + ": " + text})
		}
	}
	var others []string
	for name, text := range wrong {
		if !slices.ContainsFunc(fields, func(f Labelled) bool { return f[0] == name }) {
			others = append(others, text)
		}
	}
	slices.Sort(others)
	for _, text := range others {
		list = append(list, FieldError{Text: text})
	}
	return list
}
