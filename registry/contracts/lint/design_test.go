package lint

import (
	"strings"
	"testing"
)

// api keeps every rule for OpenAPI documents, those for webhooks too.
const api = `openapi: 3.1.0
info:
  title: Students
  version: 1.4.0
  contact: {name: Team Students, email: students@example.nl, url: https://example.nl/students}
servers:
  - url: https://api.example.nl/students/v1
paths:
  /student-groups/{groupId}:
    get:
      operationId: getGroup
      parameters:
        - {name: groupId, in: path, required: true, schema: {type: string}}
        - {name: startDate, in: query, schema: {type: string, format: date}}
      responses:
        '200':
          description: The group.
          headers: {API-Version: {$ref: '#/components/headers/Version'}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Group'}
        '400': {$ref: '#/components/responses/Problem'}
  /events:
    post:
      operationId: takeEvent
      security: [{oauth: [events]}]
      parameters:
        - {name: Idempotency-Key, in: header, required: true, schema: {type: string}}
      requestBody:
        content:
          application/cloudevents+json: {schema: {type: object}}
      responses:
        '202': {description: Taken., headers: {api-version: {$ref: '#/components/headers/Version'}}}
        '400': {$ref: '#/components/responses/Problem'}
        '409': {$ref: '#/components/responses/Problem'}
        '422': {$ref: '#/components/responses/Problem'}
        '429':
          description: Too many.
          headers: {Retry-After: {schema: {type: integer}}}
          content: {application/problem+json: {schema: {$ref: '#/components/schemas/Problem'}}}
components:
  headers:
    Version: {schema: {type: string}}
  securitySchemes:
    oauth:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: 'https://example.nl/token', scopes: {events: Send events.}}}
  responses:
    Problem:
      description: A problem.
      content: {application/problem+json: {schema: {$ref: '#/components/schemas/Problem'}}}
  schemas:
    Problem:
      type: object
      properties: {status: {type: integer}, title: {type: string}, detail: {type: string}}
    Group:
      type: object
      properties:
        groupName: {type: string}
        startDate: {type: string, format: date}
        endDateTime: {type: string, format: date-time}
        opensAt: {type: string, format: time-local}
        hasEndDate: {type: boolean}
`

// Each rule for OpenAPI documents holds for a document that keeps it, and reports the place in another that does not.
//
// Rules: EDU-15, EDU-21, EDU-23, IDEM-02, IDEM-03, CE-60, CE-62, CE-65.
func TestDesignRules(t *testing.T) {
	t.Parallel()
	const group, post = "/paths/~1student-groups~1{groupId}", "/paths/~1events/post"
	checkBroken(t, api, append(designRules(), webhookRules()...), []broken{
		{"doc-openapi", "openapi: 3.1.0", "openapi: 3.1.0-rc1", "/openapi", nil},
		{"doc-openapi-contact", ", email: students@example.nl", "", "/info/contact", nil},
		{"doc-openapi-contact", "  contact: {name: Team Students, email: students@example.nl, url: https://example.nl/students}\n", "", "/info", nil},
		{"publish-openapi", "servers:\n  - url: https://api.example.nl/students/v1\n", "", "", nil},
		{"publish-openapi", "servers:\n  - url: https://api.example.nl/students/v1\n", "servers: []\n", "/servers", nil},
		{"semver", "version: 1.4.0", "version: '1.4'", "/info/version", nil},
		{"uri-version", "students/v1", "students", "/servers/0/url", nil},
		{"version-header", "headers: {API-Version: {$ref: '#/components/headers/Version'}}", "headers: {Link: {$ref: '#/components/headers/Version'}}", group + "/get/responses/200/headers", nil},
		{"version-header", ", headers: {api-version: {$ref: '#/components/headers/Version'}}", "", post + "/responses/202", nil},
		{"transport-tls", "https://api", "http://api", "/servers/0/url", nil},
		{"no-trailing-slash", "  /events:", "  /events/:", "/paths/~1events~1", nil},
		{"path-segments-kebab-case", "  /events:", "  /newEvents:", "/paths/~1newEvents", nil},
		{"query-keys-camel-case", "{name: startDate,", "{name: start_date,", group + "/get/parameters/1/name", nil},
		{"http-methods", "    post:\n", "    additionalOperations: {COPY: {responses: {'204': {description: Done., headers: {API-Version: {schema: {}}}}}}}\n    post:\n", "/paths/~1events/additionalOperations/COPY", nil},
		{"problem-details", "      description: A problem.\n      content: {application/problem+json:", "      description: A problem.\n      content: {application/json:", "/components/responses/Problem/content", nil},
		{"problem-members", ", detail: {type: string}", "", "/components/schemas/Problem/properties", nil},
		{"invalid-input", "        '400': {$ref: '#/components/responses/Problem'}\n  /events", "        '404': {$ref: '#/components/responses/Problem'}\n  /events", group + "/get/responses", nil},
		{"date-time-timezone", "endDateTime: {type: string, format: date-time}", "endDateTime: {type: string, format: date-time-local}", "/components/schemas/Group/properties/endDateTime/format", nil},
		{"time-format", "time-local", "time", "/components/schemas/Group/properties/opensAt/format", nil},
		{"date-format", "        startDate: {type: string, format: date}", "        startDate: {type: string}", "/components/schemas/Group/properties/startDate", nil},
		{"date-omit-time-portion", "        startDate: {type: string, format: date}", "        startDate: {anyOf: [{type: string, format: date-time}]}", "/components/schemas/Group/properties/startDate/anyOf/0/format", nil},
		{"schema-camel-case", "    Problem:\n      type: object", "    problem_: {type: object}\n    Problem:\n      type: object", "/components/schemas/problem_", nil},
		{"property-camel-case", "groupName:", "group_name:", "/components/schemas/Group/properties/group_name", nil},
		{"webhook-method", "    post:", "    put:", "/paths/~1events/put", nil},
		{"webhook-media-type", "application/cloudevents+json:", "application/cloudevents-batch+json:", post + "/requestBody/content", nil},
		{"webhook-idempotency-key", "in: header, required: true", "in: header", post + "/parameters/0", nil},
		{"webhook-idempotency-key", "name: Idempotency-Key", "name: Other", post, nil},
		{"webhook-accepted", "'202':", "'201':", post + "/responses", nil},
		{"webhook-answers", "        '409': {$ref: '#/components/responses/Problem'}\n", "", post + "/responses", nil},
		{"webhook-retry-after", "headers: {Retry-After: {schema: {type: integer}}}", "headers: {}", post + "/responses/429", nil},
		{"webhook-security", "      security: [{oauth: [events]}]\n", "", post, nil},
		{"webhook-security", "[{oauth: [events]}]", "[{oauth: [events]}, {}]", post, nil},
	})
}

// Names that only seem to be dates, and paths that a standard names, are left be.
func TestDesignLeavesBe(t *testing.T) {
	t.Parallel()
	for name, isDate := range map[string]bool{
		"date": true, "datum": true, "birthDate": true, "begin_datum": true, "geboorteDatumPartner": true, "startDateTime": false, "start_date_time": false,
		"beginDatumTijd": false, "update": false, "Date": false, "candidate": false, "": false,
	} {
		if namesDate(name) != isDate {
			t.Errorf("%q: date %v", name, !isDate)
		}
	}
	for path, ok := range map[string]bool{
		"/": true, "/a-b/{x}/c.d": true, "/a/_search": true, "/.well-known/api-catalog": true, "/openapi.json": true, "/aB": false, "/a_b": false, "/{x}/": true,
	} {
		r := Check(parse(t, "openapi: 3.0.0\ninfo: {title: a, version: 1.0.0}\npaths:\n  '"+path+"': {}\n"))
		if o, _ := r.Outcome("path-segments-kebab-case"); (o.State != Fails) != ok {
			t.Errorf("%s: %s", path, o.State)
		}
	}
}

// What a webhook or a callback describes is an API of the other party: the rules for one's own paths, answers and methods are not
// about it.
func TestWebhooksAreNoOwnPaths(t *testing.T) {
	t.Parallel()
	const theirs = `
      parameters: [{name: group_id, in: query, schema: {type: string}}]
      responses:
        '200': {description: Seen.}
        '404': {description: Nobody knows it., content: {text/plain: {schema: {type: string}}}}
`
	hook := "webhooks:\n  New_Group/:\n    put:" + strings.ReplaceAll(theirs, "\n      ", "\n        ")
	callback := "      callbacks:\n        told:\n          '{$request.query.where_to}':\n            patch:" + strings.ReplaceAll(theirs, "\n      ", "\n                ")
	for name, whole := range map[string]string{
		"webhook":  api + hook,
		"callback": strings.Replace(api, "      operationId: getGroup\n", "      operationId: getGroup\n"+callback, 1),
	} {
		if r := Check(parse(t, whole)); len(r.Findings) > 0 {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
	own := strings.Replace(api, "paths:\n", "paths:\n  /New_Group/:\n    put:"+strings.ReplaceAll(theirs, "\n      ", "\n        "), 1)
	if r := Check(parse(t, own)); len(r.Findings) < 4 {
		t.Errorf("as a path of one's own: %+v", r.Findings)
	}
}
