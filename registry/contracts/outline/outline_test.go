package outline

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/contract"
	"schakel/store/needs"
)

func parsed(t testing.TB, content string) *contract.Document {
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
	for i, e := range o.Entries {
		if e.Kind == kind && e.Name == name {
			return o.Page([]int{i})[0]
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return Detail{}
}

// shown gives a detail in one text.
func shown(d Detail) string {
	var b strings.Builder
	for _, f := range d.Facts {
		b.WriteString(f.Label.String() + "=" + f.Text.String() + "\n")
	}
	for _, l := range d.Links {
		b.WriteString(l.Label.String() + ">" + l.Name + ">" + l.Pointer + "\n")
	}
	for _, s := range d.Sections {
		b.WriteString("# " + s.Title.String() + ": " + s.Text + "\n")
		for _, block := range s.Blocks {
			b.WriteString("## " + block.Title.String() + "\n")
			nodes(&b, block.Whole, "")
		}
		for _, c := range s.Codes {
			b.WriteString(c.Label.String() + "\n")
		}
	}
	for _, s := range d.Samples {
		b.WriteString("e.g. " + s.Label().String() + "\n" + s.Code + "\n")
	}
	return b.String()
}

func nodes(b *strings.Builder, n *Node, indent string) {
	b.WriteString(indent + n.Name + n.Label.String() + "|" + n.Type.String() + "|" + n.Ref + "|")
	for i, rule := range n.Rules {
		b.WriteString(strings.Repeat(";", min(i, 1)) + rule.String())
	}
	for said, is := range map[string]bool{"|required": n.Required, "|again": n.Again} {
		if is {
			b.WriteString(said)
		}
	}
	b.WriteString("\n")
	for _, c := range n.Children {
		nodes(b, c, indent+" ")
	}
}

func wantLines(t *testing.T, d Detail, lines ...string) {
	t.Helper()
	got := shown(d)
	for _, line := range lines {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %q in:\n%s", line, got)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	o := made(parsed(t, students))
	if len(o.Servers) != 1 || len(o.Security) != 1 || o.Security[0].Detail.String() != "X-Key in header" || len(o.Entries) != 3 {
		t.Fatalf("got %+v", o)
	}
	wantLines(t, find(t, o, KindOperation, "GET /students/{id}"), "Operation id=getStudent", "Security=key", "# Path parameters: ",
		" id|string||at most 20 characters|required", "# Response 200: The student.", "|object|/components/schemas/Student|", "## application/json",
		" friends|array of Student|/components/schemas/Student||again", "  street|string or null||", "e.g. curl command", "curl 'https://api.example.nl/v1/students/id' \\", "  --header \"X-Key: $KEY\" \\",
		"e.g. Response 200: application/json")
	wantLines(t, find(t, o, KindOperation, "PUT /students/{id}"), "Security=nothing", " id|string|||required", " why|||one of a, b|required", "# Response 204: Done.", "  --header 'Content-Type: application/json' \\",
		`  "why": "a"`)
	wantLines(t, find(t, o, KindSchema, "Student"), " friends|array of Student|/components/schemas/Student||again")
}

// Reads and writes: the members that the other side alone writes are left out.
func TestUses(t *testing.T) {
	t.Parallel()
	o := made(parsed(t, `openapi: 3.1.0
info: {title: x, version: '1'}
paths:
  /a:
    post:
      tags: [first]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S'}}}}
      responses: {'200': {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/S'}}}}}
      callbacks: {done: {'{$request.body#/url}': {post: {requestBody: {content: {application/json: {schema: {type: string}}}}, responses: {'204': {description: Thanks.}}}}}}
webhooks: {changed: {post: {responses: {'200': {description: x}}}}}
components: {schemas: {S: {discriminator: {propertyName: k, mapping: {a: '#/components/schemas/A'}}, oneOf: [{$ref: '#/components/schemas/A'}], properties: {z: {type: string, readOnly: true}, secret: {type: string, writeOnly: true}, b: {type: array, items: {type: object, properties: {c: {type: integer, minimum: 3}}}}}},
  A: {type: object, additionalProperties: false, properties: {k: {const: a}}}}}
`))
	d := find(t, o, KindOperation, "POST /a")
	wantLines(t, d, " z|string||", " secret|string||", " b|array of object||", "  c|integer||at least 3", "|object|/components/schemas/S|the field k says which one it is: a → A", " one of these: A|object|/components/schemas/A|no other fields",
		`  "k": "a"`, "# Callback done: POST {$request.body#/url}: ", "# Callback done: response 204: Thanks.")
	if request := shown(Detail{Sections: d.Sections[:1]}); strings.Contains(request, " z|") || !strings.Contains(request, " secret|") {
		t.Errorf("the request has what only answers have:\n%s", request)
	}
	if len(o.Groups) != 3 || o.Groups[0].Title.String() != "first" || o.Groups[1].Title.String() != "Webhooks" {
		t.Errorf("groups %+v", o.Groups)
	}
	if names := []string{}; true {
		for _, n := range d.Sections[1].Blocks[0].Whole.Children {
			names = append(names, n.Name)
		}
		if strings.Join(names, ",") != "z,b," {
			t.Errorf("properties are not in the order of their author: %v", names)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	o := made(parsed(t, students))
	hits, total := o.Search("STREET")
	if total != 1 || o.Entries[hits[0].Entry].Name != "Student" || strings.Join(hits[0].Way, "/") != "address/street" {
		t.Errorf("got %d %+v", total, hits)
	}
	if hits, total = o.Search("one student"); total != 1 || o.Entries[hits[0].Entry].Name != "GET /students/{id}" {
		t.Errorf("got %d %+v", total, hits)
	}
	if _, total = o.Search(" "); total != 0 {
		t.Errorf("nothing is found %d times", total)
	}
}

// TestChangesHaveTheirPlace: each change is shown at the nearest place, and what was removed where it was.
func TestChangesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	before := parsed(t, students)
	after := parsed(t, strings.NewReplacer("maxLength: 20", "maxLength: 10", "street: {type: [string, 'null']}", "town: {type: string}", "    put:", "    patch:").Replace(students))
	changes, err := compare.Documents(before, after)
	if err != nil {
		t.Fatal(err)
	}
	o, old := made(after), made(before)
	var all []int
	for i := range o.Entries {
		all = append(all, i)
	}
	details := o.Page(all)
	p := o.Place(changes, all, details)
	at := func(into map[string][]int, pointer, code string) {
		t.Helper()
		for _, i := range into[pointer] {
			if changes[i].Code == code {
				return
			}
		}
		t.Errorf("%s does not have %s: %v of %+v", pointer, code, into[pointer], into)
	}
	at(p.At, "/paths/~1students~1{id}/parameters/0/schema", "request-parameter-max-length-decreased")
	at(p.Gone, "/components/schemas/Student/properties/address", "response-optional-property-removed")
	at(p.At, "/components/schemas/Student/properties/address/properties/town", "response-optional-property-added")
	gone := o.Removed(old, changes)
	if len(gone) != 1 || gone[0].Name != "PUT /students/{id}" || o.Groups[gone[0].Group].Title.String() != "Operations" || gone[0].Before != 1 {
		t.Errorf("removed %+v", gone)
	}
	if details[0].Anchor("/paths/~1students~1{id}/parameters/0/schema") != "operation-get-students-id.path-id" {
		t.Errorf("anchors %+v", details[0].Sections[0].Blocks[0].Whole.Children[0])
	}
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
	o := made(parsed(t, grades))
	wantLines(t, find(t, o, KindOperation, "sendGrade"), "Action=send: you receive these messages", "Channel>grades>/channels/grades",
		"Message>nl.example.grade.given>/components/messages/given")
	wantLines(t, find(t, o, KindChannel, "grades"), "Address=grades/{school}", " school|string||one of a|required", "Message>taken>/channels/grades/messages/taken")
	wantLines(t, find(t, o, KindMessage, "nl.example.grade.given"), "Content type=application/json", " trace|string||", " grade|number||at least 1;at most 10", "e.g. Example: good")
	taken := find(t, o, KindMessage, "taken")
	wantLines(t, taken, "Schema format=application/vnd.apache.avro;version=1.9.0")
	if len(taken.Codes) != 1 || !strings.Contains(taken.Codes[0].Text, "record") {
		t.Errorf("codes %+v", taken.Codes)
	}
	find(t, o, KindMessage, "unused")
	old := made(parsed(t, `asyncapi: 2.6.0
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
		next := "#/x-s/s" + strconv.Itoa(i+1)
		bomb.WriteString("  s" + strconv.Itoa(i) + ": {properties: {a: {$ref: '" + next + "'}, b: {$ref: '" + next + "'}, c: {allOf: [{$ref: '" + next + "'}, {$ref: '" + next + "'}]}}}\n")
	}
	bomb.WriteString("  s30: {type: string}\ncomponents: {schemas: {Bomb: {allOf: [{$ref: '#/x-s/s0'}]}, Self: {$ref: '#/components/schemas/Self'}, In: {properties: {a: {allOf: [{$ref: '#/components/schemas/In'}]}}}, Odd: {required: 3, enum: {}, properties: [], type: {}, items: [1], oneOf: [1, null, {$ref: 5}, {$ref: 'https://x.example/y'}]}, No: 7}}\n")
	o := made(parsed(t, bomb.String()))
	for i, e := range o.Entries {
		if text := shown(o.Page([]int{i})[0]); strings.Count(text, "\n") > maxNodes+maxSample {
			t.Errorf("%s has %d lines", e.Name, strings.Count(text, "\n"))
		}
	}
	wantLines(t, find(t, o, KindSchema, "In"), " a|object|/components/schemas/In||again")
}

func made(doc *contract.Document) *Outline { return Of(doc, 1_000) }

// all builds every detail of a document, as its pages do.
func all(doc *contract.Document) {
	o := made(doc)
	for i := range o.Entries {
		o.Page([]int{i})
	}
	o.Search("a")
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
