package message_test

import (
	"errors"
	"testing"

	amqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
)

func parse(t *testing.T, text string) event.Event {
	t.Helper()
	e, err := event.ParseJSON([]byte(text), event.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Events go over the wire in both modes and come back the same.
func TestCloudEventRoundTrip(t *testing.T) {
	t.Parallel()
	const attributes = `{"specversion":"1.0","id":"1","source":"urn:nld:oin:00000001234567890000:x","type":"nl.x.y.v1","time":"2026-03-14T09:26:53.5+01:00","sequence":"7"`
	for name, text := range map[string]string{
		"JSON":     attributes + `,"datacontenttype":"application/json","data":{"a": [1,2]}}`,
		"text":     attributes + `,"datacontenttype":"text/plain","data":"héé"}`,
		"binary":   attributes + `,"datacontenttype":"application/octet-stream","data_base64":"AAECAw=="}`,
		"no data":  attributes + `}`,
		"an event": attributes + `,"datacontenttype":"application/cloudevents+json","data":{"specversion":"1.0"}}`,
	} {
		for _, mode := range []event.Mode{event.Binary, event.Structured} {
			e := parse(t, text)
			got, _, err := message.DecodeCloudEvent(overWire(t, message.EncodeCloudEvent(e, mode)), event.Limits{})
			if err != nil || got.ID != e.ID || got.Time != e.Time || string(got.Data) != string(e.Data) || got.DataKind != e.DataKind {
				t.Errorf("%s, %s: %v %+v", name, mode, err, got)
			}
		}
	}
}

// In binary mode attributes are application properties under the standard's prefix,
// integers and booleans as themselves, and the content type is the property.
func TestCloudEventBinary(t *testing.T) {
	t.Parallel()
	e := parse(t, `{"specversion":"1.0","id":"1","source":"/s","type":"t","number":7,"flag":true,"data":{"a":1}}`)
	m := message.EncodeCloudEvent(e, event.Binary)
	want := map[string]any{
		"cloudEvents:specversion": "1.0", "cloudEvents:id": "1", "cloudEvents:source": "/s", "cloudEvents:type": "t",
		"cloudEvents:number": int32(7), "cloudEvents:flag": true,
	}
	for name, value := range want {
		if m.ApplicationProperties[name] != value {
			t.Errorf("%s is %#v", name, m.ApplicationProperties[name])
		}
	}
	if len(m.ApplicationProperties) != len(want) || *m.Properties.ContentType != "application/json" || string(m.Data[0]) != `{"a":1}` || !m.Header.Durable {
		t.Errorf("%+v %v", m.ApplicationProperties, *m.Properties.ContentType)
	}
	got, mode, err := message.DecodeCloudEvent(m, event.Limits{})
	if number, _ := got.Extension("number"); err != nil || mode != event.Binary || number != "7" {
		t.Errorf("%v, number %q", err, number)
	}
}

// Both prefixes are read; what is no event, or not clear, is refused.
func TestCloudEventRefused(t *testing.T) {
	t.Parallel()
	good := func() *amqp.Message {
		return &amqp.Message{
			ApplicationProperties: map[string]any{"cloudEvents_specversion": "1.0", "cloudEvents_id": "1", "cloudEvents_source": "/s", "cloudEvents:type": "t"},
			Data:                  [][]byte{[]byte("{}")},
		}
	}
	if _, _, err := message.DecodeCloudEvent(good(), event.Limits{}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*amqp.Message){
		"no specversion": func(m *amqp.Message) { delete(m.ApplicationProperties, "cloudEvents_specversion") },
		"other version":  func(m *amqp.Message) { m.ApplicationProperties["cloudEvents_specversion"] = "0.3" },
		"twice":          func(m *amqp.Message) { m.ApplicationProperties["cloudEvents:id"] = "2" },
		"content type":   func(m *amqp.Message) { m.ApplicationProperties["cloudEvents:datacontenttype"] = "text/plain" },
		"a batch":        func(m *amqp.Message) { m.Properties = &amqp.MessageProperties{ContentType: ptr(event.BatchMediaType)} },
		"another format": func(m *amqp.Message) {
			m.Properties = &amqp.MessageProperties{ContentType: ptr("application/cloudevents+xml")}
		},
		"broken JSON":     func(m *amqp.Message) { m.Properties = &amqp.MessageProperties{ContentType: ptr(event.MediaType)} },
		"a sequence":      func(m *amqp.Message) { m.Data, m.Sequence = nil, [][]any{{1}} },
		"no attributes":   func(m *amqp.Message) { m.ApplicationProperties = nil },
		"of no such type": func(m *amqp.Message) { m.ApplicationProperties["cloudEvents_x"] = []any{1} },
	} {
		m := good()
		change(m)
		_, _, err := message.DecodeCloudEvent(m, event.Limits{})
		if _, invalid := errors.AsType[*event.Invalid](err); !invalid && !errors.Is(err, event.ErrUnsupportedFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzCloudEvent holds that nothing that comes in stops us, and that what was read can be written.
func FuzzCloudEvent(f *testing.F) {
	raw, err := (&amqp.Message{
		ApplicationProperties: map[string]any{"cloudEvents:specversion": "1.0", "cloudEvents:id": "1", "cloudEvents:source": "/s", "cloudEvents:type": "t"},
		Data:                  [][]byte{[]byte("{}")},
	}).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := new(amqp.Message)
		if in.UnmarshalBinary(raw) != nil {
			return
		}
		e, _, err := message.DecodeCloudEvent(in, event.Limits{})
		if err != nil {
			return
		}
		if _, err := message.EncodeCloudEvent(e, event.Binary).MarshalBinary(); err != nil {
			t.Error(err)
		}
	})
}
