package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// forms gives the official schemas, by name.
func forms(t testing.TB) map[string]*officialSchema {
	t.Helper()
	list := map[string]*officialSchema{}
	for name, get := range official {
		schema, err := get()
		if err != nil {
			t.Fatal(err)
		}
		list[name] = schema
	}
	return list
}

// sameFindings holds the findings by way of parts of one and of three members against those of the whole document.
func sameFindings(t *testing.T, d *Document, form *jsonschema.Schema, source any) {
	t.Helper()
	for _, size := range []int{1, 3} {
		// Which of two equally likely forms is explained depends on the order of maps.
		for try := 0; ; try++ {
			whole := d.explainParts(form, source, math.MaxInt)
			if len(whole) >= maxPlaced {
				return
			}
			got, all := places(d.explainParts(form, source, size)), places(whole)
			if slices.Equal(got, all) {
				break
			}
			if try == 20 {
				t.Fatalf("findings differ:\nparts %q\nwhole %q", got, all)
			}
		}
	}
}

func places(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, fmt.Sprint(f.Pointer, " ", f.Code, " ", f.Detail))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestPartsAreTheWhole breaks real documents at random places and compares the findings of the parts with those of the whole.
// Rules: EDU-21.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(samples(t), "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sample documents: %v", err)
	}
	all := forms(t)
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d, _, _ := Parse(content, Limits{}); d != nil {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				compareForms(t, d, all, uint64(i), max(1, min(20, 300_000/len(content))))
			})
		}
	}
}

// compareForms compares the findings for a document, and for so many broken copies of it.
func compareForms(t *testing.T, d *Document, all map[string]*officialSchema, seed uint64, times int) {
	name := string(d.Kind) + "-" + d.release
	official := all[name]
	sameFindings(t, d, official.whole, official.source)
	if official.plain != nil {
		sameFindings(t, d, official.plain, official.source)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for range times {
		broken := *d
		broken.Root = clone(t, d.Root)
		for range 1 + random.IntN(4) {
			breakSomewhere(random, broken.Root)
		}
		sameFindings(t, &broken, official.whole, official.source)
	}
}

func clone(t *testing.T, value any) any {
	t.Helper()
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read, p := readJSON(written, Limits{}.withDefaults())
	if p != nil {
		t.Fatal(errors.New(p.detail))
	}
	return read
}

// breakSomewhere changes one member or item somewhere below a value.
func breakSomewhere(random *rand.Rand, value any) {
	odd := []any{nil, true, "x", "", "https://x", json.Number("-1"), json.Number("1.50"), []any{}, []any{"a", "a"}, map[string]any{}, map[string]any{"$ref": "#/x"}, map[string]any{"x-a": 1 > 0}}
	names := []string{"x-new", "new", "type", "$ref", "name", "in", "items", "schema", "content", "examples", "style", "required", "/a/{b}", "a b", "payload", "address", "enum", "minimum"}
	for {
		var below any
		switch v := value.(type) {
		case map[string]any:
			keys := sortedKeys(v)
			if len(keys) == 0 {
				v["new"] = true
				return
			}
			key := keys[random.IntN(len(keys))]
			if below = v[key]; isContainer(below) && random.IntN(6) > 0 {
				break
			}
			switch random.IntN(4) {
			case 0:
				delete(v, key)
			case 1:
				v[names[random.IntN(len(names))]] = v[key]
			case 2:
				v[names[random.IntN(len(names))]] = odd[random.IntN(len(odd))]
			default:
				v[key] = odd[random.IntN(len(odd))]
			}
			return
		case []any:
			if len(v) == 0 {
				return
			}
			i := random.IntN(len(v))
			if below = v[i]; !isContainer(below) || random.IntN(6) == 0 {
				v[i] = odd[random.IntN(len(odd))]
				return
			}
		default:
			return
		}
		value = below
	}
}

// A fault in the last of many members is found, one of the whole is found once, and what one part alone may have is found there.
func TestPartsFindAll(t *testing.T) {
	t.Parallel()
	schemas := map[string]any{}
	for i := range 3*partMembers + 1 {
		schemas[fmt.Sprintf("s%05d", i)] = map[string]any{"type": "string"}
	}
	schemas[fmt.Sprintf("s%05d", 3*partMembers)] = map[string]any{"type": json.Number("5")}
	for name, paths := range map[string]any{"empty": map[string]any{}, "wrong": []any{}} {
		d := &Document{Kind: OpenAPI, release: "3.0", Root: map[string]any{
			"openapi": "3.0.3", "info": map[string]any{"title": "T"}, "paths": paths, "tags": []any{"x"},
			"components": map[string]any{"schemas": schemas, "x-own": map[string]any{"a": true}},
		}}
		got := places(d.checkSchema())
		official := forms(t)["openapi-3.0"]
		want := places(d.explainParts(official.whole, official.source, math.MaxInt))
		if !slices.Equal(got, want) || len(got) < 3 {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func FuzzParts(f *testing.F) {
	addSamples(f, "*.json")
	addSamples(f, "*.yaml")
	all := forms(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		if d, _, err := Parse(content, small()); d != nil && err == nil {
			official := all[string(d.Kind)+"-"+d.release]
			sameFindings(t, d, official.whole, official.source)
		}
	})
}
