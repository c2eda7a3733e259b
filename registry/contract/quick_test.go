package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// forms gives both forms of each official schema, by name; those for documents with a dialect of their own end in "-plain".
func forms(t testing.TB) map[string]schemaForms {
	t.Helper()
	list := map[string]schemaForms{}
	for name, get := range official {
		schema, err := get()
		if err != nil {
			t.Fatal(err)
		}
		list[name] = schema.whole
		if schema.plain.compiled != nil {
			list[name+"-plain"] = schema.plain
		}
	}
	return list
}

// The quick check must know each keyword of the official schemas, or it is never used.
func TestQuickSchemasKnowAll(t *testing.T) {
	t.Parallel()
	for name, form := range forms(t) {
		if form.quick == nil {
			t.Errorf("%s has a keyword that is not known", name)
		}
	}
	for _, keywords := range []string{
		`"unevaluatedItems":false`, `"const":[1]`, `"enum":[{"a":1}]`, `"items":{"dependentRequired":{"a":["b"]},"not":{"const":{}}}`,
	} {
		source, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"$schema":"https://json-schema.org/draft/2020-12/schema",` + keywords + `}`))
		if err != nil {
			t.Fatal(err)
		}
		form, err := compileSource("odd", source)
		if err != nil || form.quick != nil {
			t.Errorf("%s: %v, quick %v", keywords, err, form.quick)
		}
	}
}

// sameVerdict holds the quick check of a document against the jsonschema package, and the findings by way of it against
// those of the whole document.
func sameVerdict(t *testing.T, d *Document, form schemaForms) {
	t.Helper()
	want := form.compiled.Validate(d.Root) == nil
	if got := form.quick.valid(d.Root, 1<<20); got != want {
		t.Fatalf("the quick check says %v, the whole %v", got, want)
	}
	if want {
		return
	}
	whole := d.explainAll(form.compiled, nil, d.Root)
	if len(whole) >= maxPlaced {
		return
	}
	got, all := places(d.explainBy(form, nil)), places(whole)
	if !slices.Equal(got, all) {
		// Which of two equally likely forms is explained depends on the order of maps.
		for range 20 {
			if slices.Equal(got, all) {
				return
			}
			got, all = places(d.explainBy(form, nil)), places(d.explainAll(form.compiled, nil, d.Root))
		}
		t.Fatalf("findings differ:\nquick %q\nwhole %q", got, all)
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

// TestQuickIsTheWhole breaks real documents at random places and compares the verdicts and findings of both forms.
// Rules: EDU-21.
func TestQuickIsTheWhole(t *testing.T) {
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
				compareForms(t, d, all, uint64(i), max(2, min(40, 600_000/len(content))))
			})
		}
	}
}

// compareForms compares the forms for a document, and for so many broken copies of it.
func compareForms(t *testing.T, d *Document, all map[string]schemaForms, seed uint64, times int) {
	name := string(d.Kind) + "-" + d.release
	sameVerdict(t, d, all[name])
	if plain, ok := all[name+"-plain"]; ok {
		sameVerdict(t, d, plain)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for range times {
		broken := *d
		broken.Root = clone(t, d.Root)
		for range 1 + random.IntN(4) {
			breakSomewhere(random, broken.Root)
		}
		sameVerdict(t, &broken, all[name])
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

// A document that is wrong all over is explained from part of it.
func TestUnsoundIsBounded(t *testing.T) {
	t.Parallel()
	schemas := map[string]any{}
	for i := range 3 * maxUnsound {
		schemas[fmt.Sprintf("s%05d", i)] = map[string]any{"type": json.Number("5")}
		schemas[fmt.Sprintf("t%05d", i)] = map[string]any{"type": "string"}
	}
	root := map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "T", "version": "1"}, "components": map[string]any{"schemas": schemas}}
	left := forms(t)["openapi-3.1"].quick.unsound(root, 1<<20).(map[string]any)
	kept := child(child(left, "components"), "schemas")
	if len(kept) != maxUnsound || kept["s00000"] == nil || kept["t00000"] != nil || len(schemas) != 6*maxUnsound {
		t.Errorf("%d kept of %d", len(kept), len(schemas))
	}
}

func FuzzQuick(f *testing.F) {
	addSamples(f, "*.json")
	addSamples(f, "*.yaml")
	all := forms(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		if d, _, err := Parse(content, small()); d != nil && err == nil {
			sameVerdict(t, d, all[string(d.Kind)+"-"+d.release])
		}
	})
}
