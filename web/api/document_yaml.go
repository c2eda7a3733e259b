package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
	"schakel/registry/contracts/contract"
)

// DocumentToYAML writes a document that contract.Parse accepts as YAML: the same
// values with their members in the order of the document. A document in YAML is
// answered as it is. Text that any reader of YAML 1.1 or 1.2 could take for
// something else is quoted.
func DocumentToYAML(content []byte) ([]byte, error) {
	document, err := parseDocument(content)
	if err != nil || document.Format == contract.FormatYAML {
		return content, err
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	decoder.UseNumber()
	tree, err := yamlTree(decoder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	// JSON is YAML too: better plain than wrong.
	if again, err := parseDocument(out.Bytes()); err != nil || !reflect.DeepEqual(again.Root, document.Root) {
		return content, nil
	}
	return out.Bytes(), nil
}

// yamlTree reads one JSON value; the document was parsed before, so its depth is
// bounded.
func yamlTree(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	switch v := token.(type) {
	case json.Delim:
		return yamlCollection(decoder, v)
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Style: textStyle(v)}, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(v.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
}

func yamlCollection(decoder *json.Decoder, open json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if open == '{' {
		node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	// In an object names and values take turns as tokens, as they do in a node.
	for decoder.More() {
		item, err := yamlTree(decoder)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, item)
	}
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	return node, nil
}

// textStyle leaves only text bare that no reader of YAML takes for anything else,
// and shows text of several lines as such where that keeps every character.
func textStyle(text string) yaml.Style {
	switch {
	case bareText(text):
		return 0
	case strings.Contains(text, "\n") && blockText(text):
		return yaml.LiteralStyle
	}
	return yaml.DoubleQuotedStyle
}

func bareText(text string) bool {
	switch strings.ToLower(text) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("$_/", c) >= 0
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte(" .()-", c) < 0) {
			return false
		}
	}
	return len(text) <= 200 && !strings.HasSuffix(text, " ")
}

func blockText(text string) bool {
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Contains(text, " \n") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r >= 0xfffe
	})
}
