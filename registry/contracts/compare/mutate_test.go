package compare

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

// TestMutations changes real documents at random places, often into something invalid, and compares them both ways: there
// is always an answer, and it is complete.
func TestMutations(t *testing.T) {
	t.Parallel()
	list := documents(t)
	delete(list, "oas3.1-oeapi-v6.json") // too large to do often
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 15
	if !needs.All() {
		rounds = 4
	}
	for _, name := range sortedKeys(list) {
		for range rounds {
			before := list[name]
			after := mutated(t, random, before)
			for _, pair := range [][2]*contract.Document{{before, after}, {after, before}} {
				changes, err := compareDocuments(pair[0], pair[1])
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, written(after.Root))
				}
				checkComplete(t, pair[0], pair[1], changes)
			}
		}
	}
}

func mutated(t *testing.T, random *rand.Rand, d *contract.Document) *contract.Document {
	t.Helper()
	for {
		var root any
		if err := json.Unmarshal([]byte(written(d.Root)), &root); err != nil {
			t.Fatal(err)
		}
		nodes := collect(root, nil)
		for range 1 + random.IntN(4) {
			mutate(random, nodes)
		}
		if made, _, err := contract.Parse([]byte(written(root)), contract.Limits{}); err == nil && made != nil && made.Kind == d.Kind {
			return made
		}
	}
}

// collect gives all objects and lists.
func collect(value any, to []any) []any {
	switch v := value.(type) {
	case map[string]any:
		to = append(to, v)
		for _, key := range sortedKeys(v) {
			to = collect(v[key], to)
		}
	case []any:
		to = append(to, v)
		for _, item := range v {
			to = collect(item, to)
		}
	}
	return to
}

// mutate takes a member away, or puts something else in its place.
func mutate(random *rand.Rand, nodes []any) {
	strange := []any{nil, true, false, 0.5, -1, 1e9, "", "object", "x", []any{}, []any{"a"}, map[string]any{}, map[string]any{"$ref": "#/components"}, map[string]any{"type": "string"}}
	replacement := strange[random.IntN(len(strange))]
	switch node := nodes[random.IntN(len(nodes))].(type) {
	case map[string]any:
		keys := sortedKeys(node)
		if len(keys) == 0 {
			return
		}
		key := keys[random.IntN(len(keys))]
		if random.IntN(2) == 0 {
			delete(node, key)
		} else {
			node[key] = replacement
		}
	case []any:
		if len(node) > 0 {
			node[random.IntN(len(node))] = replacement
		}
	}
}
