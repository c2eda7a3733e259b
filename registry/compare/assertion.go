package compare

import (
	"encoding/json"
	"math/big"
)

// assertion gives the value of a keyword that says something of a value and holds no schema, in the form that the
// comparison can read; ok is false for what it would stumble over and for what only informs.
func assertion(key string, value any) (kept any, ok bool) {
	switch key {
	case "type":
		if list, isList := textList(value); isList {
			return list, len(list) > 0
		}
		return textual(value)
	case "title", "format", "pattern", "contentMediaType", "contentEncoding":
		return textual(value)
	case "required":
		list, isList := textList(value)
		return list, isList && len(list) > 0
	case "enum":
		list, isList := value.([]any)
		return list, isList && len(list) > 0
	case "const", "default":
		return value, true
	case "nullable", "readOnly", "writeOnly", "deprecated", "uniqueItems":
		flag, isFlag := value.(bool)
		return flag, isFlag
	case "minimum", "maximum", "multipleOf":
		n, isNumber := value.(json.Number)
		return n, isNumber
	case "exclusiveMinimum", "exclusiveMaximum":
		_, isNumber := value.(json.Number)
		_, isFlag := value.(bool)
		return value, isNumber || isFlag
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return count(value)
	case "dependentRequired":
		return dependentRequired(value)
	}
	return nil, false
}

func textual(value any) (any, bool) {
	s, ok := value.(string)
	return s, ok && s != ""
}

// textList gives a list that holds texts only.
func textList(value any) ([]any, bool) {
	list, ok := value.([]any)
	for _, item := range list {
		if _, isText := item.(string); !isText {
			return nil, false
		}
	}
	return list, ok
}

// count gives a number of things; JSON may write it as 1.0 or 1e2.
func count(value any) (any, bool) {
	n, ok := value.(json.Number)
	if !ok || len(n) > 20 {
		return nil, false
	}
	exact, ok := new(big.Rat).SetString(n.String())
	if !ok || !exact.IsInt() || exact.Sign() < 0 || !exact.Num().IsInt64() {
		return nil, false
	}
	return exact.Num().Int64(), true
}

func dependentRequired(value any) (any, bool) {
	object, ok := value.(map[string]any)
	kept := map[string]any{}
	for name, list := range object {
		if texts, isList := textList(list); isList {
			kept[name] = texts
		}
	}
	return kept, ok && len(kept) > 0
}
