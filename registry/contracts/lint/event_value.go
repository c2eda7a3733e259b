package lint

import (
	"fmt"
	"time"
)

// value is something that an attribute can be, and where the document says so.
type value struct {
	value any
	at    string
}

// values lists the values that a document shows of an attribute: in its schema and in examples.
func (e *event) values(name string) []value {
	var list []value
	for _, f := range e.attributes[name] {
		for _, key := range []string{"const", "default", "example"} {
			if v, ok := f.schema[key]; ok {
				list = append(list, value{v, below(f.at(), key)})
			}
		}
		for _, key := range []string{"enum", "examples"} {
			for i, v := range items(f.schema, key) {
				if i < maxExamples {
					list = append(list, value{v, below(f.at(), key, itoa(i))})
				}
			}
		}
	}
	for _, x := range e.examples {
		if v, ok := x.attributes[name]; ok {
			list = append(list, value{v, x.places[name]})
		}
	}
	return list
}

// example holds an event that is shown whole against the rules for attributes (CE-01 to CE-04, CE-11, CE-19, CE-20).
func (c *checker) example(x example) {
	if x.size > 0 {
		c.holds("event-size", x.size <= maxWire, fixed(x.at), fmt.Sprintf("The example is %d KiB.", x.size>>10))
	}
	for _, name := range names(x.attributes) {
		c.holds("event-attribute-names", isAttributeName(name), fixed(x.places[name]), fmt.Sprintf("%q is no name for an attribute.", short(name)))
		c.holds("event-attributes", isAttributeValue(name, x.attributes[name]), fixed(x.places[name]), fmt.Sprintf("%s is not what it must be.", short(name)))
	}
	if !x.whole {
		return
	}
	for _, name := range []string{"id", "source", "specversion", "type"} {
		c.holds("event-attributes", x.attributes[name] != nil, fixed(x.at), fmt.Sprintf("The example lacks %s.", name))
	}
}

// isAttributeValue reports whether an attribute can be this; null is an attribute that is not set.
func isAttributeValue(name string, v any) bool {
	if v == nil {
		return true
	}
	switch name {
	case "specversion":
		return v == "1.0"
	case "time":
		s, ok := v.(string)
		_, err := time.Parse(time.RFC3339Nano, s)
		return ok && err == nil
	case "id", "source", "type", "subject", "dataschema", "datacontenttype", "dataref":
		s, ok := v.(string)
		return ok && s != ""
	}
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
