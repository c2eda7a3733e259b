package outline

import (
	"os"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

func read(t testing.TB, content string) *contract.Document {
	t.Helper()
	doc, findings, err := contract.Parse([]byte(content), contract.Limits{})
	if err != nil || doc == nil {
		t.Fatalf("%v %v", err, findings)
	}
	return doc
}

const students = `openapi: 3.1.0
info: {title: Students, version: 1.0.0}
servers: [{url: 'https://api.example.nl/v1', description: Production}]
security: [{key: []}]
paths:
  /students/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, maxLength: 20}}]
    get:
      operationId: getStudent
      summary: One student
      responses:
        '200':
          description: The student.
          headers: {ETag: {schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Student'}, example: {id: "1"}}}
    put:
      security: [{}]
      requestBody: {content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Student'}, {type: object, required: [why], properties: {why: {enum: [a, b]}}}]}}}}
      responses: {'204': {description: Done.}}
components:
  securitySchemes: {key: {type: apiKey, name: X-Key, in: header}}
  schemas:
    Student:
      type: object
      required: [id]
      properties:
        id: {type: string, description: Who it is.}
        friends: {type: array, items: {$ref: '#/components/schemas/Student'}}
        address: {type: object, properties: {street: {type: [string, 'null']}}}
`

func find(t *testing.T, o *Outline, kind, name string) Detail {
	t.Helper()
	for _, e := range o.Entries {
		if e.Kind == kind && e.Name == name {
			return o.Detail(e)
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return Detail{}
}

// written gives tables in one text.
func written(d Detail) string {
	var b strings.Builder
	for _, f := range d.Facts {
		b.WriteString(f.Label.String() + "=" + f.Text.String() + "\n")
	}
	for _, l := range d.Links {
		b.WriteString(l.Label.String() + ">" + l.Name + ">" + l.Pointer + "\n")
	}
	for _, table := range d.Tables {
		b.WriteString("# " + table.Title.String() + ": " + table.Text + "\n")
		for _, f := range table.Fields {
			b.WriteString(f.Name + "|" + f.Type.String() + "|" + f.Ref + "|")
			for i, rule := range f.Rules {
				b.WriteString(strings.Repeat(";", min(i, 1)) + rule.String())
			}
			if f.Required {
				b.WriteString("|required")
			}
			b.WriteString("\n")
		}
	}
	for _, e := range d.Examples {
		b.WriteString("e.g. " + e.Name.String() + "\n")
	}
	return b.String()
}

func wantLines(t *testing.T, d Detail, lines ...string) {
	t.Helper()
	got := written(d)
	for _, line := range lines {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %q in:\n%s", line, got)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	o := Of(read(t, students))
	if len(o.Servers) != 1 || len(o.Security) != 1 || o.Security[0].Detail.String() != "X-Key in header" || len(o.Entries) != 3 {
		t.Fatalf("got %+v", o)
	}
	wantLines(t, find(t, o, KindOperation, "GET /students/{id}"), "Operation id=getStudent", "Security=key", "# Parameters: ",
		"id (path)|string||at most 20 characters|required", "# Response 200: headers: The student.", "|object|/components/schemas/Student|",
		"friends|array of Student||", "address.street|string or null||", "e.g. Response 200: application/json, example")
	wantLines(t, find(t, o, KindOperation, "PUT /students/{id}"), "Security=nothing", "id|string|||required", "why|||one of a, b|required", "# Response 204: Done.")
	wantLines(t, find(t, o, KindSchema, "Student"), "friends[]|object|/components/schemas/Student|")
}

const grades = `asyncapi: 3.0.0
info: {title: Grades, version: 1.0.0}
defaultContentType: application/json
servers: {main: {host: broker.example.nl, protocol: amqp, protocolVersion: '1.0'}}
channels:
  grades:
    address: grades/{school}
    parameters: {school: {description: Its code., enum: [a]}}
    messages:
      given: {$ref: '#/components/messages/given'}
      taken: {payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {type: record}}}
operations:
  sendGrade: {action: send, channel: {$ref: '#/channels/grades'}, messages: [{$ref: '#/channels/grades/messages/given'}]}
components:
  messages:
    given:
      name: nl.example.grade.given
      headers: {type: object, properties: {trace: {type: string}}}
      payload: {type: object, properties: {grade: {type: number, minimum: 1, maximum: 10}}}
      examples: [{name: good, payload: {grade: 9}}]
    unused: {payload: {type: string}}
`

func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	o := Of(read(t, grades))
	wantLines(t, find(t, o, KindOperation, "sendGrade"), "Action=send: you receive these messages", "Channel>grades>/channels/grades",
		"Message>nl.example.grade.given>/components/messages/given")
	wantLines(t, find(t, o, KindChannel, "grades"), "Address=grades/{school}", "school|||one of a", "Message>taken>/channels/grades/messages/taken")
	wantLines(t, find(t, o, KindMessage, "nl.example.grade.given"), "Content type=application/json", "trace|string||", "grade|number||at least 1;at most 10", "e.g. Example good")
	wantLines(t, find(t, o, KindMessage, "taken"), "Schema format=application/vnd.apache.avro;version=1.9.0", "e.g. Schema of the payload")
	find(t, o, KindMessage, "unused")
	old := Of(read(t, `asyncapi: 2.6.0
info: {title: Old, version: 1.0.0}
channels:
  grades:
    subscribe: {message: {oneOf: [{name: a, payload: {type: string}}, {name: b}]}}
    publish: {message: {$ref: '#/components/messages/c'}}
components: {messages: {c: {payload: {type: integer}, traits: [{title: From a trait}]}}}
`))
	wantLines(t, find(t, old, KindOperation, "subscribe grades"), "Message>a>/channels/grades/subscribe/message/oneOf/0", "Action=subscribe: you receive these messages")
	wantLines(t, find(t, old, KindMessage, "c"), "|integer||")
}

// TestHostile: circles, deep nesting and bombs end soon and stay small.
func TestHostile(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths: {}\nx-s:\n")
	for i := range 30 {
		next := "#/x-s/s" + short(i+1)
		bomb.WriteString("  s" + short(i) + ": {properties: {a: {$ref: '" + next + "'}, b: {$ref: '" + next + "'}, c: {allOf: [{$ref: '" + next + "'}, {$ref: '" + next + "'}]}}}\n")
	}
	bomb.WriteString("  s30: {type: string}\ncomponents: {schemas: {Bomb: {allOf: [{$ref: '#/x-s/s0'}]}, Self: {$ref: '#/components/schemas/Self'}, In: {properties: {a: {allOf: [{$ref: '#/components/schemas/In'}]}}}, Odd: {required: 3, enum: {}, properties: [], type: {}, items: [1], oneOf: [1, null, {$ref: 5}, {$ref: 'https://x.example/y'}]}, No: 7}}\n")
	o := Of(read(t, bomb.String()))
	for _, e := range o.Entries {
		for _, table := range o.Detail(e).Tables {
			if len(table.Fields) > maxFields+1 {
				t.Errorf("%s has %d fields", e.Name, len(table.Fields))
			}
		}
	}
}

// all builds every detail of a document, as its pages do.
func all(doc *contract.Document) {
	o := Of(doc)
	for _, e := range o.Entries {
		o.Detail(e)
	}
}

func TestRealDocuments(t *testing.T) {
	t.Parallel()
	n := 0
	for _, kind := range []string{"oas", "asyncapi"} {
		for _, file := range needs.Files(t, "contracts", kind) {
			content, err := os.ReadFile(file)
			if err != nil || len(content) == 0 || len(content) > 1<<20 {
				continue
			}
			if doc, _, _ := contract.Parse(content, contract.Limits{}); doc != nil {
				n++
				all(doc)
			}
		}
	}
	if n == 0 {
		t.Error("no real document could be read")
	}
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(students))
	f.Add([]byte(grades))
	f.Fuzz(func(_ *testing.T, content []byte) {
		if doc, _, err := contract.Parse(append([]byte{}, content...), contract.Limits{Bytes: 20_000, Nodes: 5_000}); err == nil && doc != nil {
			all(doc)
		}
	})
}
