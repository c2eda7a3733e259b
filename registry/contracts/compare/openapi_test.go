package compare

import (
	"strings"
	"testing"
)

// api is an OpenAPI document with one operation that takes and gives a body.
func api(request, response string) string {
	return `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"post":{
		"requestBody":{"required":true,"content":{"application/json":{"schema":` + request + `}}},
		"responses":{"200":{"description":"","content":{"application/json":{"schema":` + response + `}}}}}}}}`
}

const (
	requestAt  = "/paths/~1a/post/requestBody/content/application~1json/schema"
	responseAt = "/paths/~1a/post/responses/200/content/application~1json/schema"
)

// TestOpenAPISchemas holds the same change of a schema against both directions, and against its opposite.
func TestOpenAPISchemas(t *testing.T) {
	t.Parallel()
	object := func(properties, rest string) string {
		return `{"type":"object","properties":{` + properties + `}` + rest + `}`
	}
	a, ab := `"a":{"type":"string"}`, `"a":{"type":"string"},"b":{"type":"string"}`
	for _, tt := range []struct{ name, old, new, request, response string }{
		{
			"optional added", object(a, ""), object(ab, ""),
			"info new-optional-request-property /properties/b", "info response-optional-property-added /properties/b",
		},
		{
			"optional removed", object(ab, ""), object(a, ""),
			"warning request-property-removed /properties/b", "breaking response-optional-property-removed /properties/b",
		},
		{
			"required added", object(a, ""), object(ab, `,"required":["b"]`),
			"breaking new-required-request-property /properties/b", "info response-required-property-added /properties/b",
		},
		{
			"required removed", object(ab, `,"required":["b"]`), object(a, ""),
			"warning request-property-removed /properties/b", "breaking response-required-property-removed /properties/b",
		},
		{
			"became required", object(a, ""), object(a, `,"required":["a"]`),
			"breaking request-property-became-required /required", "info response-property-became-required /required",
		},
		{
			"became optional", object(a, `,"required":["a"]`), object(a, ""),
			"info request-property-became-optional /properties/a", "breaking response-property-became-optional /properties/a",
		},
		{
			"enum wider", object(`"a":{"enum":["x"]}`, ""), object(`"a":{"enum":["x","y"]}`, ""),
			"info request-property-enum-value-added /properties/a/enum", "breaking response-property-enum-value-added /properties/a/enum",
		},
		{
			"enum narrower", object(`"a":{"enum":["x","y"]}`, ""), object(`"a":{"enum":["x"]}`, ""),
			"breaking request-property-enum-value-removed /properties/a/enum", "info response-property-enum-value-removed /properties/a/enum",
		},
		{
			"type changed", object(`"a":{"type":"string"}`, ""), object(`"a":{"type":"boolean"}`, ""),
			"breaking request-property-type-changed /properties/a/type", "breaking response-property-type-changed /properties/a/type",
		},
		{
			"longer", object(`"a":{"type":"string","maxLength":5}`, ""), object(`"a":{"type":"string","maxLength":9}`, ""),
			"info request-property-max-length-increased /properties/a/maxLength", "breaking response-property-max-length-increased /properties/a/maxLength",
		},
		{
			"nullable", object(`"a":{"type":"string"}`, ""), object(`"a":{"type":["string","null"]}`, ""),
			"info request-property-became-nullable /properties/a/type", "breaking response-property-became-nullable /properties/a/type",
		},
		{"allOf instead of written out", object(ab, `,"required":["a"]`), `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}],"type":"object"}`, "", ""},
		{
			"allOf changed within", `{"allOf":[{"type":"object","properties":{"a":{"enum":["x"]}}},{"oneOf":[{"type":"object"}]}]}`, `{"allOf":[{"type":"object","properties":{"a":{"enum":["x","y"]}}},{"oneOf":[{"type":"object"}]}]}`,
			"info request-property-enum-value-added /allOf/0/properties/a/enum", "breaking response-property-enum-value-added /allOf/0/properties/a/enum",
		},
		{
			"allOf closed within", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}}]}`, `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}]}`,
			"breaking request-additional-properties-limited /allOf/0/additionalProperties", "info response-additional-properties-limited /allOf/0/additionalProperties",
		},
		{
			"closed", object(a, ""), object(a, `,"additionalProperties":false`),
			"breaking request-additional-properties-limited /additionalProperties", "info response-additional-properties-limited /additionalProperties",
		},
		{
			"opened", object(a, `,"additionalProperties":false`), object(a, `,"additionalProperties":true`),
			"info request-additional-properties-allowed ", "warning response-additional-properties-allowed ",
		},
		{
			"map of other values", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"boolean"}}`,
			"breaking request-property-type-changed /additionalProperties/type", "breaking response-property-type-changed /additionalProperties/type",
		},
		{
			"closed below", object(`"a":{"type":"object"}`, ""), object(`"a":{"type":"object","additionalProperties":false}`, ""),
			"breaking request-additional-properties-limited /properties/a/additionalProperties", "info response-additional-properties-limited /properties/a/additionalProperties",
		},
	} {
		changes := compared(t, api(tt.old, "{}"), api(tt.new, "{}"))
		wantAt(t, tt.name+" in the request", changes, requestAt, tt.request)
		changes = compared(t, api("{}", tt.old), api("{}", tt.new))
		wantAt(t, tt.name+" in the answer", changes, responseAt, tt.response)
	}
}

// wantAt looks for one change and for its pointer below a place.
func wantAt(t *testing.T, name string, changes []Change, at, wanted string) {
	t.Helper()
	if wanted == "" {
		want(t, name, changes)
		return
	}
	level, rest, _ := strings.Cut(wanted, " ")
	code, pointer, _ := strings.Cut(rest, " ")
	if len(changes) != 1 || string(changes[0].Level) != level || changes[0].Code != code || changes[0].Side != SideConsumer || changes[0].Subject.String() != "POST /a" {
		t.Errorf("%s: got %v, want %s", name, brief(changes), wanted)
		return
	}
	if got := changes[0].Pointer; got != at+pointer {
		t.Errorf("%s: at %s, want %s", name, got, at+pointer)
	}
}

func document(rest string) string {
	return "openapi: 3.2.0\ninfo: {title: T, version: '1'}\n" + rest
}

const answer = "responses: {'200': {description: ''}}"

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	body := func(types string) string {
		return document("paths: {/a: {post: {requestBody: {content: {" + types + "}}, " + answer + "}}}")
	}
	secured := func(security string) string {
		return document("paths: {/a: {get: {" + answer + "}}}\ncomponents: {securitySchemes: {o: {type: http, scheme: bearer}, k: {type: apiKey, in: header, name: k}}}\n" + security)
	}
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{
			"operation removed", document("paths: {/a: {get: {" + answer + "}, put: {" + answer + "}}}"), document("paths: {/a: {get: {" + answer + "}}}"),
			[]string{"breaking api-removed-without-deprecation /paths/~1a/put consumer"},
		},
		{
			"deprecated operation removed", document("paths: {/a: {get: {" + answer + "}, put: {deprecated: true, " + answer + "}}}"), document("paths: {/a: {get: {" + answer + "}}}"),
			[]string{"breaking api-removed-with-deprecation /paths/~1a/put consumer"},
		},
		{
			"path added", document("paths: {/a: {get: {" + answer + "}}}"), document("paths: {/a: {get: {" + answer + "}}, /b: {get: {" + answer + "}}}"),
			[]string{"info endpoint-added /paths/~1b/get consumer"},
		},
		{
			"path parameter renamed", document("paths: {'/a/{x}': {get: {parameters: [{name: x, in: path, required: true, schema: {type: string}}], " + answer + "}}}"),
			document("paths: {'/a/{y}': {get: {parameters: [{name: y, in: path, required: true, schema: {type: string}}], " + answer + "}}}"), nil,
		},
		{
			"deprecated", document("paths: {/a: {get: {" + answer + "}}}"), document("paths: {/a: {get: {deprecated: true, " + answer + "}}}"),
			[]string{"info endpoint-deprecated /paths/~1a/get/deprecated consumer"},
		},
		{
			"sunset sooner", document("paths: {/a: {get: {deprecated: true, x-sunset: '2030-01-01', " + answer + "}}}"), document("paths: {/a: {get: {deprecated: true, x-sunset: '2029-01-01', " + answer + "}}}"),
			[]string{"warning sunset-changed /paths/~1a/get/x-sunset consumer"},
		},
		{
			"required parameter added", document("paths: {/a: {get: {" + answer + "}}}"), document("paths: {/a: {get: {parameters: [{name: q, in: query, required: true, schema: {}}], " + answer + "}}}"),
			[]string{"breaking new-required-request-parameter /paths/~1a/get/parameters/0 consumer"},
		},

		{"CloudEvents to JSON", body("application/cloudevents+json: {}"), body("application/json: {}"), []string{
			"breaking media-type-removed /paths/~1a/post/requestBody/content/application~1cloudevents+json consumer",
			"info media-type-added /paths/~1a/post/requestBody/content/application~1json consumer",
		}},
		{"batch taken too", body("application/cloudevents+json: {}"), body("application/cloudevents+json: {}, application/cloudevents-batch+json: {}"), []string{
			"info media-type-added /paths/~1a/post/requestBody/content/application~1cloudevents-batch+json consumer",
		}},
		{"charset only", body("application/json: {}"), body("'application/json; charset=utf-8': {}"), nil},
		{"wider range", body("application/json: {}"), body("'application/*': {}"), []string{
			"info media-type-added /paths/~1a/post/requestBody/content/application~1* consumer",
		}},

		{
			"shared media type", document("paths: {/a: {post: {requestBody: {content: {application/json: {$ref: '#/components/mediaTypes/M'}}}, " + answer + "}}}\ncomponents: {mediaTypes: {M: {schema: {type: object, properties: {a: {type: string}}}}}}"),
			document("paths: {/a: {post: {requestBody: {content: {application/json: {$ref: '#/components/mediaTypes/M'}}}, " + answer + "}}}\ncomponents: {mediaTypes: {M: {schema: {type: object, properties: {a: {type: boolean}}}}}}"),
			[]string{"breaking request-property-type-changed /components/mediaTypes/M/schema/properties/a/type consumer"},
		},
		{
			"whole query string", document("paths: {/a: {get: {parameters: [{name: q, in: querystring, content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}], " + answer + "}}}"),
			document("paths: {/a: {get: {parameters: [{name: q, in: querystring, required: true, content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: string}}}}}}], " + answer + "}}}"),
			[]string{
				"breaking querystring-became-required /paths/~1a/get/parameters/0 consumer",
				"breaking payload-property-became-required /paths/~1a/get/parameters/0/content/application~1json/schema/required consumer",
			},
		},
		{"own method", document("paths: {/a: {additionalOperations: {COPY: {" + answer + "}}}}"), document("paths: {/a: {get: {" + answer + "}}}"), []string{
			"breaking api-removed-without-deprecation /paths/~1a/additionalOperations/COPY consumer", "info endpoint-added /paths/~1a/get consumer",
		}},

		{"security asked", secured(""), secured("security: [{o: []}]"), []string{"breaking security-narrowed /security consumer"}},
		{"security lifted", secured("security: [{o: []}]"), secured(""), []string{"info security-widened  consumer"}},
		{"one more way in", secured("security: [{o: []}]"), secured("security: [{o: []}, {k: []}]"), []string{"info security-widened /security consumer"}},
		{"one way less", secured("security: [{o: []}, {k: []}]"), secured("security: [{o: []}]"), []string{"breaking security-narrowed /security consumer"}},
		{"scope asked", secured("security: [{o: []}]"), secured("security: [{o: [write]}]"), []string{"breaking security-narrowed /security consumer"}},
		{"scheme renamed", secured("security: [{o: []}]"), strings.ReplaceAll(secured("security: [{o: []}]"), "o: ", "oauth: "), nil},
		{
			"scheme changed", secured("security: [{o: []}]"), strings.Replace(secured("security: [{o: []}]"), "scheme: bearer", "scheme: basic", 1),
			[]string{"breaking security-scheme-changed /components/securitySchemes/o/scheme consumer"},
		},

		{"server moved", document("servers: [{url: 'https://a.example'}]\npaths: {}"), document("servers: [{url: 'https://b.example'}]\npaths: {}"), []string{
			"warning server-removed /servers consumer", "info server-added /servers consumer",
		}},
		{
			"texts", document("paths: {/a: {get: {summary: x, " + answer + "}}}"), document("paths: {/a: {get: {summary: y, " + answer + "}}}"),
			[]string{"info documentation-changed /paths/~1a/get/summary both"},
		},
		{
			"reference outside", document("paths: {/a: {get: {responses: {'200': {description: '', content: {application/json: {schema: {type: string}}}}}}}}"),
			document("paths: {/a: {get: {responses: {'200': {description: '', content: {application/json: {schema: {$ref: 'https://else.example/s.json'}}}}}}}}"),
			[]string{
				"warning reference-outside-added /paths/~1a/get/responses/200/content/application~1json/schema both",
				"warning response-body-reference-changed /paths/~1a/get/responses/200/content/application~1json/schema consumer",
			},
		},
	} {
		want(t, tt.name, compared(t, tt.old, tt.new), tt.want...)
	}
}

// TestWebhooks: who is called back reads the request and sends the answer.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	hook := func(schema, types, answers string) string {
		return document("webhooks: {w: {post: {requestBody: {content: {" + types + ": {schema: " + schema + "}}}, responses: {" + answers + "}}}}")
	}
	const ok, ce, at = "'204': {description: ''}", "application/cloudevents+json", "/webhooks/w/post/requestBody/content/application~1cloudevents+json"
	whole := "{type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}"
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{
			"property removed", hook(whole, ce, ok), hook("{type: object, required: [a], properties: {a: {type: string}}}", ce, ok),
			[]string{"breaking payload-optional-property-removed " + at + "/schema/properties/b consumer"},
		},
		{
			"required added", hook("{type: object, properties: {a: {type: string}}}", ce, ok), hook("{type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}", ce, ok),
			[]string{"info payload-required-property-added " + at + "/schema/properties/b consumer"},
		},
		{"another form", hook("{}", ce, ok), hook("{}", "application/json", ok), []string{
			"info media-type-removed " + at + " consumer", "breaking media-type-added /webhooks/w/post/requestBody/content/application~1json consumer",
		}},
		{
			"answer no longer taken", hook("{}", ce, ok+", '202': {description: ''}"), hook("{}", ce, ok),
			[]string{"breaking answer-status-removed /webhooks/w/post/responses/202 consumer"},
		},
		{"answer added", hook("{}", ce, ok), hook("{}", ce, ok+", '202': {description: ''}"), []string{"info answer-status-added /webhooks/w/post/responses/202 consumer"}},
		{
			"answer narrower", hook("{}", ce, "'200': {description: '', content: {text/plain: {schema: {type: string}}}}"), hook("{}", ce, "'200': {description: '', content: {text/plain: {schema: {type: string, maxLength: 5}}}}"),
			[]string{"breaking payload-body-max-length-set /webhooks/w/post/responses/200/content/text~1plain/schema/maxLength consumer"},
		},
		{"removed", hook("{}", ce, ok), document("paths: {}"), []string{"breaking webhook-removed /webhooks/w/post consumer"}},
		{"added", document("paths: {}"), hook("{}", ce, ok), []string{"info webhook-added /webhooks/w/post consumer"}},
	} {
		want(t, tt.name, compared(t, tt.old, tt.new), tt.want...)
	}
}
