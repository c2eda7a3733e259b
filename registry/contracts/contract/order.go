package contract

import (
	"bytes"
	"math"
	"strconv"

	"go.yaml.in/yaml/v4"
	"schakel/registry/jsonpointer"
	"schakel/registry/strictjson"
)

// maxOrdered is the largest document whose order is looked for, in bytes: it takes a second reading and some memory.
const maxOrdered = 3 << 20

// MemberOrder gives the names of the members of objects as they are written, by the JSON Pointer of the object: a Root has
// no order. It has those objects alone whose members people name, such as properties and paths, and is empty for documents of
// more than 3 MiB.
func (d *Document) MemberOrder(size int) map[string][]string {
	o := &orderReader{found: map[string][]string{}}
	switch {
	case size > maxOrdered:
	case d.tree != nil:
		o.yaml(d.tree, "", "", 0)
	case d.Format == FormatJSON:
		o.Scanner = strictjson.Scanner{Buf: d.content, Depth: math.MaxInt}
		if bytes.HasPrefix(d.content, []byte("\ufeff")) {
			o.Pos = len("\ufeff")
		}
		o.json("", "")
	}
	return o.found
}

type orderReader struct {
	strictjson.Scanner
	found map[string][]string
	nodes int
}

// named reports whether people choose the names of the members of what has this name.
func named(key string) bool {
	switch key {
	case "properties", "patternProperties", "paths", "webhooks", "channels", "operations", "messages", "schemas", "parameters", "headers",
		"examples", "example", "payload", "value", "dataValue", "default", "securitySchemes", "servers", "variables", "callbacks", "links", "content", "responses", "flows", "scopes", "mapping":
		return true
	}
	return false
}

// json passes a value that is known to be valid.
func (o *orderReader) json(at, key string) {
	c := o.Peek()
	if c != '{' && c != '[' {
		o.Value()
		return
	}
	closing := c + 2 // in ASCII
	if o.Open(); o.Peek() == closing {
		o.Close()
		return
	}
	var list []string
	for i, more := 0, true; more; i++ {
		name := strconv.Itoa(i)
		if c == '{' {
			o.Peek()
			found, _ := o.Name()
			raw := o.Buf[found.From:found.To]
			if !found.Plain {
				raw, _ = strictjson.Unescape(nil, raw)
			}
			name = string(raw)
			if named(key) {
				list = append(list, name)
			}
		}
		o.json(at+"/"+jsonpointer.Escape(name), name)
		more, _ = o.Next(closing)
	}
	if list != nil {
		o.found[at] = list
	}
}

// maxAliased bounds what aliases repeat.
const maxAliased = 200_000

func (o *orderReader) yaml(n *yaml.Node, at, key string, depth int) {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if o.nodes++; o.nodes > maxAliased || depth > 200 {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		var list []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind == yaml.AliasNode && name.Alias != nil {
				name = name.Alias
			}
			if named(key) {
				list = append(list, name.Value)
			}
			o.yaml(n.Content[i+1], at+"/"+jsonpointer.Escape(name.Value), name.Value, depth+1)
		}
		if list != nil {
			o.found[at] = list
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			o.yaml(item, at+"/"+strconv.Itoa(i), "", depth+1)
		}
	}
}
