package compare

import (
	"strings"
	"testing"
)

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
