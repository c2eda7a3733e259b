package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/registry"
)

// TestPublishKey tries the keys of IDEM-06, IDEM-18 and IDEM-I01.
//
// Rules: IDEM-02, IDEM-06, IDEM-18, IDEM-I01, IDEM-I06, IDEM-I09, E5.
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
		if !strings.HasSuffix(p.Type, "/problems/"+tc.code) {
			t.Errorf("%s: type %q", name, p.Type)
		}
	}
}

// Rules: IDEM-02, OPEN-04, OPEN-17.
func TestPublishKeyPolicies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy  string
		lenient bool
		key     string
		status  int
		warning bool
	}{
		{registry.PolicyRequire, false, "", 400, false},
		{registry.PolicyRequire, true, "8e03978e-40d5-43e8-bc93-6894a57f9324", 202, false},
		{registry.PolicyRequire, true, `"8e03978e-40d5-43e8-bc93-6894a57f9324"`, 202, false},
		{registry.PolicyRequire, true, `8e03978e-40d5-43e8-bc93-6894a57f9324"`, 400, false},
		{registry.PolicyWarn, false, "", 202, true},
		{registry.PolicyWarn, false, "wrong", 400, false},
		{registry.PolicyOff, false, "wrong", 202, false},
	} {
		h := newAPIHarness(t, nil).withCatalogue(t)
		h.set(t, "idempotency.require_key", tc.policy)
		if tc.lenient {
			h.set(t, "idempotency.key_syntax", registry.KeyLenient)
		}
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
//
// Rules: IDEM-08, IDEM-11, IDEM-14, IDEM-15, IDEM-16, IDEM-I02, E11.
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
//
// Rules: IDEM-08, IDEM-I04.
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

// Rules: IDEM-X05, E12.
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
