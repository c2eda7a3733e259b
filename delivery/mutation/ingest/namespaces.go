package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"schakel/delivery/mutation/format"
)

// Namespaces reads declarations as the store keeps them, a JSON object of prefix to namespace, sorted by prefix.
func Namespaces(text string) ([]format.Namespace, error) {
	if text == "" || text == "{}" {
		return nil, nil
	}
	var pairs map[string]string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, fmt.Errorf("read namespaces: %w", err)
	}
	out := make([]format.Namespace, 0, len(pairs))
	for prefix, uri := range pairs {
		out = append(out, format.Namespace{Prefix: prefix, URI: uri})
	}
	slices.SortFunc(out, func(a, b format.Namespace) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return out, nil
}

// namespacesText writes declarations as the store keeps them.
func namespacesText(list []format.Namespace) string {
	if len(list) == 0 {
		return "{}"
	}
	pairs := make(map[string]string, len(list))
	for _, n := range list {
		pairs[n.Prefix] = n.URI
	}
	text, _ := json.Marshal(pairs) // strings cannot fail
	return string(text)
}
