package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

// TestHostile: documents that lead round in circles, or that grow when references are followed, are answered in time.
func TestHostile(t *testing.T) {
	t.Parallel()
	schemas := func(list string) string {
		return `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"","content":{
			"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}}}},"components":{"schemas":{` + list + `}}}`
	}
	var doubling, tripling, dense []string
	for i := range 60 {
		doubling = append(doubling, fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}],"properties":{"p%d":{"type":"X"}}}`, i, i+1, i+1, i))
		tripling = append(tripling, fmt.Sprintf(`"S%d":{"properties":{"a":{"$ref":"#/components/schemas/S%[2]d"},"b":{"$ref":"#/components/schemas/S%[2]d"},"c":{"$ref":"#/components/schemas/S%[2]d"}}}`, i, i+1))
		var properties []string
		for j := range 60 {
			properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/S%d"}`, j, j))
		}
		dense = append(dense, fmt.Sprintf(`"S%d":{"type":"object","x-x":"X","properties":{%s,"q":{"type":"X"}}}`, i, strings.Join(properties, ",")))
	}
	doubling = append(doubling, `"S60":{"type":"object","properties":{"a":{"type":"X"}}}`)
	tripling = append(tripling, `"S60":{"type":"object","properties":{"a":{"type":"X"}}}`)
	for name, content := range map[string]string{
		"self":             schemas(`"S0":{"$ref":"#/components/schemas/S0"},"x":{"type":"X"}`),
		"circle":           schemas(`"S0":{"$ref":"#/components/schemas/S1"},"S1":{"$ref":"#/components/schemas/S0"}`),
		"self in allOf":    schemas(`"S0":{"allOf":[{"$ref":"#/components/schemas/S0"}],"type":"X"}`),
		"circle in allOf":  schemas(`"S0":{"allOf":[{"$ref":"#/components/schemas/S1"}]},"S1":{"allOf":[{"$ref":"#/components/schemas/S0"}],"properties":{"a":{"type":"X"}}}`),
		"self below":       schemas(`"S0":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/S0"},"a":{"type":"X"}}}`),
		"self in oneOf":    schemas(`"S0":{"oneOf":[{"$ref":"#/components/schemas/S0"},{"type":"X"}]}`),
		"self in items":    schemas(`"S0":{"type":"array","items":{"$ref":"#/components/schemas/S0"},"title":"X","maxItems":1}`),
		"whole document":   schemas(`"S0":{"properties":{"a":{"$ref":"#"},"b":{"type":"X"}}}`),
		"into itself":      schemas(`"S0":{"properties":{"a":{"$ref":"#/components/schemas/S0/properties/b"},"b":{"properties":{"c":{"$ref":"#/components/schemas/S0/properties/a"}},"type":"X"}}}`),
		"doubling":         schemas(strings.Join(doubling, ",")),
		"tripling":         schemas(strings.Join(tripling, ",")),
		"dense":            schemas(strings.Join(dense, ",")),
		"path item circle": `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"$ref":"#/paths/~1b"},"/b":{"$ref":"#/paths/~1a"}},"x":"X"}`,
		"callback circle":  `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"post":{"summary":"X","callbacks":{"c":{"{$url}":{"$ref":"#/paths/~1a"}}},"responses":{}}}}}`,
		"strange":          `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/-/0":{"get":{"responses":{"2XX":{"description":"","content":{"x":{"schema":{"maxLength":-1,"minimum":"X","type":[],"enum":{},"required":"a","properties":[],"items":5}}}}}}}},"webhooks":{"w":{"post":{}}}}`,
	} {
		before, after := strings.ReplaceAll(content, `"X"`, `"string"`), strings.ReplaceAll(content, `"X"`, `"integer"`)
		start := time.Now()
		old, new := parse(t, before), parse(t, after)
		changes, err := compareDocuments(old, new)
		if err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		checkComplete(t, old, new, changes)
		if took := time.Since(start); err != nil || took > time.Minute {
			t.Errorf("%s: %v after %v", name, err, took)
		}
		t.Logf("%s: %d changes, %v, %v", name, len(changes), err, time.Since(start))
	}
}

// FuzzDocuments: whatever can be parsed can be compared, and a document has no changes from itself.
func FuzzDocuments(f *testing.F) {
	f.Add(api(`{"type":"object","properties":{"a":{"$ref":"#/components/schemas/S"}}}`, "{}"), api("false", `{"allOf":[{"type":"string"}]}`))
	f.Add(events("send", "{payload: {type: object, properties: {a: {enum: [x]}}}}"), events("receive", "{payload: {items: [true], dependencies: {a: [b]}}}"))
	f.Add(document("webhooks: {w: {post: {security: [{o: [a]}], responses: {'200': {}}}}}"), document("paths: {/a: {additionalOperations: {COPY: {}}, servers: [{url: x}]}}"))
	f.Fuzz(func(t *testing.T, a, b string) {
		limits := contract.Limits{Bytes: 20_000, Nodes: 5_000, Depth: 50}
		old, _, err := contract.Parse([]byte(a), limits)
		if err != nil || old == nil {
			t.Skip("not a document")
		}
		new, _, err := contract.Parse([]byte(b), limits)
		if err != nil || new == nil {
			t.Skip("not a document")
		}
		changes, err := compareDocuments(old, new)
		if err != nil && !errors.Is(err, ErrTooLarge) && !contract.HasErrors(append(old.Validate(), new.Validate()...)) {
			t.Fatalf("valid documents: %v", err)
		}
		checkComplete(t, old, new, changes)
		if changes, err := compareDocuments(old, old); err == nil && len(changes) > 0 {
			t.Errorf("changes from itself: %v", brief(changes))
		}
	})
}

// compareDocuments is Documents with time enough on any machine: what a test finds must not hang on a clock.
func compareDocuments(old, new *contract.Document) ([]Change, error) {
	return within(time.Hour, old, new)
}

func TestDocumentsEndsInTime(t *testing.T) {
	t.Parallel()
	old, new := parse(t, api(`{"type":"string"}`, "{}")), parse(t, api(`{"type":"integer"}`, "{}"))
	if _, err := within(time.Nanosecond, old, new); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that the time was over", err)
	}
	if changes, err := Documents(old, new); err != nil || len(changes) == 0 {
		t.Errorf("%v, %v", changes, err)
	}
}

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
		must(t, json.Unmarshal([]byte(written(d.Root)), &root))
		nodes := collect(root, nil)
		for range 1 + random.IntN(4) {
			mutate(random, nodes)
		}
		if made, _, err := contract.Parse([]byte(written(root)), contract.Limits{}); err == nil && made != nil && made.Kind == d.Kind {
			return made
		}
	}
}

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
