package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestPublishInvalid offers every kind of invalid event of CE-01 to CE-58 alone
// and in a batch between two good ones. Each is refused with a problem that names
// the attribute, and nothing of it is stored.
//
// Rules: CE-01, CE-02, CE-03, CE-04, CE-57, EDU-N02.
func TestPublishInvalid(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	for _, tc := range invalidEvents() {
		p := c.publish(t, tc.event).problem(t, http.StatusBadRequest, "event-invalid")
		wantFault(t, tc.name, p, tc.attribute, -1)
		if tc.whole {
			continue // not JSON, so that it spoils the whole batch
		}
		batch := "[" + sampleEvent("good-1") + "," + tc.event + "," + sampleEvent("good-2") + "]"
		p = c.do(t, http.MethodPost, "/events/v1/events", batch, "Content-Type", "application/cloudevents-batch+json", "Idempotency-Key", freshKey()).
			problem(t, http.StatusBadRequest, "event-invalid")
		wantFault(t, tc.name+" in a batch", p, tc.attribute, 1)
	}
	if n := h.eventCount(t); n != 0 {
		t.Errorf("CE-57: %d events of refused requests are stored", n)
	}
}

type invalidEvent struct {
	name, event, attribute string
	whole                  bool
}

func invalidEvents() []invalidEvent {
	with := func(name, attribute, member string) invalidEvent {
		return invalidEvent{name: name, attribute: attribute, event: sampleEvent("x", member)}
	}
	instead := func(name, attribute, old, replacement string) invalidEvent {
		return invalidEvent{name: name, attribute: attribute, event: strings.Replace(sampleEvent("x"), old, replacement, 1)}
	}
	const id, source, kind, version = `"id":"x",`, `"source":"urn:nld:oin:00000001823288444000:sis",`, `"type":"nl.example.student.enrolled",`, `"specversion":"1.0",`
	const contentType, data = `"datacontenttype":"application/json"`, `"data":{"studentId":"1234"}`
	return []invalidEvent{
		instead("CE-01 no id", "id", id, ""),
		instead("CE-01 no source", "source", source, ""),
		instead("CE-01 no type", "type", kind, ""),
		instead("CE-01 no specversion", "specversion", version, ""),
		instead("CE-01 empty id", "id", id, `"id":"",`),
		instead("CE-01 empty source", "source", source, `"source":"",`),
		instead("CE-01 empty type", "type", kind, `"type":"",`),
		with("CE-02 capital", "myExt", `"myExt":"a"`),
		with("CE-02 punctuation", "my-ext", `"my-ext":"a"`),
		with("CE-02 empty name", "", `"":"a"`),
		with("CE-03 fraction", "ext", `"ext":1.5`),
		with("CE-03 exponent", "ext", `"ext":1e2`),
		with("CE-03 beyond 32 bits", "ext", `"ext":2147483648`),
		with("CE-03 object", "ext", `"ext":{}`),
		with("CE-03 list", "ext", `"ext":[]`),
		instead("CE-03 number as id", "id", id, `"id":1,`),
		with("CE-04 control", "ext", `"ext":"\u0007"`),
		with("CE-04 C1 control", "ext", `"ext":"\u0085"`),
		with("CE-04 noncharacter", "ext", `"ext":"\uFFFE"`),
		with("CE-04 lone surrogate", "ext", `"ext":"\uDEAD"`),
		instead("CE-09 space in source", "source", source, `"source":"a b",`),
		instead("CE-09 broken percent", "source", source, `"source":"urn:%zz",`),
		instead("CE-11 1.0.2", "specversion", `"1.0"`, `"1.0.2"`),
		instead("CE-11 0.3", "specversion", `"1.0"`, `"0.3"`),
		instead("CE-11 number", "specversion", `"1.0"`, `1.0`),
		instead("CE-17 not a media type", "datacontenttype", contentType, `"datacontenttype":"json"`),
		instead("CE-17 empty", "datacontenttype", contentType, `"datacontenttype":""`),
		with("CE-18 relative", "dataschema", `"dataschema":"/schema"`),
		with("CE-18 empty", "dataschema", `"dataschema":""`),
		with("CE-19 empty subject", "subject", `"subject":""`),
		with("CE-20 no zone", "time", `"time":"2026-05-01T09:30:00"`),
		with("CE-20 hour 24", "time", `"time":"2026-05-01T24:00:00Z"`),
		with("CE-20 text", "time", `"time":"yesterday"`),
		with("CE-21 dataref", "dataref", `"dataref":"a b"`),
		with("CE-22 empty sequence", "sequence", `"sequence":""`),
		instead("CE-41 null id", "id", id, `"id":null,`),
		with("CE-42 both", "data_base64", `"data_base64":"AA=="`),
		instead("CE-42 number", "data_base64", data, `"data_base64":5`),
		instead("CE-42 not base64", "data_base64", data, `"data_base64":"%%%"`),
		instead("CE-43 object as text", "data", contentType, `"datacontenttype":"text/xml"`),
		with("CE-44 twice", "subject", `"subject":"a","subject":"b"`),
		with("CE-44 case", "ID", `"ID":"y"`),
		{name: "CE-40 not an object", event: `"x"`},
		{name: "CE-44 trailing", event: sampleEvent("x") + "}", whole: true},
		{name: "CE-44 not JSON", event: `{"id":}`, whole: true},
		{name: "CE-44 broken UTF-8", event: sampleEvent("\xff"), whole: true},
		{name: "CE-44 deep", event: sampleEvent("x", `"data":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)), whole: true},
	}
}

// TestPublishInvalidBinary does the same for what only binary mode has.
//
// Rules: CE-53, CE-54.
func TestPublishInvalidBinary(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	good := map[string]string{
		"Content-Type": "application/json", "ce-specversion": "1.0", "ce-id": "1", "ce-source": "urn:nld:oin:1:x",
		"ce-type": "nl.example.student.enrolled", "Idempotency-Key": freshKey(),
	}
	for name, tc := range map[string]struct {
		header, value string
		twice         bool
		body          string
		attribute     string
	}{
		"CE-01 no id":             {header: "ce-id", body: "{}", attribute: "id"},
		"CE-11 specversion":       {header: "ce-specversion", value: "1.0.2", body: "{}", attribute: "specversion"},
		"CE-20 time":              {header: "ce-time", value: "now", body: "{}", attribute: "time"},
		"CE-43 not JSON":          {header: "ce-subject", value: "s", body: "{", attribute: "data"},
		"CE-53 datacontenttype":   {header: "ce-datacontenttype", value: "text/plain", body: "{}", attribute: "datacontenttype"},
		"CE-53 twice":             {header: "ce-id", value: "1", twice: true, body: "{}", attribute: "id"},
		"CE-54 overlong":          {header: "ce-subject", value: "%C0%A0", body: "{}", attribute: "subject"},
		"CE-54 broken percent":    {header: "ce-subject", value: "%2", body: "{}", attribute: "subject"},
		"CE-02 name with hyphens": {header: "ce-my-ext", value: "a", body: "{}", attribute: "my-ext"},
		"CE-60 no body":           {header: "ce-subject", value: "s", body: ""},
	} {
		var headers []string
		for header, value := range good {
			if header != tc.header {
				headers = append(headers, header, value)
			}
		}
		if tc.value != "" {
			headers = append(headers, tc.header, tc.value)
		}
		if tc.twice {
			headers = append(headers, tc.header, tc.value)
		}
		p := c.do(t, http.MethodPost, "/events/v1/events", tc.body, headers...).problem(t, http.StatusBadRequest, "event-invalid")
		wantFault(t, name, p, tc.attribute, -1)
	}
	if n := h.eventCount(t); n != 0 {
		t.Errorf("%d events of refused requests are stored", n)
	}
}
