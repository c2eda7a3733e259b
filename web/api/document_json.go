package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
	"schakel/registry/contracts/contract"
)

// errNotAContract reports that a document cannot be read, so cannot be converted.
var errNotAContract = errors.New("the document cannot be read")

// DocumentToJSON writes a document that contract.Parse accepts as JSON: the same
// values with their members in the order of the document, what YAML aliases
// repeat written out. A document in JSON is answered as it is.
func DocumentToJSON(content []byte) ([]byte, error) {
	document, err := parseDocument(content)
	if err != nil || document.Format == contract.FormatJSON {
		return content, err
	}
	var tree yaml.Node
	if err := yaml.Load(content, &tree); err != nil {
		return nil, fmt.Errorf("load yaml: %w", err)
	}
	w := jsonWriter{}
	if err := w.value(&tree, document.Root, 0); err != nil {
		return nil, err
	}
	return append(w.Bytes(), '\n'), nil
}

func parseDocument(content []byte) (*contract.Document, error) {
	if content == nil {
		return nil, errNotAContract
	}
	document, _, err := contract.Parse(content, contract.Limits{})
	if err == nil && document == nil {
		err = errNotAContract
	}
	return document, err
}

// jsonWriter writes values in the order in which a YAML tree has them.
type jsonWriter struct{ bytes.Buffer }

// value writes value, decoded from node. The values count; the
// tree only gives the order.
func (w *jsonWriter) value(node *yaml.Node, value any, depth int) error {
	node = resolved(node)
	switch v := value.(type) {
	case map[string]any:
		return w.object(node, v, depth)
	case []any:
		return w.list(node, v, depth)
	}
	return w.scalar(value)
}

// resolved is the node behind documents and aliases. contract.Parse has refused
// aliases that refer to themselves.
func resolved(node *yaml.Node) *yaml.Node {
	for node != nil {
		switch {
		case node.Kind == yaml.AliasNode:
			node = node.Alias
		case node.Kind == yaml.DocumentNode && len(node.Content) > 0:
			node = node.Content[0]
		default:
			return node
		}
	}
	return nil
}

func (w *jsonWriter) object(node *yaml.Node, members map[string]any, depth int) error {
	places := map[string]*yaml.Node{}
	names := make([]string, 0, len(members))
	if node != nil && node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := resolved(node.Content[i]).Value
			if _, there := members[name]; there && places[name] == nil {
				names, places[name] = append(names, name), node.Content[i+1]
			}
		}
	}
	// A name that is written another way than it is read, such as 0x1F, comes last.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if places[name] == nil {
			names = append(names, name)
		}
	}
	w.WriteByte('{')
	for i, name := range names {
		w.separate(i, depth+1)
		if err := w.scalar(name); err != nil {
			return err
		}
		w.WriteString(": ")
		if err := w.value(places[name], members[name], depth+1); err != nil {
			return err
		}
	}
	w.end(len(names), depth, '}')
	return nil
}

func (w *jsonWriter) list(node *yaml.Node, items []any, depth int) error {
	w.WriteByte('[')
	for i, item := range items {
		var place *yaml.Node
		if node != nil && node.Kind == yaml.SequenceNode && i < len(node.Content) {
			place = node.Content[i]
		}
		w.separate(i, depth+1)
		if err := w.value(place, item, depth+1); err != nil {
			return err
		}
	}
	w.end(len(items), depth, ']')
	return nil
}

// scalar writes a number as it stands, and text without escapes for HTML.
func (w *jsonWriter) scalar(value any) error {
	encoder := json.NewEncoder(&w.Buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	w.Truncate(w.Len() - 1) // the line end that Encode adds
	return nil
}

func (w *jsonWriter) separate(i, depth int) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.newLine(depth)
}

func (w *jsonWriter) end(count, depth int, closing byte) {
	if count > 0 {
		w.newLine(depth)
	}
	w.WriteByte(closing)
}

func (w *jsonWriter) newLine(depth int) {
	w.WriteByte('\n')
	for range depth {
		w.WriteString("  ")
	}
}
