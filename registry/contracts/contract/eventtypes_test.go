package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// envelope is the schema of a CloudEvent with these lines as its type and data.
func envelope(kind, data string) string {
	return "{type: object, properties: {specversion: {const: '1.0'}, id: {type: string}, source: {type: string}, type: " + kind + ", data: " + data + "}}"
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	one := func(message string) string {
		return asyncapi("3.1.0", "components:\n  messages:\n    m: "+message+"\n  schemas: {s: {type: string}, fixed: {const: nl.x.a}}\n  messageTraits: {ce: {headers: {properties: {ce-type: {const: nl.x.trait}}}}}")
	}
	for _, tt := range []struct{ name, content, want string }{
		{"const in the payload", one("{payload: " + envelope("{const: nl.x.a}", "{type: integer}") + "}"), "nl.x.a:integer"},
		{"each value of an enum", one("{payload: " + envelope("{enum: [nl.x.b, nl.x.a]}", "{type: integer}") + "}"), "nl.x.a:integer nl.x.b:integer"},
		{"by reference", one("{payload: " + envelope("{$ref: '#/components/schemas/fixed'}", "{$ref: '#/components/schemas/s'}") + "}"), "nl.x.a:string"},
		{"by allOf", one("{payload: {allOf: [" + envelope("{type: string}", "{type: object}") + ", {properties: {type: {allOf: [{const: nl.x.a}]}, data: {type: object}}}]}}"), "nl.x.a:allOf"},
		{"a form each", one("{payload: {oneOf: [" + envelope("{const: nl.x.a}", "{type: integer}") + ", " + envelope("{const: nl.x.b}", "{type: string}") + "]}}"), "nl.x.a:integer nl.x.b:string"},
		{"header of the HTTP binding", one("{headers: {properties: {ce-type: {const: nl.x.a}}}, payload: {type: integer}}"), "nl.x.a:integer"},
		{"header of the Kafka binding", one("{headers: {properties: {ce_type: {enum: [nl.x.a]}}}, payload: {type: integer}}"), "nl.x.a:integer"},
		{"header of the AMQP binding", one("{headers: {properties: {'cloudEvents:type': {const: nl.x.a}}}, payload: {type: integer}}"), "nl.x.a:integer"},
		{"headers that are the context", one("{headers: " + envelope("{const: nl.x.a}", "{}") + ", payload: {type: integer}}"), "nl.x.a:integer"},
		{"trait", one("{traits: [{$ref: '#/components/messageTraits/ce'}], payload: {type: integer}}"), "nl.x.trait:integer"},
		{"extension", one("{x-cloudevents-type: [nl.x.a, nl.x.b], payload: {type: integer}}"), "nl.x.a:integer nl.x.b:integer"},
		{"example", one("{payload: " + envelope("{type: string}", "{type: integer}") + ", examples: [{payload: {specversion: '1.0', type: nl.x.a}}]}"), "nl.x.a:integer"},
		{"example of a header", one("{payload: {type: integer}, examples: [{headers: {ce-type: nl.x.a}, payload: 5}]}"), "nl.x.a:integer"},
		{"example of the property", one("{payload: " + envelope("{type: string, examples: [nl.x.a]}", "{type: integer}") + "}"), "nl.x.a:integer"},
		{"name", one("{name: nl.x.a, payload: {type: integer}}"), "nl.x.a:integer"},
		{"schema of another kind", one("{name: nl.x.a, payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {type: record}}}"), "nl.x.a:"},
		{"schema with its format", one("{name: nl.x.a, payload: {schemaFormat: 'application/schema+json;version=draft-07', schema: {type: integer}}}"), "nl.x.a:integer"},
		{"event without data", one("{payload: {properties: {specversion: {}, type: {const: nl.x.a}}}}"), "nl.x.a:"},
		{"no event: a type of its own", one("{payload: {properties: {type: {const: person}}}}"), ""},
		{"no event: a name with dots", one("{name: user.signed.up, payload: {type: integer}}"), ""},
		{"key of a channel's message", asyncapi("3.0.0", "channels: {c: {messages: {nl.x.a: {payload: {type: integer}}}}}"), "nl.x.a:integer"},
		{"message of 2.6", asyncapi("2.6.0", "channels: {c: {publish: {message: {oneOf: [{name: nl.x.a, payload: {type: integer}}, {$ref: '#/components/messages/nl.x.b'}]}}}}\ncomponents: {messages: {nl.x.b: {payload: {type: string}}}}"), "nl.x.a:integer nl.x.b:string"},
		{"two messages, one type", asyncapi("3.1.0", "components: {messages: {a: {name: nl.x.a, payload: {type: integer}}, b: {name: nl.x.a, payload: {type: string}}}}"), "nl.x.a:anyOf"},
		{"OpenAPI", openapi("3.1.0", "paths: {}"), ""},
	} {
		d, findings := parse(t, tt.content)
		if d == nil {
			t.Errorf("%s: refused: %v", tt.name, findings)
			continue
		}
		var got []string
		for _, e := range d.EventTypes() {
			got = append(got, e.Type+":"+outline(t, e.Schema))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEventTypesThatMustHaveData(t *testing.T) {
	t.Parallel()
	event := func(more string) string {
		return "{" + more + "type: object, properties: {specversion: {const: '1.0'}, id: {type: string}, source: {type: string}, type: {const: nl.x.a}, data: {type: object}}}"
	}
	for message, want := range map[string]bool{
		"{name: nl.x.a, payload: {type: object}}": true,
		"{name: nl.x.a}":                                                               false,
		"{payload: " + event("") + "}":                                                 false,
		"{payload: " + event("required: [id, data], ") + "}":                           true,
		"{payload: {allOf: [" + event("") + ", {required: [data]}]}}":                  true,
		"{payload: {oneOf: [" + event("required: [data], ") + ", " + event("") + "]}}": false,
	} {
		d, findings := parse(t, asyncapi("3.1.0", "components: {messages: {m: "+message+"}}"))
		if d == nil {
			t.Fatal(findings)
		}
		if types := d.EventTypes(); len(types) != 1 || types[0].DataRequired != want {
			t.Errorf("%s: %+v, want %t", message, types, want)
		}
	}
}

// outline compiles a schema and gives its type, or the keyword that combines others.
func outline(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	if schema == nil {
		return ""
	}
	compileSchema(t, schema)
	var object map[string]any
	must(t, json.Unmarshal(schema, &object))
	for _, key := range []string{"allOf", "anyOf"} {
		if object[key] != nil {
			return key
		}
	}
	return fmt.Sprint(object["type"])
}

func compileSchema(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err == nil {
		err = c.AddResource("schema.json", value)
	}
	must(t, err)
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	return compiled
}

func TestEventTypeMembers(t *testing.T) {
	t.Parallel()
	d, _ := parse(t, asyncapi("3.1.0", `
defaultContentType: application/json
channels:
  c:
    messages:
      enrolled:
        name: Enrolled
        title: An enrolment
        summary: S
        description: D
        x-deprecated: true
        payload: `+envelope("{const: nl.x.enrolled}", "{$ref: '#/components/schemas/student'}")+`
        examples: [{payload: {specversion: '1.0', type: nl.x.other}}, {payload: {specversion: '1.0', type: nl.x.enrolled, data: {name: A}}}]
      plain: {name: nl.x.plain, contentType: text/xml, payload: true}
components:
  schemas:
    student: {type: object, required: [name], properties: {name: {$ref: '#/components/schemas/a~1b'}, friend: {$ref: '#/components/schemas/student'}, $ref: {type: string}, elsewhere: {$ref: 'other.json'}}}
    a/b: {$id: 'https://e.x/name', type: string}
`))
	types := d.EventTypes()
	if len(types) != 2 {
		t.Fatalf("got %v", types)
	}
	e := types[0]
	if e.Type != "nl.x.enrolled" || e.MessageName != "Enrolled" || e.Title != "An enrolment" || e.Summary != "S" || e.Description != "D" ||
		!e.Deprecated || e.ContentType != "application/json" || e.Pointer != "/channels/c/messages/enrolled" {
		t.Errorf("got %+v", e)
	}
	if want := `{"data":{"name":"A"},"specversion":"1.0","type":"nl.x.enrolled"}`; string(e.Example) != want {
		t.Errorf("example %s, want %s", e.Example, want)
	}
	schema := compileSchema(t, e.Schema)
	for data, valid := range map[string]bool{
		`{"name":"A"}`: true, `{"name":"A","friend":{"name":"B"}}`: true, `{"name":"A","elsewhere":[1]}`: true,
		`{}`: false, `{"name":5}`: false, `{"name":"A","friend":{}}`: false, `{"name":"A","$ref":5}`: false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		must(t, err)
		if err := schema.Validate(value); (err == nil) != valid {
			t.Errorf("%s: %v", data, err)
		}
	}
	if types[1].ContentType != "text/xml" || types[1].Deprecated || types[1].Example != nil {
		t.Errorf("got %+v", types[1])
	}
}

func TestEventTypesAreBounded(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range maxEventTypes + 10 {
		names = append(names, fmt.Sprintf("nl.x.t%d", i))
	}
	d, _ := parse(t, asyncapi("3.1.0", "components: {messages: {m: {name: m, payload: "+envelope("{enum: ["+strings.Join(names, ",")+"]}", "{type: object}")+"}, n: {name: nl.x.n}}}"))
	if n := len(d.EventTypes()); n > maxEventTypes {
		t.Errorf("%d event types", n)
	}
	if !slices.ContainsFunc(d.Validate(), func(f Finding) bool { return f.Code == "event-types-too-many" }) {
		t.Error("the cut is not reported")
	}
}
