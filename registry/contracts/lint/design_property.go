package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// formats holds a property against the rules on time zones.
func (c *checker) formats(p property) {
	format, ok := p.schema["format"].(string)
	if !ok {
		return
	}
	at := func() string { return below(p.at(), "format") }
	if strings.HasPrefix(format, "date-time") {
		c.holds("date-time-timezone", format != "date-time-local", at, fmt.Sprintf("%s is an instant without a time zone.", short(p.name)))
	}
	if strings.HasPrefix(format, "time") {
		c.holds("time-format", format != "time", at, fmt.Sprintf("%s is a time of day with a time zone.", short(p.name)))
	}
}

// dates holds a property that is a date by its name against the rules on dates.
func (c *checker) dates(p property) {
	if !namesDate(p.name) {
		return
	}
	told, other := false, false
	for _, f := range c.forms(p.schema, p.at, 0) {
		format, ok := f.schema["format"].(string)
		if ok && format == "date-time" {
			c.applies("date-omit-time-portion")
			c.fails("date-omit-time-portion", below(f.at(), "format"), fmt.Sprintf("%s is a date by its name and an instant by its format.", short(p.name)))
		}
		told = told || ok || f.schema["const"] != nil || f.schema["enum"] != nil
		other = other || isOther(f.schema)
	}
	if other && !told {
		return
	}
	c.applies("date-omit-time-portion")
	c.holds("date-format", told, p.at, fmt.Sprintf("%s is a date by its name and does not say so.", short(p.name)))
}

// isOther reports whether a schema is of another type than text.
func isOther(schema map[string]any) bool {
	switch kind := schema["type"].(type) {
	case string:
		return kind != "string" && kind != "array" && kind != "null"
	case []any:
		return len(kind) > 0 && !slices.Contains(kind, any("string")) && !slices.Contains(kind, any("array"))
	}
	return schema["properties"] != nil
}

// namesDate reports whether a property is a date by its name: date or datum by itself, or as a later word of it that no word
// for a time of day follows.
func namesDate(name string) bool {
	if name == "date" || name == "datum" {
		return true
	}
	for _, word := range []string{"Date", "Datum", "_date", "_datum", "_Date", "_Datum"} {
		at := strings.LastIndex(name, word)
		if at < 0 || word[0] != '_' && (at == 0 || !isWordByte(name[at-1])) {
			continue
		}
		rest := strings.ToLower(strings.TrimPrefix(name[at+len(word):], "_"))
		for _, time := range []string{"time", "tijd"} {
			if strings.HasPrefix(rest, time) {
				return false
			}
		}
		return true
	}
	return false
}

func isWordByte(b byte) bool {
	return b == '_' || unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
}

// propertyName leaves names be that others chose: those of HAL, JSON-LD, OData and
// CloudEvents.
func (c *checker) propertyName(p property) {
	if strings.ContainsAny(p.name[:min(1, len(p.name))], "_@$") {
		return
	}
	if p.name == "data_base64" || isLowerCamel(p.name) {
		c.applies("property-camel-case")
		return
	}
	c.holds("property-camel-case", false, p.own, fmt.Sprintf("The property %q is not in lower camelCase.", short(p.name)))
}

// isLowerCamel is lowerCamel without an expression: there can be hundreds of thousands of properties.
func isLowerCamel(name string) bool {
	for i := range len(name) {
		b := name[i]
		lower, digit, upper := b >= 'a' && b <= 'z', b >= '0' && b <= '9', b >= 'A' && b <= 'Z'
		if !lower && (i == 0 || !digit && !upper) {
			return false
		}
	}
	return name != ""
}
