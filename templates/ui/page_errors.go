package templates

import "slices"

// labelled is a field with the words its errors start with in a summary.
type labelled struct{ Name, Label string }

// namedErrors lists what is wrong in the order of the fields, each line with the
// label of its field: several fields can have the same mistake. What is wrong
// with no field, or one that is not listed, comes last.
func namedErrors(wrong map[string]string, fields ...labelled) []FieldError {
	var list []FieldError
	for _, f := range fields {
		if text := wrong[f.Name]; text != "" {
			list = append(list, FieldError{Field: f.Name, Text: f.Label + ": " + text})
		}
	}
	var others []string
	for name, text := range wrong {
		if !slices.ContainsFunc(fields, func(f labelled) bool { return f.Name == name }) {
			others = append(others, text)
		}
	}
	slices.Sort(others)
	for _, text := range others {
		list = append(list, FieldError{Text: text})
	}
	return list
}
