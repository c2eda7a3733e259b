package replica

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// described holds what a source's own API document declares of custom downloads of deltas; what it leaves open is empty.
type described struct{ formats, featureTypes []string }

// describe reads the API document that stands beside the API, openapi.json. Few sources have one there: none, or one that cannot
// be read, describes nothing.
func (s *pdok) describe(ctx context.Context) (described, error) {
	if s.described != nil {
		return *s.described, nil
	}
	a, err := s.ask(ctx, http.MethodGet, s.path("openapi.json"), nil)
	if errors.Is(err, ErrAccess) || ctx.Err() != nil {
		return described{}, err
	}
	s.described = &described{}
	var doc any
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &doc) != nil {
		return *s.described, nil
	}
	root := apiNode{root: doc, at: doc}
	paths, _ := root.to("paths").at.(map[string]any)
	for path := range paths {
		if !strings.HasSuffix(path, "/delta/custom") {
			continue
		}
		body := root.to("paths", path, "post", "requestBody", "content", "application/json", "schema", "properties")
		s.described.formats = body.to("format", "enum").texts()
		s.described.featureTypes = body.to("featuretypes", "items", "enum").texts()
	}
	return *s.described, nil
}

// apiNode is a place in an API document.
type apiNode struct{ root, at any }

// to goes down by names of members; references within the document are followed, a few times at most. What is not there is nil.
func (n apiNode) to(names ...string) apiNode {
	for _, name := range names {
		n = n.resolved()
		members, _ := n.at.(map[string]any)
		n.at = members[name]
	}
	return n.resolved()
}

func (n apiNode) resolved() apiNode {
	for range 8 {
		members, _ := n.at.(map[string]any)
		ref, _ := members["$ref"].(string)
		path, local := strings.CutPrefix(ref, "#/")
		if !local {
			return n
		}
		n.at = n.root
		for name := range strings.SplitSeq(path, "/") {
			inner, _ := n.at.(map[string]any)
			n.at = inner[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	return apiNode{root: n.root}
}

// texts are the strings of a list.
func (n apiNode) texts() (out []string) {
	list, _ := n.at.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}
