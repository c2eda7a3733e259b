package compare

import (
	"strings"
	"testing"
)

// TestWire changes what stands around schemas and decides how values are written, or whether they come at all.
func TestWire(t *testing.T) {
	t.Parallel()
	query := func(schema, rest string) string {
		return document("paths: {/a: {get: {parameters: [{name: p, in: query, schema: " + schema + rest + "}], " + answer + "}}}")
	}
	const list, plain = "{type: array, items: {type: string}}", "{type: string}"
	form := func(encoding string) string {
		return document("paths: {/a: {post: {requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {f: {type: string, format: binary}, o: {type: object}}}" + encoding + "}}}, " + answer + "}}}")
	}
	inXML := func(schema string) string {
		return document("paths: {/a: {get: {responses: {'200': {description: '', content: {application/xml: {schema: {type: object, properties: {a: " + schema + "}}}}}}}}}")
	}
	answers := func(list string) string { return document("paths: {/a: {get: {responses: {" + list + "}}}}") }
	header := func(headers string) string { return answers("'200': {description: '', headers: {" + headers + "}}") }
	const ok, json = "'200': {description: ''}", "content: {application/json: {schema: {type: string}}}"
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"style", query(list, ""), query(list, ", style: pipeDelimited, explode: true"), []string{"breaking request-parameter-style-changed"}},
		{"explode", query(list, ""), query(list, ", explode: false"), []string{"breaking request-parameter-explode-changed"}},
		{"explode of one value", query(plain, ""), query(plain, ", explode: false"), []string{"info request-parameter-explode-changed"}},
		{"style and explode as they are anyway", query(list, ""), query(list, ", style: form, explode: true, allowReserved: false"), nil},
		{"reserved characters", query(plain, ", allowReserved: true"), query(plain, ""), []string{"breaking request-parameter-allow-reserved-changed"}},
		{"reserved characters too", query(plain, ""), query(plain, ", allowReserved: true"), []string{"info request-parameter-allow-reserved-changed"}},
		{"empty value", query(plain, ", allowEmptyValue: true"), query(plain, ""), []string{"breaking request-parameter-allow-empty-value-changed"}},
		{"one value to a list of them", query(plain, ""), query(list, ""), nil},
		{"a list to one value", query(list, ""), query(plain, ""), []string{"breaking request-parameter-type-changed"}},
		{
			"schema to content", query(plain, ""), strings.Replace(query(plain, ""), "schema: {type: string}", "content: {application/json: {schema: {type: string}}}", 1),
			[]string{"breaking request-parameter-serialization-changed"},
		},

		{"encoding of a part", form(", encoding: {f: {contentType: 'image/png, image/jpeg'}}"), form(", encoding: {f: {contentType: image/png}}"), []string{"breaking request-encoding-content-type-changed"}},
		{"one more encoding of a part", form(", encoding: {f: {contentType: image/png}}"), form(", encoding: {f: {contentType: 'image/*'}}"), []string{"info request-encoding-content-type-changed"}},
		{"encoding as it is anyway", form(""), form(", encoding: {f: {contentType: application/octet-stream}, o: {contentType: application/json}}"), nil},
		{"header of a part", form(""), form(", encoding: {f: {headers: {X-A: {required: true, schema: {type: string}}}}}"), []string{"breaking request-encoding-header-added"}},

		{"name in XML", inXML("{type: string, xml: {name: b}}"), inXML("{type: string, xml: {name: c}}"), []string{"breaking response-property-xml-name-changed"}},
		{"namespace in XML", inXML("{type: string}"), inXML("{type: string, xml: {namespace: 'urn:x'}}"), []string{"breaking response-property-xml-namespace-changed"}},
		{"attribute in XML", inXML("{type: string}"), inXML("{type: string, xml: {attribute: true}}"), []string{"breaking response-property-xml-attribute-changed"}},
		{"wrapped in XML", inXML("{type: array, items: {}}"), inXML("{type: array, items: {}, xml: {wrapped: true}}"), []string{"breaking response-property-xml-wrapped-changed"}},
		{"prefix in XML", inXML("{type: string, xml: {prefix: a}}"), inXML("{type: string, xml: {prefix: b}}"), []string{"warning response-property-xml-prefix-changed"}},

		{"default answer removed", answers(ok + ", default: {description: ''}"), answers(ok), []string{"breaking response-default-removed"}},
		{"failure removed", answers(ok + ", '404': {description: ''}"), answers(ok), []string{"warning response-non-success-status-removed"}},
		{"success removed", answers(ok + ", '202': {description: ''}"), answers(ok), []string{"breaking response-success-status-removed"}},
		{"told by its range", answers("'404': {description: '', " + json + "}"), answers("4XX: {description: '', " + json + "}"), []string{"info response-non-success-status-added"}},

		{"header removed", header("X-A: {schema: {type: string}}"), header(""), []string{"breaking optional-response-header-removed"}},
		{"required header removed", header("X-A: {required: true, schema: {type: string}}"), header(""), []string{"breaking required-response-header-removed"}},
		{"header in other letters", header("X-Request-ID: {schema: {type: string}}"), header("x-request-id: {schema: {type: string}}"), nil},
		{"header became optional", header("X-A: {required: true, schema: {}}"), header("X-A: {schema: {}}"), []string{"breaking response-header-became-optional"}},
		{"header written otherwise", header("X-A: {schema: {type: object}}"), header("X-A: {explode: true, schema: {type: object}}"), []string{"breaking response-header-explode-changed"}},
		{
			"parameter header in other letters", strings.Replace(query(plain, ""), "name: p, in: query", "name: X-Id, in: header", 1), strings.Replace(query(plain, ""), "name: p, in: query", "name: x-id, in: header", 1), nil,
		},
		{"media type in other letters", answers("'200': {description: '', " + json + "}"), strings.Replace(answers("'200': {description: '', "+json+"}"), "application/json", "Application/JSON", 1), nil},
		{
			"schema changed under a media type in other words", answers("'200': {description: '', " + json + "}"),
			answers("'200': {description: '', content: {'application/json; charset=UTF-8': {schema: {type: integer}}}}"),
			[]string{"breaking response-body-type-changed"},
		},
		{"body removed", document("paths: {/a: {post: {requestBody: {" + json + "}, " + answer + "}}}"), document("paths: {/a: {post: {" + answer + "}}}"), []string{"breaking request-body-removed"}},
		{"stream of others", answers("'200': {description: '', content: {application/jsonl: {itemSchema: {type: string}}}}"), answers("'200': {description: '', content: {application/jsonl: {itemSchema: {type: integer}}}}"), []string{"breaking response-body-type-changed"}},
		{"link removed", answers("'200': {description: '', links: {l: {operationId: x}}}"), answers(ok), []string{"warning link-removed"}},
	} {
		var got []string
		for _, c := range compared(t, tt.old, tt.new) {
			got = append(got, string(c.Level)+" "+c.Code)
		}
		if strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestHidden: readOnly keeps a property out of requests, writeOnly out of answers.
func TestHidden(t *testing.T) {
	t.Parallel()
	schema := func(marks, required string) string {
		return `{"type":"object",` + required + `"properties":{"a":{"type":"string"` + marks + `}}}`
	}
	const readOnly, writeOnly, required = `,"readOnly":true`, `,"writeOnly":true`, `"required":["a"],`
	for _, tt := range []struct{ name, old, new, request, response string }{
		{"became readOnly", schema("", ""), schema(readOnly, ""), "breaking request-optional-property-became-read-only", "info response-property-became-read-only"},
		{"no longer readOnly", schema(readOnly, ""), schema("", ""), "info request-optional-property-became-not-read-only", "info response-property-became-not-read-only"},
		{"required and no longer readOnly", schema(readOnly, required), schema("", required), "breaking request-required-property-became-not-read-only", "info response-property-became-not-read-only"},
		{"became writeOnly", schema("", ""), schema(writeOnly, ""), "info request-property-became-write-only", "breaking response-optional-property-became-write-only"},
		{"no longer writeOnly", schema(writeOnly, ""), schema("", ""), "info request-property-became-not-write-only", "info response-optional-property-became-not-write-only"},
		{"readOnly and removed", schema(readOnly, ""), `{"type":"object"}`, "", "breaking response-optional-property-removed"},
		{"required readOnly", schema(readOnly, ""), schema(readOnly, required), "", "info response-property-became-required"},
	} {
		for i, documents := range [][2]string{{api(tt.old, "{}"), api(tt.new, "{}")}, {api("{}", tt.old), api("{}", tt.new)}} {
			var got []string
			for _, c := range compared(t, documents[0], documents[1]) {
				got = append(got, string(c.Level)+" "+c.Code)
			}
			if wanted := []string{tt.request, tt.response}[i]; strings.Join(got, ", ") != wanted {
				t.Errorf("%s: got %v, want %s", tt.name, got, wanted)
			}
		}
	}
}

// TestVersionsOfOpenAPI: what 3.0 and 3.1 write differently is no change; what has no meaning from 3.1 on is told.
func TestVersionsOfOpenAPI(t *testing.T) {
	t.Parallel()
	older := func(schema string) string { return strings.Replace(api(schema, schema), "3.1.0", "3.0.3", 1) }
	newer := func(schema string) string { return api(schema, schema) }
	for old, new := range map[string]string{
		`{"type":"string","nullable":true}`:                                       `{"type":["string","null"]}`,
		`{"type":"string","nullable":true,"enum":["a",null]}`:                     `{"type":["null","string"],"enum":["a",null]}`,
		`{"type":"string","nullable":true,"enum":["a"]}`:                          `{"type":["null","string"],"enum":["a"]}`,
		`{"nullable":true,"allOf":[{"type":"object","properties":{"a":{}}}]}`:     `{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"null"}]}`,
		`{"type":"number","minimum":1,"exclusiveMinimum":true}`:                   `{"type":"number","exclusiveMinimum":1}`,
		`{"type":"number","maximum":1,"exclusiveMaximum":false}`:                  `{"type":"number","maximum":1}`,
		`{"type":"integer","minimum":1,"exclusiveMinimum":true}`:                  `{"type":"integer","minimum":2}`,
		`{"type":"string","enum":["a"]}`:                                          `{"type":"string","const":"a"}`,
		`{"type":"string","example":"a"}`:                                         `{"type":["string"]}`,
		`{"type":"object","additionalProperties":true}`:                           `{"type":"object","additionalProperties":{}}`,
		`{"oneOf":[{"type":"string"},{"type":"integer"}]}`:                        `{"oneOf":[{"type":"integer"},{"type":"string"}]}`,
		`{"type":"array","items":{"type":"string","nullable":true},"minItems":0}`: `{"type":"array","items":{"type":["string","null"]}}`,
	} {
		for _, c := range compared(t, older(old), newer(new)) {
			if c.Code != documentationChanged {
				t.Errorf("%s to %s: %v", old, new, brief([]Change{c}))
			}
		}
		for _, c := range compared(t, newer(new), older(old)) {
			if c.Code != documentationChanged {
				t.Errorf("%s back to %s: %v", new, old, brief([]Change{c}))
			}
		}
	}
	left := `{"type":"string","nullable":true}`
	want(t, "left from 3.0", compared(t, older(left), api(left, left)),
		"breaking request-body-became-not-nullable "+requestAt+"/type consumer", "warning request-body-nullable-ignored "+requestAt+"/nullable consumer",
		"info response-body-became-not-nullable "+responseAt+"/type consumer", "warning response-body-nullable-ignored "+responseAt+"/nullable consumer")
	want(t, "left for long", compared(t, api(left, left), api(left, left)))
}

// TestPlaces: a change names its place in both documents, and whether those who are bound send or read it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	shared := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"post":{"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S"}}}},"responses":{"200":{"description":""}}}}},"components":{"schemas":{"S":{"type":"object","properties":{"a":{"type":"string","maxLength":9}}}}}}`
	changes := compared(t, shared, strings.Replace(api(`{"type":"object","properties":{"a":{"type":"string","maxLength":5}}}`, "{}"), `,"content":{"application/json":{"schema":{}}}}`, "}", 1))
	if len(changes) != 1 || changes[0].OldPointer != "/components/schemas/S/properties/a/maxLength" || changes[0].NewPointer != requestAt+"/properties/a/maxLength" || changes[0].Direction != DirectionSent {
		t.Errorf("%+v", changes)
	}
	changes = compared(t, api("{}", `{"type":"object","properties":{"a":{}}}`), api("{}", `{"type":"object"}`))
	if len(changes) != 1 || changes[0].OldPointer != responseAt+"/properties/a" || changes[0].NewPointer != "" || changes[0].Direction != DirectionRead {
		t.Errorf("%+v", changes)
	}
}

// TestBinaryAcrossReleases writes bytes as OpenAPI 3.0 and as 3.1 have them: format binary and byte became contentMediaType
// and contentEncoding, which changes nothing for anybody.
func TestBinaryAcrossReleases(t *testing.T) {
	t.Parallel()
	doc := func(release, schema string) string {
		return "openapi: " + release + "\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    post:\n      requestBody:\n        content: {MEDIA: {schema: " + schema + "}}\n" +
			"      responses: {'200': {description: d, content: {MEDIA: {schema: " + schema + "}}}}\n"
	}
	for _, tt := range []struct{ name, media, old, new, want string }{
		{"binary in JSON", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentMediaType: application/octet-stream}}}", ""},
		{"byte", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64}}}", ""},
		{"byte of a kind", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64, contentMediaType: image/png}}}", ""},
		{"binary of a kind", "multipart/form-data", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentMediaType: application/octet-stream}}}", ""},
		{"whole body", "application/octet-stream", "{type: string, format: binary}", "{type: string, contentMediaType: application/octet-stream}", ""},
		{"whole body without a type", "application/octet-stream", "{type: string, format: binary}", "{}", ""},
		{"nullable", "application/json", "{type: object, properties: {f: {type: string, format: byte, nullable: true}}}", "{type: object, properties: {f: {type: [string, 'null'], contentEncoding: base64}}}", ""},
		{"another encoding", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base32}}}", "breaking"},
		{"raw became text", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64}}}", "breaking"},
		{"another format", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, format: uuid}}}", "breaking"},
	} {
		for _, back := range []bool{false, true} {
			old, new := doc("3.0.3", tt.old), doc("3.1.0", tt.new)
			if back {
				old, new = new, old
			}
			set := strings.NewReplacer("MEDIA", tt.media)
			changes := compared(t, set.Replace(old), set.Replace(new))
			if got := string(Worst(changes)); got != tt.want && (tt.want == "" || back == (got == "")) {
				t.Errorf("%s, back %t: %q, want %q: %v", tt.name, back, got, tt.want, brief(changes))
			}
		}
	}
}
