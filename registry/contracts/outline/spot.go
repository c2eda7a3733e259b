package outline

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
)

// spot is a value of the document with its JSON Pointer. The zero spot is nothing.
type spot struct {
	value any
	at    string
}

func (s spot) object() map[string]any {
	object, _ := s.value.(map[string]any)
	return object
}

func (s spot) there() bool { return s.value != nil }

func (s spot) get(keys ...string) spot {
	for _, key := range keys {
		value, ok := s.object()[key]
		if !ok {
			return spot{}
		}
		s = spot{value, s.at + "/" + jsonpointer.Escape(key)}
	}
	return s
}

func (s spot) text(key string) string {
	said, _ := s.object()[key].(string)
	return said
}

func (s spot) number(key string) (float64, bool) {
	written, _ := s.object()[key].(json.Number)
	value, err := written.Float64()
	return value, err == nil
}

func (s spot) is(key string) bool { return s.object()[key] == true }

// maxList bounds the items of a list that are looked at.
const maxList = 500

func (s spot) items() []spot {
	list, _ := s.value.([]any)
	found := make([]spot, 0, min(len(list), maxList))
	for i, item := range list[:min(len(list), maxList)] {
		found = append(found, spot{item, s.at + "/" + strconv.Itoa(i)})
	}
	return found
}

// maxEntries bounds the entries of an outline and the members of an object that are looked at.
const maxEntries = 20_000

type document struct {
	root   spot
	orders map[string][]string // member names as written, by the pointer of their object; may be incomplete
	old    bool                // AsyncAPI 2
	whole  int                 // bytes
}

// names lists the members of an object as its author wrote them, without extensions, as many as are shown.
func (d *document) names(s spot) []string {
	object := s.object()
	list := d.orders[s.at]
	if len(list) != len(object) {
		list = slices.Sorted(maps.Keys(object))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		_, there := object[name]
		return !there || strings.HasPrefix(name, "x-") && !strings.HasSuffix(s.at, "/properties")
	})
	return list[:min(len(list), maxEntries)]
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 20

// follow gives what a value stands for; ref is the pointer that a reference led to, empty without one.
func (d *document) follow(s spot) (found spot, ref string) {
	for range maxHops {
		to, ok := s.object()["$ref"].(string)
		if !ok {
			return s, ref
		}
		pointer, local := strings.CutPrefix(to, "#")
		if !local {
			return spot{}, ""
		}
		if decoded, err := url.PathUnescape(pointer); err == nil {
			pointer = decoded
		}
		value, there := jsonpointer.Lookup(d.root.value, pointer)
		if !there {
			return spot{}, ""
		}
		s, ref = spot{value, pointer}, pointer
	}
	return spot{}, ""
}

func (d *document) target(s spot) spot {
	found, _ := d.follow(s)
	return found
}

func lastName(pointer string) string {
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// slug writes a name as a part of an anchor: lower case letters, digits and dashes.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case r > 127:
			b.WriteString(strconv.FormatInt(int64(r), 36))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > 80 {
			break
		}
	}
	if made := strings.Trim(b.String(), "-"); made != "" {
		return made
	}
	return "-"
}

// anchors gives each place an anchor of its own.
type anchors map[string]int

func (a anchors) of(name string) string {
	a[name]++
	if n := a[name]; n > 1 {
		return a.of(name + "-" + strconv.Itoa(n))
	}
	return name
}
