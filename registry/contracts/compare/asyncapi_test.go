package compare

import (
	"strings"
	"testing"
)

// events is an AsyncAPI 3 document with one channel, one message and one operation.
func events(action, message string) string {
	return "asyncapi: 3.0.0\ninfo: {title: T, version: '1'}\nchannels:\n  c: {address: a, messages: {m: " + message + "}}\n" +
		"operations:\n  o: {action: " + action + ", channel: {$ref: '#/channels/c'}}\n"
}

const messageAt = "/channels/c/messages/m"

func TestAsyncAPIPayloads(t *testing.T) {
	t.Parallel()
	payload := func(schema string) string { return "{payload: " + schema + "}" }
	whole := "{type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}"
	for _, tt := range []struct{ name, old, new, read, sent string }{
		{
			"optional removed", whole, "{type: object, required: [a], properties: {a: {type: string}}}",
			"breaking payload-optional-property-removed /payload/properties/b", "warning payload-property-removed /payload/properties/b",
		},
		{
			"required removed", whole, "{type: object, properties: {b: {type: string}}}",
			"breaking payload-required-property-removed /payload/properties/a", "warning payload-property-removed /payload/properties/a",
		},
		{
			"became optional", whole, "{type: object, properties: {a: {type: string}, b: {type: string}}}",
			"breaking payload-property-became-optional /payload/properties/a", "info payload-property-became-optional /payload/properties/a",
		},
		{
			"became required", whole, "{type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}",
			"info payload-property-became-required /payload/required", "breaking payload-property-became-required /payload/required",
		},
		{
			"optional added", whole, "{type: object, required: [a], properties: {a: {type: string}, b: {type: string}, c: {}}}",
			"info payload-optional-property-added /payload/properties/c", "info payload-optional-property-added /payload/properties/c",
		},
		{
			"required added", whole, "{type: object, required: [a, c], properties: {a: {type: string}, b: {type: string}, c: {}}}",
			"info payload-required-property-added /payload/properties/c", "breaking payload-required-property-added /payload/properties/c",
		},
		{
			"enum narrower", "{properties: {a: {enum: [x, y]}}}", "{properties: {a: {enum: [x]}}}",
			"info payload-property-enum-value-removed /payload/properties/a/enum", "breaking payload-property-enum-value-removed /payload/properties/a/enum",
		},
		{
			"enum wider", "{properties: {a: {enum: [x]}}}", "{properties: {a: {enum: [x, y]}}}",
			"breaking payload-property-enum-value-added /payload/properties/a/enum", "info payload-property-enum-value-added /payload/properties/a/enum",
		},
		{
			"type", "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: integer}}}",
			"breaking payload-property-type-changed /payload/properties/a/type", "breaking payload-property-type-changed /payload/properties/a/type",
		},
		{
			"tuple of draft-07", "{type: array, items: [{type: string}]}", "{type: array, items: [{type: string}], additionalItems: false}",
			"info payload-property-schema-became-false /payload/additionalItems", "breaking payload-property-schema-became-false /payload/additionalItems",
		},
	} {
		changes := compared(t, events("send", payload(tt.old)), events("send", payload(tt.new)))
		wantOne(t, tt.name+" read", changes, tt.read, SideConsumer)
		changes = compared(t, events("receive", payload(tt.old)), events("receive", payload(tt.new)))
		wantOne(t, tt.name+" sent", changes, tt.sent, SideProducer)
	}
}

func wantOne(t *testing.T, name string, changes []Change, wanted, side string) {
	t.Helper()
	parts := strings.Split(wanted, " ")
	want(t, name, changes, parts[0]+" "+parts[1]+" "+messageAt+parts[2]+" "+side)
}

func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	base := events("send", "{name: nl.example.a.b, payload: {type: object}}")
	replaced := func(old, new string) string { return strings.Replace(base, old, new, 1) }
	broker := func(server string) string { return base + "servers: {s: " + server + "}\n" }
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"address", base, replaced("address: a", "address: b"), []string{"breaking channel-address-changed /channels/c/address both"}},
		{"channel renamed only", base, strings.NewReplacer("  c: {", "  k: {", "channels/c", "channels/k").Replace(base), nil},
		{"channel removed", base, "asyncapi: 3.0.0\ninfo: {title: T, version: '1'}\nchannels: {}\n", []string{
			"breaking channel-removed /channels/c both", "breaking event-type-removed " + messageAt + " consumer",
		}},
		{"channel added", base, replaced("channels:\n", "channels:\n  d: {address: d}\n"), []string{"info channel-added /channels/d both"}},
		{"parameter added", base, replaced("address: a,", "address: a, parameters: {p: {}},"), []string{"breaking channel-parameter-added /channels/c/parameters/p both"}},
		{"parameter removed", replaced("address: a,", "address: a, parameters: {p: {}},"), base, []string{"breaking channel-parameter-removed /channels/c/parameters/p both"}},
		{
			"parameter limited", replaced("address: a,", "address: a, parameters: {p: {}},"), replaced("address: a,", "address: a, parameters: {p: {enum: [x]}},"),
			[]string{"warning channel-parameter-changed /channels/c/parameters/p both"},
		},
		{
			"binding changed", replaced("address: a,", "address: a, bindings: {amqp: {is: queue}},"), replaced("address: a,", "address: a, bindings: {amqp: {is: routingKey}},"),
			[]string{"breaking bindings-changed /channels/c/bindings/amqp both"},
		},
		{"binding added", base, replaced("address: a,", "address: a, bindings: {amqp: {is: queue}},"), []string{"info bindings-changed /channels/c/bindings/amqp both"}},
		{"message added", base, replaced("m: {name", "n: {name: nl.example.a.c}, m: {name"), []string{
			"info event-type-added /channels/c/messages/n consumer", "info message-added /channels/c/messages/n consumer",
		}},
		{"message without a type added", base, replaced("m: {name", "n: {payload: {type: string}}, m: {name"), []string{"warning message-added /channels/c/messages/n consumer"}},
		{"message renamed only", base, replaced("m: {name", "n: {name"), nil},
		{"event type renamed", base, replaced("nl.example.a.b", "nl.example.a.c"), []string{
			"breaking event-type-removed " + messageAt + " consumer", "info event-type-added " + messageAt + " consumer",
		}},
		{
			"content type", replaced("{name", "{contentType: application/json, name"), replaced("{name", "{contentType: application/xml, name"),
			[]string{"breaking content-type-changed " + messageAt + "/contentType consumer"},
		},
		{"content type by default", replaced("{name", "{contentType: application/json, name"), base + "defaultContentType: application/json\n", nil},
		{
			"headers", replaced("{name", "{headers: {type: object, properties: {h: {type: string}}}, name"), replaced("{name", "{headers: {type: object, properties: {}}, name"),
			[]string{"breaking headers-optional-property-removed " + messageAt + "/headers/properties/h consumer"},
		},
		{
			"correlation", replaced("{name", "{correlationId: {location: '$message.header#/a'}, name"), replaced("{name", "{correlationId: {location: '$message.header#/b'}, name"),
			[]string{"warning correlation-changed " + messageAt + "/correlationId consumer"},
		},
		{"action", base, replaced("action: send", "action: receive"), []string{"breaking operation-action-changed /operations/o/action both"}},
		{"operation added", base, base + "  p: {action: receive, channel: {$ref: '#/channels/c'}}\n", []string{"info operation-added /operations/p producer"}},
		{"operation removed", base + "  p: {action: receive, channel: {$ref: '#/channels/c'}}\n", base, []string{"breaking operation-removed /operations/p producer"}},
		{"reply added", base, replaced("action: send,", "action: send, reply: {address: {location: '$message.header#/r'}},"), []string{"warning reply-added /operations/o/reply consumer"}},
		{
			"reply elsewhere", replaced("action: send,", "action: send, reply: {address: {location: '$message.header#/r'}},"), replaced("action: send,", "action: send, reply: {address: {location: '$message.header#/q'}},"),
			[]string{"breaking reply-address-changed /operations/o/reply consumer"},
		},
		{"security asked", base, replaced("action: send,", "action: send, security: [{type: userPassword}],"), []string{"breaking security-narrowed /operations/o/security consumer"}},
		{
			"security of 3.0 as a reference", replaced("action: send,", "action: send, security: [{$ref: '#/components/securitySchemes/u'}],") + "components: {securitySchemes: {u: {type: userPassword}}}\n",
			replaced("action: send,", "action: send, security: [{$ref: '#/components/securitySchemes/u'}],") + "components: {securitySchemes: {u: {type: X509}}}\n",
			[]string{"breaking security-scheme-changed /components/securitySchemes/u/type consumer"},
		},
		{"protocol", broker("{host: h, protocol: amqp}"), broker("{host: h, protocol: kafka}"), []string{"breaking server-changed /servers/s/protocol both"}},
		{"host", broker("{host: h, protocol: amqp}"), broker("{host: i, protocol: amqp}"), []string{"warning server-changed /servers/s/host both"}},
		{"server added", base, broker("{host: h, protocol: amqp}"), []string{"info server-added /servers/s both"}},
		{
			"Avro changed", replaced("payload: {type: object}", "payload: {schemaFormat: application/vnd.apache.avro, schema: {type: record, fields: []}}"),
			replaced("payload: {type: object}", "payload: {schemaFormat: application/vnd.apache.avro, schema: {type: record, fields: [{name: a, type: int}]}}"),
			[]string{"warning schema-not-judged " + messageAt + "/payload/schema consumer"},
		},
		{
			"Avro to JSON Schema", replaced("payload: {type: object}", "payload: {schemaFormat: application/vnd.apache.avro, schema: {type: record}}"), base,
			[]string{"breaking schema-format-changed " + messageAt + "/payload consumer"},
		},
	} {
		want(t, tt.name, compared(t, tt.old, tt.new), tt.want...)
	}
}

// TestAsyncAPITwo: what others subscribe to is sent to them, what they publish is received.
func TestAsyncAPITwo(t *testing.T) {
	t.Parallel()
	two := func(action, schema string) string {
		return "asyncapi: 2.6.0\ninfo: {title: T, version: '1'}\nchannels:\n  a:\n    " + action + ": {message: {name: m, payload: " + schema + "}}\n"
	}
	before, after := "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {}}"
	want(t, "subscribe", compared(t, two("subscribe", before), two("subscribe", after)),
		"breaking payload-optional-property-removed /channels/a/subscribe/message/payload/properties/a consumer")
	want(t, "publish", compared(t, two("publish", before), two("publish", after)),
		"warning payload-property-removed /channels/a/publish/message/payload/properties/a producer")
	want(t, "turned round", compared(t, two("publish", before), two("subscribe", before)),
		"breaking operation-removed /channels/a/publish producer", "info operation-added /channels/a/subscribe consumer")
	three := "asyncapi: 3.0.0\ninfo: {title: T, version: '1'}\nchannels:\n  c: {address: a, messages: {m: {name: m, payload: " + before + "}}}\noperations:\n  o: {action: send, channel: {$ref: '#/channels/c'}}\n"
	want(t, "the same in 3.0", compared(t, two("subscribe", before), three))
}

// TestSharedCause: what one shared schema brings about is one change and one group, with all that it touches.
func TestSharedCause(t *testing.T) {
	t.Parallel()
	shared := func(schema string) string {
		return `{"asyncapi":"3.0.0","info":{"title":"T","version":"1"},"channels":{"c":{"address":"a","messages":{
			"m":{"name":"nl.example.a.b","payload":{"type":"object","properties":{"s":{"$ref":"#/components/schemas/S"}}}},
			"n":{"name":"nl.example.a.c","payload":{"type":"object","properties":{"deep":{"type":"array","items":{"$ref":"#/components/schemas/S"}}}}}}}},
			"components":{"schemas":{"S":{"type":"object","properties":` + schema + `}}}}`
	}
	changes := compared(t, shared(`{"a":{"type":"string"},"b":{"type":"string"}}`), shared(`{"a":{"type":"boolean"}}`))
	want(t, "shared schema", changes, "breaking payload-property-type-changed /components/schemas/S/properties/a/type consumer",
		"breaking payload-optional-property-removed /components/schemas/S/properties/b consumer")
	groups := GroupByCause(changes)
	if len(groups) != 1 || groups[0].Cause != "/components/schemas/S" || groups[0].Text.String() != "The shared schema S: 2 breaking, in 2 places." {
		t.Fatalf("groups: %+v", groups)
	}
	if got := strings.Join(groups[0].EventTypes, " "); got != "nl.example.a.b nl.example.a.c" {
		t.Errorf("event types %s", got)
	}
	if c := changes[0]; c.Subject.String() != "message m and 1 more" || len(c.EventTypes) != 2 {
		t.Errorf("subject %q, types %v", c.Subject, c.EventTypes)
	}
}

// TestBindings changes what is said for a protocol: what the parties meet by breaks them, other settings ask for a look, and
// the version of the description changes nothing.
func TestBindings(t *testing.T) {
	t.Parallel()
	at := func(place, bindings string) string {
		doc := events("send", "{payload: {type: object}MSG}") + "servers: {s: {host: h, protocol: kafka SRV}}\n"
		doc = strings.Replace(doc, "address: a,", "address: a, CHN ", 1)
		doc = strings.Replace(doc, "channel: {$ref: '#/channels/c'}", "channel: {$ref: '#/channels/c'} OPR", 1)
		set := strings.NewReplacer("MSG", "", "SRV", "", "CHN", "", "OPR", "")
		if bindings != "" {
			said := "bindings: " + bindings
			doc = strings.Replace(doc, place, map[string]string{"MSG": ", " + said, "SRV": ", " + said, "CHN": said + ",", "OPR": ", " + said}[place], 1)
		}
		return set.Replace(doc)
	}
	for _, tt := range []struct{ name, place, old, new, want string }{
		{"kafka topic", "CHN", "{kafka: {topic: a}}", "{kafka: {topic: b}}", "breaking"},
		{"kafka topic said", "CHN", "{kafka: {partitions: 1}}", "{kafka: {partitions: 1, topic: b}}", "warning"},
		{"kafka partitions", "CHN", "{kafka: {partitions: 1}}", "{kafka: {partitions: 2}}", "warning"},
		{"kafka retention", "CHN", "{kafka: {topicConfiguration: {retention.ms: 1}}}", "{kafka: {topicConfiguration: {retention.ms: 2}}}", "warning"},
		{"kafka key", "MSG", "{kafka: {key: {type: string}}}", "{kafka: {key: {type: integer}}}", "warning"},
		{"kafka key described", "MSG", "{kafka: {key: {type: string, description: a}}}", "{kafka: {key: {type: string, description: b}}}", "info"},
		{"kafka registry", "SRV", "{kafka: {schemaRegistryUrl: 'https://a.example'}}", "{kafka: {schemaRegistryUrl: 'https://b.example'}}", "breaking"},
		{"kafka schema id", "MSG", "{kafka: {schemaIdLocation: header}}", "{kafka: {schemaIdLocation: payload}}", "breaking"},
		{"version", "MSG", "{kafka: {bindingVersion: 0.4.0}}", "{kafka: {bindingVersion: 0.5.0}}", "info"},
		{"amqp exchange", "CHN", "{amqp: {is: routingKey, exchange: {name: x, type: topic, durable: true}}}", "{amqp: {is: routingKey, exchange: {name: x, type: direct, durable: true}}}", "breaking"},
		{"amqp durable", "CHN", "{amqp: {is: routingKey, exchange: {name: x, durable: true}}}", "{amqp: {is: routingKey, exchange: {name: x, durable: false}}}", "warning"},
		{"amqp default", "CHN", "{amqp: {exchange: {name: x}}}", "{amqp: {is: routingKey, exchange: {name: x, vhost: /}}}", ""},
		{"amqp cc", "OPR", "{amqp: {cc: [a]}}", "{amqp: {cc: [b]}}", "breaking"},
		{"http method", "OPR", "{http: {method: GET}}", "{http: {method: POST}}", "breaking"},
		{"http query", "OPR", "{http: {method: GET, query: {type: object, properties: {a: {}}}}}", "{http: {method: GET, query: {type: object, properties: {b: {}}}}}", "warning"},
		{"http status", "MSG", "{http: {statusCode: 200}}", "{http: {statusCode: 202}}", "breaking"},
		{"http type dropped", "OPR", "{http: {type: request, method: GET, bindingVersion: 0.1.0}}", "{http: {method: GET, bindingVersion: 0.2.0}}", "warning"},
		{"mqtt qos", "OPR", "{mqtt: {qos: 1}}", "{mqtt: {qos: 2}}", "warning"},
		{"jms destination", "CHN", "{jms: {destination: a}}", "{jms: {destination: b}}", "breaking"},
		{"unknown protocol", "CHN", "{carrier: {pigeon: 1}}", "{carrier: {pigeon: 2}}", "warning"},
		{"removed", "CHN", "{kafka: {topic: a}}", "", "warning"},
		{"added", "CHN", "", "{kafka: {topic: a}}", "info"},
	} {
		changes := compared(t, at(tt.place, tt.old), at(tt.place, tt.new))
		got := ""
		for _, c := range changes {
			got = strings.TrimSpace(got + " " + string(c.Level))
			if c.Code != "bindings-changed" && tt.name != "kafka key described" || c.Text == "" || c.Why == "" {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s: %v", tt.name, got, tt.want, brief(changes))
		}
	}
}

// TestTraits moves what is said of a message or operation to traits and back, which changes nothing, and changes what a
// trait says, which counts as if the message said it. Objects in both are merged, in 2.6 with the trait over the message, from
// 3.0 on with the message over the trait.
func TestTraits(t *testing.T) {
	t.Parallel()
	three := func(message, operation string) string {
		return "asyncapi: 3.0.0\ninfo: {title: T, version: '1'}\nchannels:\n  c: {address: a, messages: {m: " + message + "}}\n" +
			"operations:\n  o: {action: send, channel: {$ref: '#/channels/c'}" + operation + "}\n" +
			"components: {messageTraits: {t: {headers: {type: object, properties: {x: {type: string}}}, bindings: {kafka: {schemaIdLocation: header}}}}, operationTraits: {t: {bindings: {amqp: {cc: [a]}}}}}\n"
	}
	two := func(message string) string {
		return "asyncapi: 2.6.0\ninfo: {title: T, version: '1'}\nchannels: {c: {subscribe: {message: " + message + "}}}\n"
	}
	plain := "{payload: {type: object}, headers: {type: object, properties: {y: {type: string}, x: {type: string}}}, bindings: {http: {statusCode: 200}, kafka: {schemaIdLocation: header}}}"
	split := "{traits: [{$ref: '#/components/messageTraits/t'}], payload: {type: object}, headers: {properties: {y: {type: string}}}, bindings: {http: {statusCode: 200}}}"
	for _, tt := range []struct{ name, old, new, want string }{
		{"moved to a trait", three(plain, ""), three(split, ""), ""},
		{"moved from a trait", three(split, ""), three(plain, ""), ""},
		{"operation", three(plain, ", bindings: {amqp: {cc: [a], ack: true}}"), three(plain, ", traits: [{$ref: '#/components/operationTraits/t'}], bindings: {amqp: {ack: true}}"), ""},
		{
			"a trait changes", three(split, ""), strings.Replace(three(split, ""), "schemaIdLocation: header", "schemaIdLocation: payload", 1),
			"breaking bindings-changed",
		},
		{
			"a trait of headers changes", three(split, ""), strings.Replace(three(split, ""), "x: {type: string}", "x: {type: integer}", 1),
			"breaking headers-property-type-changed",
		},
		{"the message wins in 3.0", three(split, ""), three(strings.Replace(split, "{y: {type: string}}", "{y: {type: string}, x: {type: integer}}", 1), ""), "breaking headers-property-type-changed"},
		{"the trait wins in 2.6", two("{contentType: text/plain, traits: [{contentType: application/json}]}"), two("{contentType: text/html, traits: [{contentType: application/json}]}"), ""},
		{"merged in 2.6", two("{headers: {type: object, properties: {a: {type: string}, b: {type: string}}}}"), two("{headers: {type: object, properties: {a: {type: string}}}, traits: [{headers: {properties: {b: {type: string}}}}]}"), ""},
		{"null takes away in 2.6", two("{correlationId: {location: '$message.header#/a'}}"), two("{correlationId: {location: '$message.header#/a'}, traits: [{correlationId: null}]}"), "warning correlation-changed"},
	} {
		got := ""
		for _, c := range compared(t, tt.old, tt.new) {
			got = strings.TrimSpace(got + " " + string(c.Level) + " " + c.Code)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
