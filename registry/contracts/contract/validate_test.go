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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"schakel/store/needs"
)

// openapi and asyncapi start documents of a version with an info object.
func openapi(version, rest string) string {
	return "openapi: " + version + "\ninfo: {title: T, version: '1'}\n" + rest
}

func asyncapi(version, rest string) string {
	return "asyncapi: " + version + "\ninfo: {title: T, version: '1'}\n" + rest
}

const async3 = `
servers: {s: {host: h, protocol: amqp}}
channels:
  c:
    address: a.{p}
    servers: [{$ref: '#/servers/s'}]
    parameters: {p: {}}
    messages: {m: {payload: {type: object}}}
operations:
  o:
    action: send
    channel: {$ref: '#/channels/c'}
    messages: [{$ref: '#/channels/c/messages/m'}]
`

const async2 = `
servers: {s: {url: h, protocol: amqp, security: [{k: []}]}}
channels:
  c/{p}:
    servers: [s]
    parameters: {p: {schema: {type: string}}}
    publish: {operationId: o, message: {oneOf: [{messageId: m, payload: {type: object}}]}}
components: {securitySchemes: {k: {type: userPassword}}}
`

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"OpenAPI 3.0":            openapi("3.0.0", "paths: {'/a/{b}': {get: {operationId: o, parameters: [{name: b, in: path, required: true, schema: {type: string, pattern: '^(?!x)(?<y>a)\\k<y>\\/$'}}], responses: {200: {description: d}}}}}"),
		"OpenAPI 3.1":            openapi("3.1.0", "webhooks: {w: {post: {security: [{k: []}]}}}\ncomponents: {securitySchemes: {k: {type: mutualTLS}}, schemas: {a: {$anchor: n, $id: 'https://e.x/a', type: [object, 'null'], properties: {default: {$ref: '#n'}, other: {$ref: 'https://e.x/a'}}, example: {$ref: nothing}}}}"),
		"OpenAPI 3.2":            openapi("3.2.0", "$self: https://e.x/self\npaths: {/a: {query: {responses: {default: {description: d}}}, additionalOperations: {LINK: {operationId: l, security: [{'https://e.x/#s': []}]}}}, /b: {$ref: 'https://e.x/self#/paths/~1a'}}"),
		"a dialect of their own": openapi("3.1.0", "jsonSchemaDialect: https://e.x/dialect\npaths: {}\ncomponents: {schemas: {a: {type: 5}}}"),
		"AsyncAPI 2.6":           asyncapi("2.6.0", async2),
		"AsyncAPI 3.0":           asyncapi("3.0.0", async3),
		"AsyncAPI 3.1":           asyncapi("3.1.0", async3),
		"a reference as a key":   asyncapi("3.0.0", "channels: {c: {messages: {m: {payload: {}, bindings: {kafka: {key: {$ref: '#/components/schemas/k'}}}}}}}\ncomponents: {schemas: {k: {type: string}}}"),
		"recursive schema":       openapi("3.1.0", "components: {schemas: {a: {properties: {next: {$ref: '#/components/schemas/a'}}}}}"),
		"callback of a callback": openapi("3.1.0", "paths: {/a: {post: {callbacks: {c: {'{$request.body#/url}': {post: {callbacks: {c: {'{$url}': {post: {}}}}}}}}}}}"),
	} {
		d, findings := parse(t, content)
		if d != nil {
			findings = serious(d.Validate())
		}
		if len(findings) != 0 {
			t.Errorf("%s: %v", name, findings)
		}
	}
}

func TestValidateFinds(t *testing.T) {
	t.Parallel()
	path := func(rest string) string { return openapi("3.1.0", "paths:\n  /a/{b}:\n"+rest) }
	replaced := func(base, from, to string) string {
		if !strings.Contains(base, from) {
			panic("test vector without " + from)
		}
		return strings.Replace(base, from, to, 1)
	}
	three := asyncapi("3.1.0", async3)
	two := asyncapi("2.6.0", async2)
	for _, tt := range []struct{ name, content, want string }{
		{"missing member", "openapi: 3.1.0\ninfo: {version: '1'}\npaths: {}", "schema-required /info 2:1"},
		{"unknown member", openapi("3.1.0", "paths: {}\ntag: []"), "schema-unknown-member /tag 4:1"},
		{"unknown member of 3.0", openapi("3.0.1", "paths: {/a: {gett: {}}}"), "schema-unknown-member /paths/~1a/gett 3:14"},
		{"wrong type", openapi("3.1.0", "paths: []"), "schema-type /paths 3:1"},
		{"wrong schema type", openapi("3.1.0", "components: {schemas: {a: {type: strng}}}"), "schema-value /components/schemas/a/type 3:28"},
		{"wrong schema type in 3.0", openapi("3.0.1", "paths: {}\ncomponents: {schemas: {a: {type: strng}}}"), "schema-value /components/schemas/a/type 4:28"},
		{"wrong schema type in 2.6", replaced(two, "payload: {type: object}", "payload: {type: strng}"), "schema-value /channels/c~1{p}/publish/message/oneOf/0/payload/type 9:74"},
		{"bad pattern", openapi("3.1.0", "components: {schemas: {a: {pattern: '('}}}"), "schema-format /components/schemas/a/pattern 3:28"},
		{"bad name", openapi("3.1.0", "components: {schemas: {'a b': {}}}"), "schema-name /components/schemas/a b 3:24"},
		{"bad name among others", openapi("3.1.0", "tags: [{name: a}, {name: b, description: c}]\nservers: [{url: 'a/{v}', variables: {v: {default: a}}}]\ncomponents: {schemas: {a: {properties: {x: {}}}, 'a b': {}}, responses: {r: {description: d}}}"), "schema-name /components/schemas/a b 5:50"},
		{"bad path", openapi("3.1.0", "paths: {a: {}}"), "schema-unknown-member /paths/a 3:9"},
		{"nothing in it", openapi("3.1.0", ""), "schema-required  1:1"},
		{"both example and examples", openapi("3.0.1", "paths: {/a: {get: {parameters: [{name: a, in: query, schema: {}, example: 1, examples: {}}], responses: {200: {description: d}}}}}"), "schema-not-allowed /paths/~1a/get/parameters/0 3:33"},
		{"one fault deep down", openapi("3.2.0", "tags: [{name: a}]\npaths: {/a: {get: {responses: {'200': {description: d, content: {a/b: {schema: {properties: {x: {minimum: low}}}}}}}}}}"), "schema-type /paths/~1a/get/responses/200/content/a~1b/schema/properties/x/minimum 4:98"},

		{"unresolved reference", openapi("3.1.0", "components: {schemas: {a: {items: {$ref: '#/components/schemas/b'}}}}"), "reference-unresolved /components/schemas/a/items/$ref 3:36"},
		{"unresolved anchor", openapi("3.1.0", "components: {schemas: {a: {items: {$ref: '#b'}}}}"), "reference-unresolved /components/schemas/a/items/$ref 3:36"},
		{"unresolved mapping", openapi("3.1.0", "components: {schemas: {a: {properties: {p: {}}, discriminator: {propertyName: p, mapping: {x: '#/none'}}}}}"), "reference-unresolved /components/schemas/a/discriminator/mapping/x 3:92"},
		{"reference to itself", openapi("3.1.0", "components: {responses: {a: {$ref: '#/components/responses/a'}}}"), "reference-cycle /components/responses/a/$ref 3:30"},
		{"reference outside", openapi("3.1.0", "components: {schemas: {a: {items: {$ref: 'b.yaml#/c'}}}}"), "reference-missing /components/schemas/a/items/$ref 3:36"},
		{"operationId twice", openapi("3.1.0", "paths: {/a: {get: {operationId: x}, put: {operationId: x}}}"), "operation-id-duplicate /paths/~1a/put/operationId 3:43"},
		{"paths alike", openapi("3.1.0", "paths: {'/a/{b}/c': {}, '/a/{d}/c': {}}"), "path-duplicate /paths/~1a~1{d}~1c 3:25"},
		{"undeclared path parameter", path("    get: {}"), "path-parameter-undeclared /paths/~1a~1{b}/get 5:5"},
		{"unused path parameter", path("    parameters: [{$ref: '#/components/parameters/b'}]\n    get: {parameters: [{name: c, in: path, required: true, schema: {}}]}\ncomponents: {parameters: {b: {name: b, in: path, required: true, schema: {}}}}"), "path-parameter-unused /paths/~1a~1{b}/get/parameters/0 6:24"},
		{"parameter twice", openapi("3.1.0", "paths: {/a: {parameters: [{name: q, in: query, schema: {}}, {name: q, in: query, schema: {}}]}}"), "parameter-duplicate /paths/~1a/parameters/1 3:61"},
		{"undeclared security", openapi("3.1.0", "paths: {}\nsecurity: [{k: []}]"), "security-undefined /security/0/k 4:13"},

		{"message of another channel", replaced(three, "messages: [{$ref: '#/channels/c/messages/m'}]", "messages: [{$ref: '#/components/messages/x'}]") + "components: {messages: {x: {}}}", "message-not-of-channel /operations/o/messages/0 15:16"},
		{"channel that is none", replaced(three, "channel: {$ref: '#/channels/c'}", "channel: {$ref: '#/components/channels/c'}") + "components: {channels: {c: {}}}", "operation-channel /operations/o/channel 14:5"},
		{"channel that is not there", replaced(three, "channel: {$ref: '#/channels/c'}", "channel: {$ref: '#/channels/d'}"), "reference-unresolved /operations/o/channel/$ref 14:15"},
		{"undeclared channel parameter", replaced(three, "a.{p}", "a.{p}.{q}"), "channel-parameter-undeclared /channels/c 6:3"},
		{"unused channel parameter", replaced(three, "a.{p}", "a"), "channel-parameter-unused /channels/c/parameters/p 9:18"},
		{"server that is none", replaced(three, "servers: [{$ref: '#/servers/s'}]", "servers: [{$ref: '#/components/servers/s'}]") + "components: {servers: {s: {host: h, protocol: p}}}", "channel-server /channels/c/servers/0 8:15"},
		{"wrong action", replaced(three, "action: send", "action: publish"), "schema-value /operations/o/action 13:5"},
		{"undeclared security in 2.6", replaced(two, "{k: []}", "{l: []}"), "security-undefined /servers/s/security/0/l 4:51"},
		{"undeclared server in 2.6", replaced(two, "servers: [s]", "servers: [t]"), "channel-server /channels/c~1{p}/servers/0 7:15"},
		{"undeclared parameter in 2.6", replaced(two, "c/{p}:", "c/{p}/{q}:"), "channel-parameter-undeclared /channels/c~1{p}~1{q} 6:3"},
		{"operationId twice in 2.6", replaced(two, "    publish:", "    subscribe: {operationId: o}\n    publish:"), "operation-id-duplicate /channels/c~1{p}/subscribe/operationId 9:17"},
		{"messageId twice in 2.6", replaced(two, "oneOf: [", "oneOf: [{messageId: m}, "), "message-id-duplicate /channels/c~1{p}/publish/message/oneOf/1/messageId 9:66"},
		{"event type that is no domain name", asyncapi("3.1.0", "components: {messages: {m: {x-cloudevents-type: enrolled}}}"), "event-type-name /components/messages/m 3:25"},
	} {
		d, findings := parse(t, tt.content)
		if d == nil {
			t.Errorf("%s: refused: %v", tt.name, findings)
			continue
		}
		var got []string
		for _, f := range serious(d.Validate()) {
			got = append(got, fmt.Sprintf("%s %s %d:%d", f.Code, f.Pointer, f.Line, f.Column))
			if f.Detail == "" || f.Remedy == "" {
				t.Errorf("%s: incomplete finding %+v", tt.name, f)
			}
		}
		if !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// serious leaves out what is only told.
func serious(findings []Finding) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Severity == SeverityInfo && f.Code != "findings-cut" })
}

func TestRemedies(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		openapi("3.1.0", "paths: {}\nexternalDoc: {}"):                                                              `Did you mean "externalDocs"?`,
		openapi("3.0.1", "paths: {}\nsevers: []"):                                                                   `Did you mean "servers"?`,
		asyncapi("3.1.0", "operations: {o: {action: publish, channel: {$ref: '#/channels/c'}}}\nchannels: {c: {}}"): `"send", "receive"`,
		openapi("3.1.0", "components: {schemas: {'a b': {}}}"):                                                      `^[a-zA-Z0-9._-]+$`,
		openapi("3.1.0", "security: {}\npaths: {}"):                                                                 "quotes and indentation",
		"swagger: '2.0'": "OpenAPI 3.0 or later",
	} {
		d, findings := parse(t, content)
		if d != nil {
			findings = serious(d.Validate())
		}
		if len(findings) != 1 || !strings.Contains(findings[0].Remedy.String(), want) {
			t.Errorf("%q: got %v, want a remedy with %s", content, findings, want)
		}
	}
}

func TestManyFindingsAreCut(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("components:\n  schemas:\n")
	for i := range 3 * maxFindings {
		fmt.Fprintf(&b, "    s%d: {default: 5, type: string}\n", i)
	}
	d, _ := parse(t, openapi("3.1.0", b.String()+"paths: {/a: {get: {security: [{k: []}]}}}"))
	findings := d.Validate()
	if len(findings) != maxFindings+1 || findings[0].Code != "security-undefined" || findings[maxFindings].Code != "findings-cut" {
		t.Errorf("%d findings, first %+v, last %+v", len(findings), findings[0], findings[len(findings)-1])
	}
}

// A schema is compiled once for documents that come one after the other, and again after a pause.
func TestSchemasAreLetGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &idling{name: "openapi-3.0"}
		var seen []*officialSchema
		for _, pause := range []time.Duration{0, idleAfter - 1, idleAfter - 1, idleAfter + 1} {
			<-time.After(pause)
			synctest.Wait()
			got, err := kept.get()
			must(t, err)
			seen = append(seen, got)
		}
		if seen[0] != seen[1] || seen[1] != seen[2] || seen[2] == seen[3] {
			t.Errorf("compiled anew or kept at the wrong moment: %p", seen)
		}
		<-time.After(idleAfter)
	})
	if _, err := (&idling{name: "openapi-9"}).get(); err == nil {
		t.Error("compiled what is not there")
	}
}

// forms gives the official schemas, by name.
func forms(t testing.TB) map[string]*officialSchema {
	t.Helper()
	list := map[string]*officialSchema{}
	for name, get := range official {
		schema, err := get()
		must(t, err)
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
	needs.Unraced(t)
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(samples(t), "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sample documents: %v", err)
	}
	all := forms(t)
	for i, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
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
	must(t, err)
	read, p := readJSON(written, Limits{}.withDefaults())
	if p != nil {
		t.Fatal(errors.New(p.detail.String()))
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
	needs.Unraced(t)
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

func TestFits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, value, why string
	}{
		{`{}`, `5`, ""},
		{`false`, `5`, "nothing is allowed"},
		{`{"type": "integer"}`, `5.0`, ""},
		{`{"type": ["string", "null"]}`, `5`, "must be string or null"},
		{`{"enum": [1, {"a": [2.0]}]}`, `{"a": [2]}`, ""},
		{`{"const": "a"}`, `"b"`, "one value"},
		{`{"minimum": 5, "exclusiveMaximum": 6}`, `6`, "exclusiveMaximum"},
		{`{"minimum": 5}`, `4.9`, "less than the minimum"},
		{`{"minLength": 2}`, `"é"`, "shorter than 2"},
		{`{"maxLength": 1}`, `"éé"`, "longer than 1"},
		{`{"pattern": "^a+$"}`, `"b"`, "pattern"},
		{`{"pattern": "^(?!b)"}`, `"b"`, ""},
		{`{"minItems": 2}`, `[1]`, "fewer than 2"},
		{`{"maxItems": 0}`, `[1]`, "more than 0"},
		{`{"prefixItems": [{}], "items": {"type": "string"}}`, `[1, 2]`, "at /1 it is number"},
		{`{"required": ["a", "b"], "properties": {"a": {"readOnly": true}}}`, `{"b": 1}`, ""},
		{`{"required": ["a"]}`, `{"b": 1}`, `"a" is missing`},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"b": 1}`, "at /b the member is not known"},
		{`{"patternProperties": {"^b": {}}, "additionalProperties": false}`, `{"b": 1}`, ""},
		{`{"additionalProperties": {"type": "string"}}`, `{"b": 1}`, "at /b"},
		{`{"allOf": [{"type": "string"}]}`, `1`, "must be string"},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `1`, "none of the 2 forms"},
		{`{"oneOf": [{"type": "string"}]}`, `1`, "must be string"},
	} {
		f := newFitter(newResolver(nil), OpenAPI, "3.1")
		got := ""
		if m := f.fits(decoded(t, tt.value), decoded(t, tt.schema), 0); m != nil {
			got = described(m)
		}
		if (got == "") != (tt.why == "") || !strings.Contains(got, tt.why) {
			t.Errorf("%s against %s: got %q, want %q", tt.value, tt.schema, got, tt.why)
		}
	}
}

func described(m *misfit) string {
	if at := m.at(top()).String(); at != "" {
		return "at " + at + " " + m.text().String()
	}
	return m.text().String()
}

func decoded(t testing.TB, content string) any {
	t.Helper()
	value, p := readJSON([]byte(content), Limits{}.withDefaults())
	if p != nil {
		t.Fatal(p.detail)
	}
	return value
}

// FuzzFits holds the fitter against a whole validator: what it says does not fit, must not fit there either.
func FuzzFits(f *testing.F) {
	f.Add(`{"type": ["string", "null"], "enum": ["a", 1.0]}`, `1`)
	f.Add(`{"properties": {"a": {"minimum": 1}}, "required": ["a"], "additionalProperties": false}`, `{"a": 0, "b": []}`)
	f.Add(`{"prefixItems": [{}], "items": {"anyOf": [{"maxLength": 1}, {"const": null}]}, "minItems": 2}`, `[1, "ab"]`)
	f.Add(`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"pattern": "^x"}}}`, `"y"`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, p := readJSON([]byte(schema), small().withDefaults())
		v, q := readJSON([]byte(value), small().withDefaults())
		object, ok := s.(map[string]any)
		if p != nil || q != nil || !ok || strings.Contains(schema, "readOnly") || strings.Contains(schema, "$id") || strings.Contains(schema, "nchor") || strings.Contains(schema, "$schema") {
			return
		}
		m := newFitter(newResolver(object), OpenAPI, "3.1").fits(v, s, 0)
		if m == nil {
			return
		}
		c := jsonschema.NewCompiler()
		c.UseRegexpEngine(ecmaRegexp)
		c.UseLoader(sealed{})
		if err := c.AddResource("https://example.nl/s", s); err != nil {
			return
		}
		compiled, err := c.Compile("https://example.nl/s")
		if err != nil {
			return // no schema at all
		}
		if err := compiled.Validate(v); err == nil {
			written, _ := json.Marshal(v)
			t.Errorf("%s fits %s, but %s", written, schema, described(m))
		}
	})
}
