package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	amqp "github.com/Azure/go-amqp"
	"schakel/delivery/event"
	"schakel/templates/i18n"
)

// The prefixes of application properties that hold a CloudEvents attribute. The first is written; both are read.
const (
	eventPrefix      = "cloudEvents:"
	eventPrefixPlain = "cloudEvents_"
)

// EncodeCloudEvent writes an event in the AMQP binding of CloudEvents 1.0, in binary or structured mode, as a durable message. In
// binary mode integers and booleans are of those types, all other attributes strings; what binary mode cannot carry goes
// structured. An event without data has an empty Data section.
func EncodeCloudEvent(e event.Event, mode event.Mode) *amqp.Message {
	m := &amqp.Message{
		Header:     &amqp.MessageHeader{Durable: true, Priority: defaultPriority},
		Properties: &amqp.MessageProperties{},
	}
	if mode != event.Binary || len(e.Data) > 0 && !e.CanBinary() {
		contentType := event.MediaType + "; charset=utf-8"
		m.Properties.ContentType = &contentType
		m.Data = [][]byte{e.AppendJSON(nil)}
		return m
	}
	m.Properties.ContentType = optional(binaryContentType(&e))
	m.ApplicationProperties = eventProperties(&e)
	m.Data = [][]byte{append([]byte{}, e.Data...)}
	return m
}

func binaryContentType(e *event.Event) string {
	if len(e.Data) == 0 {
		return e.DataContentType
	}
	return e.DataType()
}

func eventProperties(e *event.Event) map[string]any {
	typed := literals(e.Attributes)
	properties := map[string]any{}
	for name, value := range e.All() {
		if name != "datacontenttype" {
			properties[eventPrefix+name] = nativeValue(typed[name], value)
		}
	}
	return properties
}

// literals gives the JSON literals of an event's attributes.
func literals(attributes []byte) map[string]any {
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader(attributes))
	decoder.UseNumber()
	if decoder.Decode(&all) != nil {
		return nil
	}
	return all
}

// nativeValue gives the AMQP value of an attribute: an int, a boolean or its text.
func nativeValue(literal any, text string) any {
	switch v := literal.(type) {
	case bool:
		return v
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 32); err == nil {
			return int32(n)
		}
	}
	return text
}

// DecodeCloudEvent reads an event in the AMQP binding, in the mode its content type
// says. In binary mode values of any simple type are taken as their text, and an empty
// body is no data. Errors: *event.Invalid, event.ErrTooLarge, event.ErrUnsupportedFormat.
func DecodeCloudEvent(in *amqp.Message, limits event.Limits) (event.Event, event.Mode, error) {
	d := decoder{unread: broken{}}
	contentType := ""
	if in.Properties != nil {
		contentType = d.pointed(FieldContentType, in.Properties.ContentType)
	}
	body := d.body(in)
	if len(d.unread) > 0 {
		return event.Event{}, 0, fmt.Errorf("%w: send the data in one Data section with a content type of text", event.ErrUnsupportedFormat)
	}
	mode, err := event.Detect(contentType)
	switch {
	case err != nil:
		return event.Event{}, 0, err
	case mode == event.Batch:
		return event.Event{}, mode, fmt.Errorf("%w: send one event a message", event.ErrUnsupportedFormat)
	case mode == event.Structured:
		e, err := event.ParseJSON(body, limits)
		return e, mode, err
	}
	e, err := decodeBinary(in.ApplicationProperties, contentType, body, limits)
	return e, event.Binary, err
}

func decodeBinary(properties map[string]any, contentType string, body []byte, limits event.Limits) (event.Event, error) {
	attributes, err := eventAttributes(properties)
	if err != nil {
		return event.Event{}, err
	}
	if contentType != "" {
		attributes["datacontenttype"] = contentType
	}
	if len(body) == 0 {
		body = nil
	}
	return event.New(attributes, body, limits)
}

// eventAttributes takes the attributes out of the application properties.
func eventAttributes(properties map[string]any) (map[string]string, error) {
	attributes := map[string]string{}
	var problems []event.Problem
	refuse := func(name, code string, detail i18n.Message) {
		problems = append(problems, event.Problem{Index: -1, Attribute: name, Code: code, Detail: detail})
	}
	for key, value := range properties {
		name, ok := eventAttribute(key)
		if !ok || value == nil {
			continue
		}
		text, simple := textOf(value)
		switch earlier, twice := attributes[name]; {
		case !simple:
			refuse(name, event.CodeType, "the value is of no type an attribute has; send a string")
		case twice && earlier != text:
			refuse(name, event.CodeDuplicate, "the attribute is given twice with different values; keep one")
		case name == "datacontenttype":
			refuse(name, event.CodeHeaderRefused, "datacontenttype is the property content-type; leave the application property out")
		default:
			attributes[name] = text
		}
	}
	if _, ok := attributes["specversion"]; !ok && len(problems) == 0 {
		refuse("specversion", event.CodeMissing, "specversion is missing; send the application property "+eventPrefix+"specversion with 1.0")
	}
	if len(problems) > 0 {
		return nil, &event.Invalid{Problems: problems}
	}
	return attributes, nil
}

func eventAttribute(key string) (string, bool) {
	if len(key) <= len(eventPrefix) {
		return "", false
	}
	prefix := key[:len(eventPrefix)]
	if !strings.EqualFold(prefix, eventPrefix) && !strings.EqualFold(prefix, eventPrefixPlain) {
		return "", false
	}
	return key[len(eventPrefix):], true
}
