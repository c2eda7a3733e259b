package contract

import (
	"strings"
	"testing"

	"schakel/store/needs"
)

// TestRules gives each rule a document that breaks it, and the same document mended.
// Rules: EDU-21.
func TestRules(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	get := func(rest string) string { return "paths: {/a: {get: {operationId: o, " + rest + "}}}\n" }
	answer := "responses: {200: {description: d}}"
	in := func(version, rest string) string { return openapi(version, rest) }
	message := func(rest string) string {
		return asyncapi("3.1.0", "channels: {c: {address: a, messages: {m: {"+rest+"}}}}")
	}
	for _, tt := range []struct{ code, at, broken, mended string }{
		{"path-template", "/paths/~1{a", in("3.1.0", "paths: {'/{a': {}}"), in("3.1.0", "paths: {/a: {}}")},
		{"path-template-duplicate", "/paths/~1{a}~1{a}", in("3.1.0", "paths: {'/{a}/{a}': {}}"), in("3.1.0", "paths: {'/{a}/{b}': {}}")},
		{"path-query", "/paths/~1a?b", in("3.1.0", "paths: {'/a?b': {}}"), in("3.1.0", "paths: {'/a': {}}")},
		{"path-ambiguous", "/paths/~1{x}~1b", in("3.1.0", "paths: {'/a/{y}': {}, '/{x}/b': {}}"), in("3.1.0", "paths: {'/a/{y}': {}, '/a/b': {}}")},
		{
			"parameter-duplicate", "/paths/~1a/parameters/1",
			in("3.1.0", "paths: {/a: {parameters: [{name: X-A, in: header, schema: {}}, {name: x-a, in: header, schema: {}}]}}"),
			in("3.1.0", "paths: {/a: {parameters: [{name: x-a, in: query, schema: {}}, {name: x-a, in: header, schema: {}}]}}"),
		},
		{
			"security-scope-undefined", "/security/0/k/0",
			in("3.1.0", "paths: {}\nsecurity: [{k: [b]}]\ncomponents: {securitySchemes: {k: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://e.x', scopes: {a: A}}}}}}"),
			in("3.1.0", "paths: {}\nsecurity: [{k: [a]}]\ncomponents: {securitySchemes: {k: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://e.x', scopes: {a: A}}}}}}"),
		},
		{
			"security-scope-unexpected", "/security/0/k",
			in("3.0.3", "paths: {}\nsecurity: [{k: [b]}]\ncomponents: {securitySchemes: {k: {type: http, scheme: basic}}}"),
			in("3.1.0", "paths: {}\nsecurity: [{k: [b]}]\ncomponents: {securitySchemes: {k: {type: http, scheme: basic}}}"),
		},
		{
			"required-undeclared", "/components/schemas/a/required/1", in("3.1.0", "components: {schemas: {a: {required: [b, c], properties: {b: {}}}}}"),
			in("3.1.0", "components: {schemas: {a: {allOf: [{required: [c], properties: {b: {}}}], required: [d]}}}"),
		},
		{"example-mismatch", "/components/schemas/a/default", in("3.1.0", "components: {schemas: {a: {type: integer, default: 1.5}}}"), in("3.1.0", "components: {schemas: {a: {type: integer, default: 1.0}}}")},
		{"example-mismatch", "/components/schemas/a/example", in("3.1.0", "components: {schemas: {a: {type: string, example: null}}}"), in("3.0.1", "paths: {}\ncomponents: {schemas: {a: {type: string, nullable: true, example: null}}}")},
		{
			"example-mismatch", "/paths/~1a/get/responses/200/content/a~1json/examples/e/value/b",
			in("3.1.0", get("responses: {200: {description: d, content: {a/json: {schema: {$ref: '#/components/schemas/s'}, examples: {e: {value: {b: 5}}}}}}}")+"components: {schemas: {s: {properties: {b: {maximum: 4}}}}}"),
			in("3.1.0", get("responses: {200: {description: d, content: {a/xml: {schema: {$ref: '#/components/schemas/s'}, examples: {e: {value: {b: 5}}}}}}}")+"components: {schemas: {s: {properties: {b: {maximum: 4}}}}}"),
		},
		{"example-mismatch", "/paths/~1a/parameters/0/example", in("3.2.0", "paths: {/a: {parameters: [{name: q, in: query, schema: {enum: [a]}, example: b}]}}"), in("3.2.0", "paths: {/a: {parameters: [{name: q, in: query, schema: {enum: [a]}, example: a}]}}")},
		{"enum-mismatch", "/components/schemas/a/enum/1", in("3.1.0", "components: {schemas: {a: {type: string, enum: [a, 5]}}}"), in("3.0.1", "paths: {}\ncomponents: {schemas: {a: {type: string, nullable: true, enum: [a, null]}}}")},
		{"read-write-only", "/components/schemas/a", in("3.1.0", "components: {schemas: {a: {readOnly: true, writeOnly: true}}}"), in("3.1.0", "components: {schemas: {a: {readOnly: true, writeOnly: false}}}")},
		{"array-items", "/components/schemas/a", in("3.0.1", "paths: {}\ncomponents: {schemas: {a: {type: array}}}"), in("3.1.1", "paths: {}\ncomponents: {schemas: {a: {type: array}}}")},
		{
			"discriminator-property", "/components/schemas/a/discriminator/propertyName",
			in("3.1.0", "components: {schemas: {a: {discriminator: {propertyName: kind}, oneOf: [{$ref: '#/components/schemas/b'}]}, b: {properties: {k: {}}}}}"),
			in("3.1.0", "components: {schemas: {a: {discriminator: {propertyName: kind}, oneOf: [{$ref: '#/components/schemas/b'}]}, b: {allOf: [{properties: {kind: {}}}]}}}"),
		},
		{
			"discriminator-mapping", "/components/schemas/a/discriminator/mapping/x",
			in("3.1.0", "components: {schemas: {a: {discriminator: {propertyName: k, mapping: {x: b}}, properties: {k: {}}}}}"),
			in("3.1.0", "components: {schemas: {a: {discriminator: {propertyName: k, mapping: {x: a}}, properties: {k: {}}}}}"),
		},
		{"server-variable-undeclared", "/servers/0", in("3.1.0", "paths: {}\nservers: [{url: 'https://{a}'}]"), in("3.1.0", "paths: {}\nservers: [{url: 'https://a'}]")},
		{"server-variable-unused", "/servers/0/variables/a", in("3.1.0", "paths: {}\nservers: [{url: 'https://b', variables: {a: {default: x}}}]"), in("3.1.0", "paths: {}\nservers: [{url: 'https://{a}', variables: {a: {default: x}}}]")},
		{"server-variable-default", "/servers/0/variables/a/default", in("3.1.0", "paths: {}\nservers: [{url: '{a}', variables: {a: {default: x, enum: [y]}}}]"), in("3.1.0", "paths: {}\nservers: [{url: '{a}', variables: {a: {default: y, enum: [y]}}}]")},
		{"tag-duplicate", "/tags/1", in("3.1.0", "paths: {}\ntags: [{name: a}, {name: a, description: d}]"), in("3.1.0", "paths: {}\ntags: [{name: a}, {name: b}]")},
		{"tag-parent", "/tags/0/parent", in("3.2.0", "paths: {}\ntags: [{name: a, parent: b}]"), in("3.2.0", "paths: {}\ntags: [{name: a, parent: b}, {name: b}]")},
		{"tag-parent", "/tags/0/parent", in("3.2.0", "paths: {}\ntags: [{name: a, parent: a}]"), in("3.2.0", "paths: {}\ntags: [{name: a, parent: b}, {name: b}]")},
		{"tag-undeclared", "/paths/~1a/get/tags/0", in("3.1.0", "tags: [{name: a}]\n"+get("tags: [b], "+answer)), in("3.1.0", get("tags: [b], "+answer))},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationId",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationId: p}}}}")), in("3.1.0", get("responses: {200: {description: d, links: {l: {operationId: o}}}}")),
		},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationRef",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1b/get'}}}}")),
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1a/get'}}}}")),
		},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationRef",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1a'}}}}")),
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/components/pathItems/i/get'}}}}")+"components: {pathItems: {i: {get: {operationId: p, "+answer+"}}}}"),
		},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationRef",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1a/get/responses'}}}}")),
			in("3.1.0", strings.Replace(get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1b/get'}}}}"), "{/a", "{/b: {$ref: '#/components/pathItems/i'}, /a", 1)+"components: {pathItems: {i: {get: {operationId: p, "+answer+"}}}}"),
		},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationRef",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: 'b.yaml#/paths/~1b/get'}}}}")),
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationRef: 'https://e.x/b.yaml#/paths/~1b/get'}}}}")),
		},
		{
			"link-operation", "/paths/~1a/get/responses/200/links/l/operationRef",
			in("3.2.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/paths/~1a/additionalOperations/COPY'}}}}")),
			in("3.2.0", get("responses: {200: {description: d, links: {l: {operationRef: '#/components/pathItems/i/additionalOperations/COPY'}}}}")+"components: {pathItems: {i: {additionalOperations: {COPY: {operationId: p, "+answer+"}}}}}"),
		},
		{
			"runtime-expression", "/paths/~1a/get/responses/200/links/l/parameters/p",
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationId: o, parameters: {p: $response.bdy#/id}}}}}")),
			in("3.1.0", get("responses: {200: {description: d, links: {l: {operationId: o, parameters: {p: $response.body#/id/0}}}}}")),
		},
		{"runtime-expression", "/paths/~1a/get/callbacks/c/{$request.url}", in("3.1.0", get("callbacks: {c: {'{$request.url}': {}}}")), in("3.1.0", get("callbacks: {c: {'http://x?a={$request.query.b}': {}}}"))},
		{"response-success", "/paths/~1a/get/responses", in("3.1.0", get("responses: {404: {description: d}}")), in("3.1.0", get("responses: {2XX: {description: d}}"))},
		{"header-ignored", "/paths/~1a/parameters/0/name", in("3.1.0", "paths: {/a: {parameters: [{name: accept, in: header, schema: {}}]}}"), in("3.1.0", "paths: {/a: {parameters: [{name: accept, in: query, schema: {}}]}}")},
		{"header-name", "/components/responses/r/headers/a b", in("3.1.0", "components: {responses: {r: {description: d, headers: {a b: {schema: {}}}}}}"), in("3.1.0", "components: {responses: {r: {description: d, headers: {a-b: {schema: {}}}}}}")},
		{"reference-siblings", "/components/schemas/a/properties/b/description", in("3.0.1", "paths: {}\ncomponents: {schemas: {a: {properties: {b: {$ref: '#/components/schemas/a', description: d}}}}}"), in("3.1.1", "paths: {}\ncomponents: {schemas: {a: {properties: {b: {$ref: '#/components/schemas/a', description: d}}}}}")},
		{"reference-kind", "/paths/~1a/parameters/0/$ref", in("3.1.0", "paths: {/a: {parameters: [{$ref: '#/components/schemas/s'}]}}\ncomponents: {schemas: {s: {}}}"), in("3.1.0", "paths: {/a: {parameters: [{$ref: '#/components/parameters/s'}]}}\ncomponents: {parameters: {s: {name: s, in: query, schema: {properties: {parameters: {$ref: '#/components/schemas/s'}}}}}, schemas: {s: {}}}")},
		{
			"encoding-undeclared", "/components/requestBodies/b/content/multipart~1form-data/encoding/y",
			in("3.1.0", "components: {requestBodies: {b: {content: {multipart/form-data: {schema: {properties: {x: {}}}, encoding: {y: {}}}}}}}"),
			in("3.1.0", "components: {requestBodies: {b: {content: {multipart/form-data: {schema: {properties: {x: {}}}, encoding: {x: {}}}}}}}"),
		},
		{"component-unused", "/components/schemas/s", in("3.1.0", "paths: {}\ncomponents: {schemas: {s: {}}}"), in("3.1.0", "components: {schemas: {s: {}}}")},

		{"example-mismatch", "/channels/c/messages/m/examples/0/payload/a", message("payload: {properties: {a: {type: string}}}, examples: [{payload: {a: 5}}]"), message("payload: {properties: {a: {type: string}}}, examples: [{payload: {a: b}}]")},
		{"example-mismatch", "/channels/c/messages/m/examples/0/headers", message("headers: {type: object, required: [h]}, examples: [{headers: {}}]"), message("headers: {type: object, required: [h]}, examples: [{headers: {h: 1}}]")},
		{"required-undeclared", "/channels/c/messages/m/payload/required/0", message("payload: {required: [b], properties: {a: {}}}"), message("payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {type: string, required: [b], properties: {a: {}}}}")},
		{"schema-format-unknown", "/channels/c/messages/m/payload/schemaFormat", message("payload: {schemaFormat: text/x-own, schema: {}}"), message("payload: {schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {type: string}}")},
		{"headers-type", "/channels/c/messages/m/headers/type", message("headers: {type: string}"), message("headers: {type: [object, 'null']}")},
		{"correlation-location", "/channels/c/messages/m/correlationId/location", message("correlationId: {location: $message.header#/x}, headers: {type: object, properties: {y: {}}}"), message("correlationId: {location: $message.header#/y}, headers: {type: object, properties: {y: {}}}")},
		{"tag-duplicate", "/channels/c/messages/m/tags/1", message("tags: [{name: a}, {name: a, description: d}]"), message("tags: [{name: a}, {name: b}]")},
		{"reference-kind", "/channels/c/messages/m/payload/$ref", message("payload: {$ref: '#/components/parameters/p'}") + "\ncomponents: {parameters: {p: {}}}", message("payload: {$ref: '#/components/schemas/p'}") + "\ncomponents: {schemas: {p: {}}}"},
		{"event-types-none", "", message("payload: {type: object}"), message("x-cloudevents-type: nl.example.a, payload: {type: object}")},
		{"channel-query", "/channels/a?b", asyncapi("2.6.0", "channels: {a?b: {}}"), asyncapi("2.6.0", "channels: {a: {}}")},
		{"server-variable-undeclared", "/servers/s", asyncapi("3.1.0", "servers: {s: {host: 'a.{b}', protocol: amqp}}"), asyncapi("3.1.0", "servers: {s: {host: 'a.{b}', protocol: amqp, variables: {b: {}}}}")},
		{
			"security-scope-undefined", "/servers/s/security/0/k/0",
			asyncapi("2.6.0", "channels: {}\nservers: {s: {url: a, protocol: amqp, security: [{k: [b]}]}}\ncomponents: {securitySchemes: {k: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://e.x', scopes: {a: A}}}}}}"),
			asyncapi("2.6.0", "channels: {}\nservers: {s: {url: a, protocol: amqp, security: [{k: [a]}]}}\ncomponents: {securitySchemes: {k: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://e.x', scopes: {a: A}}}}}}"),
		},
		{
			"security-scope-undefined", "/components/securitySchemes/k/scopes/0",
			asyncapi("3.1.0", "components: {securitySchemes: {k: {type: oauth2, scopes: [b], flows: {clientCredentials: {tokenUrl: 'https://e.x', availableScopes: {a: A}}}}}}"),
			asyncapi("3.1.0", "components: {securitySchemes: {k: {type: oauth2, scopes: [a], flows: {clientCredentials: {tokenUrl: 'https://e.x', availableScopes: {a: A}}}}}}"),
		},
		{
			"security-scope-undefined", "/operations/o/security/0/scopes/1",
			asyncapi("3.0.0", "channels: {c: {}}\noperations: {o: {action: send, channel: {$ref: '#/channels/c'}, security: [{type: oauth2, scopes: [a, b], flows: {clientCredentials: {tokenUrl: 'https://e.x', availableScopes: {a: A}}}}]}}"),
			asyncapi("3.0.0", "channels: {c: {}}\noperations: {o: {action: send, channel: {$ref: '#/channels/c'}, security: [{type: oauth2, scopes: [a], flows: {clientCredentials: {tokenUrl: 'https://e.x', availableScopes: {a: A}}}}]}}"),
		},
		{
			"channel-unused", "/channels/d",
			asyncapi("3.1.0", "channels: {c: {}, d: {}}\noperations: {o: {action: send, channel: {$ref: '#/channels/c'}}}"),
			asyncapi("3.1.0", "channels: {c: {}, d: {}}\noperations: {o: {action: send, channel: {$ref: '#/channels/c'}, reply: {channel: {$ref: '#/channels/d'}}}}"),
		},
	} {
		if got := placesOf(t, tt.broken, tt.code); len(got) != 1 || got[0] != tt.at {
			t.Errorf("%s: got %q, want %q in\n%s\n%v", tt.code, got, tt.at, tt.broken, allOf(t, tt.broken))
		}
		if got := placesOf(t, tt.mended, tt.code); len(got) != 0 {
			t.Errorf("%s: got %q in the mended\n%s", tt.code, got, tt.mended)
		}
	}
}

func allOf(t *testing.T, content string) []Finding {
	t.Helper()
	d, findings := parse(t, content)
	if d != nil {
		findings = d.Validate()
	}
	return findings
}

func placesOf(t *testing.T, content, code string) []string {
	t.Helper()
	var places []string
	for _, f := range allOf(t, content) {
		if f.Code == code {
			places = append(places, f.Pointer)
		}
		if strings.HasPrefix(f.Code, "schema-") && f.Code != code && code != "path-template" {
			t.Errorf("%s: the vector has %v", code, f)
		}
	}
	return places
}
