package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/registry"
)

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
	stored, err := h.db.Event(t.Context(), receipt.Events[0].EventID)
	noError(t, err)
	if string(stored.Data) != `{"studentId":"1234"}` {
		t.Errorf("data %s", stored.Data)
	}
}

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

// TestPublishKey tries the keys of IDEM-06, IDEM-18 and IDEM-I01.
func TestPublishKey(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	const good = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	for name, tc := range map[string]struct {
		keys []string
		code string
	}{
		"absent":           {nil, "key-missing"},
		"empty":            {[]string{""}, "key-invalid"},
		"empty string":     {[]string{`""`}, "key-invalid"},
		"bare":             {[]string{good}, "key-invalid"},
		"two lines":        {[]string{`"` + good + `"`, `"` + good + `"`}, "key-invalid"},
		"list":             {[]string{`"` + good + `", "` + good + `"`}, "key-invalid"},
		"parameter":        {[]string{`"` + good + `";a=1`}, "key-invalid"},
		"bytes":            {[]string{`:OGUwMzk3OGU=:`}, "key-invalid"},
		"one quote":        {[]string{`"` + good}, "key-invalid"},
		"version 1":        {[]string{`"8e03978e-40d5-11e8-bc93-6894a57f9324"`}, "key-invalid"},
		"version 7":        {[]string{`"8e03978e-40d5-73e8-bc93-6894a57f9324"`}, "key-invalid"},
		"nil":              {[]string{`"00000000-0000-0000-0000-000000000000"`}, "key-invalid"},
		"variant":          {[]string{`"8e03978e-40d5-43e8-cc93-6894a57f9324"`}, "key-invalid"},
		"35":               {[]string{`"8e03978e-40d5-43e8-bc93-6894a57f932"`}, "key-invalid"},
		"37":               {[]string{`"` + good + `0"`}, "key-invalid"},
		"braces":           {[]string{`"{` + good + `}"`}, "key-invalid"},
		"urn":              {[]string{`"urn:uuid:` + good + `"`}, "key-invalid"},
		"no hyphens":       {[]string{`"8e03978e40d543e8bc936894a57f9324"`}, "key-invalid"},
		"not hex":          {[]string{`"8e03978g-40d5-43e8-bc93-6894a57f9324"`}, "key-invalid"},
		"space in quotes":  {[]string{`" ` + good + `"`}, "key-invalid"},
		"injection":        {[]string{`"8e03978e-40d5-43e8-bc93-6894a57f' --"`}, "key-invalid"},
		"escaped in quote": {[]string{`"8e03978e-40d5-43e8-bc93-6894a57f93\"4"`}, "key-invalid"},
	} {
		headers := []string{"Content-Type", "text/plain"}
		for _, key := range tc.keys {
			headers = append(headers, "Idempotency-Key", key)
		}
		// The key comes before all else of the request (IDEM-18): nothing else of it is right.
		p := c.do(t, http.MethodPost, "/events/v1/events", "nonsense", headers...).problem(t, http.StatusBadRequest, tc.code)
		if !strings.HasSuffix(p.Type, "/events/v1/openapi.yaml#"+tc.code) {
			t.Errorf("%s: type %q", name, p.Type)
		}
	}
}

func TestPublishKeyPolicies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy  KeyPolicy
		lenient bool
		key     string
		status  int
		warning bool
	}{
		{KeyRequired, false, "", 400, false},
		{KeyRequired, true, "8e03978e-40d5-43e8-bc93-6894a57f9324", 202, false},
		{KeyRequired, true, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`, 202, false},
		{KeyRequired, true, `8e03978e-40d5-43e8-bc93-6894a57f9324"`, 400, false},
		{KeyWarn, false, "", 202, true},
		{KeyWarn, false, "wrong", 400, false},
		{KeyOff, false, "wrong", 202, false},
	} {
		h := newAPIHarness(t, func(c *APIConfig) { c.KeyPolicy, c.LenientKey = tc.policy, tc.lenient }).withCatalogue(t)
		headers := []string{"Content-Type", "application/cloudevents+json"}
		if tc.key != "" {
			headers = append(headers, "Idempotency-Key", tc.key)
		}
		answer := h.publisher(t, "").do(t, http.MethodPost, "/events/v1/events", sampleEvent("1"), headers...)
		if answer.status != tc.status || (answer.header.Get("Warning") != "") != tc.warning {
			t.Errorf("%s lenient %v key %q: %d %s", tc.policy, tc.lenient, tc.key, answer.status, answer.body)
		}
	}
}

// TestPublishReplay is IDEM-08, IDEM-11, IDEM-14, IDEM-16 and G4.
func TestPublishReplay(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, other := h.publisher(t, ""), h.publisher(t, "")
	post := func(c *apiClient, key, body string) apiAnswer {
		return c.do(t, http.MethodPost, "/events/v1/events", body, "Content-Type", "application/cloudevents+json", "Idempotency-Key", key)
	}
	key := `"8e03978e-40d5-43e8-bc93-6894a57f9324"`
	first := post(c, key, sampleEvent("r-1")).want(t, http.StatusAccepted)
	for _, again := range []string{key, strings.ToUpper(key)} {
		second := post(c, again, sampleEvent("r-1")).want(t, http.StatusAccepted)
		if string(second.body) != string(first.body) || second.header.Get("Location") != first.header.Get("Location") {
			t.Errorf("replay differs: %s and %s", first.body, second.body)
		}
	}
	post(c, key, sampleEvent("r-2")).problem(t, http.StatusUnprocessableEntity, "key-reused")
	// Another client's key is its own (IDEM-16).
	post(other, key, sampleEvent("r-1")).want(t, http.StatusAccepted)
	// The same event under another key is the same event (G4).
	dup := post(c, freshKey(), sampleEvent("r-1")).want(t, http.StatusAccepted)
	if !strings.Contains(string(dup.body), `"duplicate":true`) || dup.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("duplicate %s", dup.body)
	}
	if n := h.eventCount(t); n != 2 {
		t.Errorf("%d events, want one per client", n)
	}
}

// TestPublishBinaryFingerprint: in binary mode the headers hold the event too.
func TestPublishBinaryFingerprint(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, key := h.publisher(t, ""), freshKey()
	post := func(id string) apiAnswer {
		return c.do(t, http.MethodPost, "/events/v1/events", `{}`, "Idempotency-Key", key, "Content-Type", "application/json", "ce-specversion", "1.0",
			"ce-id", id, "ce-source", "urn:nld:oin:1:x", "ce-type", "nl.example.student.enrolled")
	}
	post("1").want(t, http.StatusAccepted)
	post("1").want(t, http.StatusAccepted)
	post("2").problem(t, http.StatusUnprocessableEntity, "key-reused")
}

func TestPublishConcurrentKey(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, key := h.publisher(t, ""), freshKey()
	answers := make(chan apiAnswer)
	const many = 50
	for range many {
		go func() {
			answers <- c.do(t, http.MethodPost, "/events/v1/events", sampleEvent("c-1"), "Content-Type", "application/cloudevents+json", "Idempotency-Key", key)
		}()
	}
	bodies := map[string]int{}
	for range many {
		answer := <-answers
		switch answer.status {
		case http.StatusAccepted:
			bodies[string(answer.body)]++
		case http.StatusConflict:
			if answer.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", answer.header.Get("Retry-After"))
			}
		default:
			t.Errorf("%d %s", answer.status, answer.body)
		}
	}
	if len(bodies) != 1 || h.eventCount(t) != 1 {
		t.Errorf("%d different answers, %d events", len(bodies), h.eventCount(t))
	}
}

func TestPublishRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c, reads := h.publisher(t, ""), h.consumer(t, "")
	wide := h.newClient(t, "", registry.NewClient{
		Scopes: []string{scopeEventsPublish}, PublishTypes: []string{"nl.example.*"}, PublishSources: []string{"*"},
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
		"CE-56 large element": {c, "", batch, "[" + sampleEvent("y") + "," + sampleEvent("x", `"pad":"`+strings.Repeat("p", event.MinEventBytes)+`"`) + "]",
			413, "too-large", "", 1},
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
func wantFault(t *testing.T, name string, p Problem, attribute string, index int) {
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

func TestPublishRate(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, func(c *APIConfig) { c.ClientRate, c.ClientBurst = 0.5, 2 }).withCatalogue(t)
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
	h := newAPIHarness(t, func(c *APIConfig) { c.AcceptUnknownTypes = true })
	h.publisher(t, "").publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
}

// TestPublishWhileStopping: what cannot be stored is said to come back later.
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
