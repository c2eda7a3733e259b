package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/registry/identity"
	"schakel/web/site"
)

// Rules: EDU-15, EDU-19, CE-62, IDEM-X02.
func TestPublishOne(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	answer := c.publish(t, sampleEvent("e-1")).want(t, http.StatusAccepted)
	var receipt struct {
		Events []struct{ EventID, ID, Source string }
	}
	answer.decode(t, &receipt)
	if len(receipt.Events) != 1 || receipt.Events[0].ID != "e-1" || receipt.Events[0].Source != "urn:nld:oin:00000001823288444000:sis" {
		t.Fatalf("receipt %s", answer.body)
	}
	where := answer.header.Get("Location")
	if where != "/events/v1/events/"+receipt.Events[0].EventID {
		t.Fatalf("location %q", where)
	}
	shown := c.get(t, where).want(t, http.StatusOK)
	if shown.member(t, "type") != "nl.example.student.enrolled" {
		t.Errorf("shown %s", shown.body)
	}
	stored := must(h.db.Event(t.Context(), receipt.Events[0].EventID))(t)
	if string(stored.Data) != `{"studentId":"1234"}` {
		t.Errorf("data %s", stored.Data)
	}
}

// Rules: EDU-15, EDU-16, CE-51, CE-56.
func TestPublishModes(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	batch := "[" + sampleEvent("b-1") + "," + sampleEvent("b-2") + "]"
	for name, tc := range map[string]struct {
		body    string
		headers []string
		ids     int
	}{
		"structured": {sampleEvent("s-1"), []string{"Content-Type", "application/cloudevents+json; charset=utf-8"}, 1},
		"batch":      {batch, []string{"Content-Type", "application/cloudevents-batch+json"}, 2},
		"empty":      {"[]", []string{"Content-Type", "application/cloudevents-batch+json"}, 0},
		"binary": {`{"studentId":"1"}`, []string{
			"Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "bin-1",
			"ce-source", "urn:nld:oin:00000001823288444000:sis", "ce-type", "nl.example.student.enrolled", "ce-subject", "Euro%20%E2%82%AC",
		}, 1},
	} {
		answer := c.do(t, http.MethodPost, "/events/v1/events", tc.body, append(tc.headers, "Idempotency-Key", freshKey())...).want(t, http.StatusAccepted)
		events, _ := answer.member(t, "events").([]any)
		if len(events) != tc.ids || !strings.Contains(string(answer.body), `"events":[`) {
			t.Errorf("%s: %s", name, answer.body)
		}
		if single := answer.header.Get("Location") != ""; single != (tc.ids == 1) {
			t.Errorf("%s: location %q", name, answer.header.Get("Location"))
		}
	}
	if n := h.eventCount(t); n != 4 {
		t.Errorf("%d events stored", n)
	}
}

// Rules: EDU-04, CE-10, CE-15, CE-31, CE-40, CE-52, CE-56, CE-60, CE-66, CE-67, CE-68, CE-69, SEC-08.
func TestPublishRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, reads := h.publisher(t, ""), h.consumer(t, "")
	wide := h.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.*"}, PublishSources: []string{"*"},
	})
	stranger := &apiClient{h: h, token: "eyJhbGciOiJub25lIn0.e30."}
	structured, batch := "application/cloudevents+json", "application/cloudevents-batch+json"
	retyped := strings.Replace(sampleEvent("x"), "student.enrolled", "course.started", 1)
	elsewhere := strings.Replace(sampleEvent("x"), "urn:nld:oin:", "urn:nld:kvknr:", 1)
	for name, tc := range map[string]struct {
		client          *apiClient
		target          string
		media, body     string
		status          int
		code, attribute string
		index           int
	}{
		"no token":           {h.anyone(), "", structured, sampleEvent("x"), 401, "token-missing", "", -1},
		"wrong token":        {stranger, "", structured, sampleEvent("x"), 401, "token-invalid", "", -1},
		"wrong scope":        {reads, "", structured, sampleEvent("x"), 403, "insufficient-scope", "", -1},
		"CE-68 token in URL": {h.anyone(), "?access_token=" + c.token, structured, sampleEvent("x"), 400, "token-in-query", "", -1},
		"CE-52 avro":         {c, "", "application/cloudevents+avro", "x", 415, "not-a-cloudevent", "", -1},
		"CE-52 json":         {c, "", "application/json", "{}", 415, "not-a-cloudevent", "", -1},
		"CE-66 text":         {c, "", "text/plain", "hello", 415, "not-a-cloudevent", "", -1},
		"CE-40 latin-1":      {c, "", structured + "; charset=iso-8859-1", sampleEvent("x"), 415, "not-a-cloudevent", "", -1},
		"CE-60 no body":      {c, "", structured, "", 400, "event-invalid", "", -1},
		"CE-10 type":         {c, "", structured, retyped, 403, "not-granted", "type", -1},
		"CE-10 source":       {c, "", structured, elsewhere, 403, "not-granted", "source", -1},
		"CE-10 in a batch":   {c, "", batch, "[" + sampleEvent("y") + "," + retyped + "]", 403, "not-granted", "type", 1},
		"CE-15 unknown type": {wide, "", structured, retyped, 400, "unknown-type", "type", -1},
		"CE-15 in a batch":   {wide, "", batch, "[" + sampleEvent("y") + "," + retyped + "]", 400, "unknown-type", "type", 1},
		"CE-31 too large":    {c, "", structured, sampleEvent("x", `"pad":"`+strings.Repeat("p", event.MinEventBytes)+`"`), 413, "too-large", "", -1},
		"CE-32 large, other": {c, "", "text/plain", strings.Repeat("p", event.MinEventBytes+1), 415, "not-a-cloudevent", "", -1},
		"CE-56 one too many": {c, "", batch, "[" + strings.Repeat(sampleEvent("x")+",", 100) + sampleEvent("x") + "]", 413, "too-large", "", -1},
		"CE-56 too large":    {c, "", batch, "[" + sampleEvent("x", `"pad":"`+strings.Repeat("p", 1<<20)+`"`) + "]", 413, "too-large", "", -1},
		"CE-56 large element": {
			c, "", batch, "[" + sampleEvent("y") + "," + sampleEvent("x", `"pad":"`+strings.Repeat("p", event.MinEventBytes)+`"`) + "]",
			413, "too-large", "", 1,
		},
	} {
		answer := tc.client.do(t, http.MethodPost, "/events/v1/events"+tc.target, tc.body, "Content-Type", tc.media, "Idempotency-Key", freshKey())
		if answer.status != tc.status {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
			continue
		}
		p := answer.problem(t, tc.status, tc.code)
		if tc.status == 401 && !strings.HasPrefix(answer.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: CE-69: %q", name, answer.header.Get("WWW-Authenticate"))
		}
		wantFault(t, name, p, tc.attribute, tc.index)
	}
	if n := h.eventCount(t); n != 0 {
		t.Errorf("%d events of refused requests are stored", n)
	}
}

// wantFault expects an error that names the attribute and, in a batch, the event.
func wantFault(t *testing.T, name string, p site.Problem, attribute string, index int) {
	t.Helper()
	if attribute == "" && index < 0 {
		return
	}
	pointer := "/" + attribute
	if index >= 0 {
		pointer = fmt.Sprintf("/%d%s", index, pointer)
	}
	for _, e := range p.Errors {
		if e.Attribute == attribute && (e.Index == nil) == (index < 0) && (index < 0 || *e.Index == index) &&
			(e.Pointer == pointer || attribute == "") && e.Detail != "" {
			return
		}
	}
	t.Errorf("%s: no error at %s: %+v", name, pointer, p.Errors)
}

// Rules: EDU-03f, CE-60.
func TestPublishMethods(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.publisher(t, "")
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		answer := c.do(t, method, "/events/v1/events", "").want(t, http.StatusMethodNotAllowed)
		if allow := answer.header.Get("Allow"); allow != "POST" {
			t.Errorf("%s: EDU-03f, CE-60: Allow %q", method, allow)
		}
	}
}

// Rules: EDU-20, EDU-20a, EDU-20b, CE-65, OPEN-08.
func TestPublishRate(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	h.set(t, "intake.client_rate", "0.5", "intake.client_burst", "2")
	fast, other := h.publisher(t, ""), h.publisher(t, "")
	fast.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
	fast.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
	answer := fast.publish(t, sampleEvent("3"))
	answer.problem(t, http.StatusTooManyRequests, "too-many-requests")
	if answer.header.Get("Retry-After") != "2" {
		t.Errorf("CE-65: Retry-After %q", answer.header.Get("Retry-After"))
	}
	other.publish(t, sampleEvent("1")).want(t, http.StatusAccepted) // EDU-20a
	h.clock.Advance(2e9)
	fast.publish(t, sampleEvent("3")).want(t, http.StatusAccepted)
}

func TestPublishUnknownTypesAccepted(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	h.set(t, "events.unknown_types", "accept")
	h.publisher(t, "").publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
}

// TestPublishWhileStopping: what cannot be stored is said to come back later.
//
// Rules: CE-67, EDU-N02.
func TestPublishWhileStopping(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	noError(t, h.engine.Stop(t.Context()))
	answer := c.publish(t, sampleEvent("1"))
	answer.problem(t, http.StatusServiceUnavailable, "store-unavailable")
	if answer.header.Get("Retry-After") == "" {
		t.Error("CE-67: no Retry-After")
	}
}

// TestPublishRaw writes requests by hand, as curl would, on one connection: all
// three modes, and one too large after which the connection still works (CE-32).
//
// Rules: CE-32.
func TestPublishRaw(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	connection := must(net.Dial("tcp", server.Listener.Addr().String()))(t)
	defer connection.Close()
	answers := bufio.NewReader(connection)
	for _, tc := range []struct {
		name, headers, body string
		status              int
	}{
		{"structured", "content-type: application/cloudevents+json", sampleEvent("raw-1"), 202},
		{"batch", "Content-Type: Application/CloudEvents-Batch+JSON; charset=UTF-8", "[" + sampleEvent("raw-2") + "]", 202},
		{"binary", "CONTENT-TYPE: application/json\r\nCE-SpecVersion: 1.0\r\nce-ID: \"raw-3\"\r\nCe-Type: nl.example.student.enrolled\r\n" +
			"ce-source: urn:nld:oin:1:x\r\nce-subject: Euro%20%E2%82%AC", `{"studentId":"1"}`, 202},
		{"too large", "Content-Type: application/cloudevents+json", sampleEvent("raw-4", `"pad":"`+strings.Repeat("p", 20*event.MinEventBytes)+`"`), 413},
		{"again", "Content-Type: application/cloudevents+json", sampleEvent("raw-5"), 202},
	} {
		must(fmt.Fprintf(connection, "POST /events/v1/events HTTP/1.1\r\nHost: schakel.example.nl\r\nAuthorization: Bearer %s\r\n"+
			"Idempotency-Key: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s", c.token, freshKey(), len(tc.body), tc.headers, tc.body))(t)
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != tc.status || answer.Close {
			t.Errorf("%s: %d, closes %v: %s", tc.name, answer.StatusCode, answer.Close, body)
		}
	}
	if n := h.eventCount(t); n != 4 {
		t.Errorf("%d events stored", n)
	}
}

// TestPublishBrokenBody: a body that ends before its time is not taken.
func TestPublishBrokenBody(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	connection := must(net.Dial("tcp", server.Listener.Addr().String()))(t)
	defer connection.Close()
	body := sampleEvent("cut")
	must(fmt.Fprintf(connection, "POST /events/v1/events HTTP/1.1\r\nHost: schakel.example.nl\r\nAuthorization: Bearer %s\r\n"+
		"Idempotency-Key: %s\r\nContent-Length: %d\r\nContent-Type: application/cloudevents+json\r\n\r\n%s", c.token, freshKey(), len(body)+1, body))(t)
	noError(t, connection.(*net.TCPConn).CloseWrite())
	answer := must(http.ReadResponse(bufio.NewReader(connection), nil))(t)
	if answer.StatusCode != http.StatusBadRequest || h.eventCount(t) != 0 {
		t.Errorf("%d, %d events", answer.StatusCode, h.eventCount(t))
	}
}

// An event of any kind arrives as it was sent: without data, with data, with a
// reference to data elsewhere, and with data that was signed or encrypted.
//
// Rules: EDU-01, EDU-03e, EDU-N07, CE-21, CE-22, CE-24, CE-30.
func TestEventsOfEveryKindArrive(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		const head = `{"specversion":"1.0","id":"k-1","source":"urn:nld:oin:00000001823288444000:sis","type":"nl.example.student.enrolled"`
		for name, rest := range map[string]string{
			"no data":   `,"subject":"student/1"}`,
			"data":      `,"datacontenttype":"application/json","data":{ "n": 1.50, "a": "\u00e9" }}`,
			"dataref":   `,"dataref":"https://school.example.nl/students/1?v=2"}`,
			"signed":    `,"datacontenttype":"application/jose","data":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln"}`,
			"bytes":     `,"datacontenttype":"application/octet-stream","data_base64":"AAH+/w=="}`,
			"extension": `,"datacontenttype":"text/xml","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","sequence":"7","sequencetype":"Integer","flag":true,"n":-5,"data":"<a/>"}`,
		} {
			body := strings.Replace(head, "k-1", "k-"+strings.ReplaceAll(name, " ", "-"), 1) + rest
			w.publisher.publish(t, body).want(t, http.StatusAccepted)
			got := w.receive(t, `{"maxEvents":1}`, 1)
			if string(got.Details[0].Event) != body {
				t.Errorf("%s: sent %s\nreceived %s", name, body, got.Details[0].Event)
			}
			w.settle(t, "/acknowledge", `{"lockTokens":`+got.tokens()+`}`, 1)
		}
	})
}

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

// BenchmarkPublish is one event through the whole router until it is on disk, from
// many clients at once.
func BenchmarkPublish(b *testing.B) {
	h := newAPIHarness(b, nil).withCatalogue(b)
	c := h.publisher(b, "")
	handler := h.app.Handler()
	var count atomic.Int64
	b.SetParallelism(64)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := sampleEvent("bench-" + strconv.FormatInt(count.Add(1), 10))
			r := httptest.NewRequest(http.MethodPost, "/events/v1/events", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+c.token)
			r.Header.Set("Content-Type", "application/cloudevents+json")
			r.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusAccepted {
				b.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
