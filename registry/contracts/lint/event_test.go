package lint

import (
	"strings"
	"testing"
)

// channel keeps every rule for AsyncAPI documents.
const channel = `asyncapi: 3.1.0
info: {title: Students, version: 1.0.0, description: Events of students.}
channels:
  students:
    address: students
    messages:
      enrolled: {$ref: '#/components/messages/enrolled'}
components:
  messages:
    enrolled:
      contentType: application/cloudevents+json
      payload: {$ref: '#/components/schemas/Event'}
      examples:
        - payload:
            specversion: '1.0'
            id: 5f0b1a52-2d8e-4b9e-9c43-0e8a5b1d7c11
            source: urn:nld:oin:00000001823288444000:systeem:students
            type: nl.students.enrolled.v1
            time: 2026-05-01T12:00:00Z
            subject: 7c1a5bd4
            datacontenttype: application/json
            dataschema: https://example.nl/contracts/students/1.0.0
            data: {studentId: 7c1a5bd4}
  schemas:
    Event:
      type: object
      required: [specversion, id, source, type]
      properties:
        specversion: {const: '1.0'}
        id: {type: string, description: A random UUID.}
        source: {type: string}
        type: {const: nl.students.enrolled.v1}
        time: {type: string, description: When the enrolment was recorded.}
        subject: {type: string, description: The key of the student.}
        datacontenttype: {const: application/json}
        dataschema: {type: string}
        partitionkey: {type: string}
        data: {$ref: '#/components/schemas/Enrolment'}
    Enrolment:
      type: object
      properties:
        studentId: {type: string}
        courses: {type: array, items: {type: object, properties: {names: {type: array, items: {type: string}}}}}
`

// Each rule for AsyncAPI documents holds for a document that keeps it, and reports the place in another that does not.
//
// Rules: EDU-01, EDU-01b, EDU-21, EDU-26, CE-01, CE-02, CE-06, CE-07, CE-08, CE-09, CE-12, CE-13, CE-14, CE-17, CE-18, CE-20, CE-31.
func TestEventRules(t *testing.T) {
	t.Parallel()
	const message, shown = "/components/messages/enrolled", "/components/messages/enrolled/examples/0/payload"
	const schema = "/components/schemas/Event/properties"
	const fixedType = "        type: {const: nl.students.enrolled.v1}"
	// A subject is enough by itself, so the data refers to the student only where there is none.
	checkBroken(t, channel, eventRules(), []broken{
		{"event-type-name", fixedType, "        type: {const: students.enrolled}", message, nil},
		{"event-type-name", fixedType, "        type: {const: nl.students.Enrolled}", message, nil},
		{"event-type-version", fixedType, "        type: {const: nl.students.enrolled.v1.2}", message, nil},
		{"event-type-version", fixedType, "        type: {const: nl.students.enrolled.1}", message, nil},
		{"event-type-version", fixedType, "        type: {const: nl.students-v1.enrolled.v2}", message, nil},
		{"event-type-domain", fixedType, "        type: {const: nl.student.enrolled}", message, nil},
		{"event-sensitive", "            subject: 7c1a5bd4", "            subject: '123456782'", shown + "/subject", nil},
		{"event-sensitive", "            subject: 7c1a5bd4", "            subject: a.jansen@example.nl", shown + "/subject", nil},
		{"event-sensitive", "The key of the student.", "The BSN of the student.", schema + "/subject", nil},
		{"event-sensitive", "subject: {type: string, description", "subject: {type: string, pattern: '^\\d{9}$', description", schema + "/subject", nil},
		{"event-time-meaning", "time: {type: string, description: When the enrolment was recorded.}", "time: {type: string}", schema + "/time", nil},
		{"event-id-meaning", "id: {type: string, description: A random UUID.}", "id: {type: string}", schema + "/id", nil},
		{"event-source", "urn:nld:oin:00000001823288444000:systeem:students", "https://example.nl/students", shown + "/source", nil},
		{"event-attributes", "            id: 5f0b1a52-2d8e-4b9e-9c43-0e8a5b1d7c11\n", "", "/components/messages/enrolled/examples/0", nil},
		{"event-attributes", "2026-05-01T12:00:00Z", "1 May 2026", shown + "/time", nil},
		{"event-attributes", "            specversion: '1.0'", "            specversion: '1.0.1'", shown + "/specversion", nil},
		{"event-attribute-names", "partitionkey:", "partition_key:", schema + "/partition_key", nil},
		{"event-attribute-names", "partitionkey:", "averylongnameforanattribute:", schema + "/averylongnameforanattribute", nil},
		{"event-dataschema", "https://example.nl/contracts/students/1.0.0", "students/1.0.0", shown + "/dataschema", nil},
		{"event-data-json", "datacontenttype: {const: application/json}", "datacontenttype: {const: text/xml}", schema + "/datacontenttype/const", nil},
		{"event-aggregate", "items: {type: string}}}}}", "items: {type: array, items: {type: string}}}}}}", "/components/schemas/Enrolment", nil},
		{"event-size", "data: {studentId: 7c1a5bd4}", "data: {studentId: '" + strings.Repeat("a", 64<<10) + "'}", "/components/messages/enrolled/examples/0", nil},
		{"event-object-reference", "        studentId: {type: string}", "        name: {type: string}", message, []string{"subject:", "partner:"}},
	})
}
