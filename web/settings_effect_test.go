package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// set changes settings; pairs are keys and values.
func (h *apiHarness) set(t testing.TB, pairs ...string) {
	t.Helper()
	state := must(h.reg.Profile.Load(t.Context()))(t)
	values := state.Values()
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	_, _, err := h.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(t, err)
}

// policy reads the policy of the engine from the settings.
func (h *apiHarness) policy(ctx context.Context) (outbox.Policy, error) {
	state, err := h.reg.Profile.Current(ctx)
	if err != nil {
		return outbox.Policy{}, err
	}
	return outbox.Policy{KeyLifetime: state.KeyLifetime}, nil
}

// eventOf is an event of a type from a source.
func eventOf(kind, source string, more ...string) string {
	return `{"specversion":"1.0","id":"1","type":"` + kind + `","source":"` + source + `"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// TestSettingsOfEvents tries each value of each setting about what may come in,
// through the real router.
//
// Rules: CE-08, CE-10, CE-12, CE-13, CE-15, EDU-26, OPEN-17.
func TestSettingsOfEvents(t *testing.T) {
	t.Parallel()
	const (
		kind   = "nl.example.student.enrolled"
		source = "urn:nld:oin:00000001823288444000:systeem:sis"
		bsn    = `"subject":"111222333"`
	)
	h := newAPIHarness(t, nil).withCatalogue(t)
	wide := h.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.*", "StudentEnrolled"}, PublishSources: []string{"urn:nld:*", "https://sis.example.nl/*", "urn:other:*"},
	})
	narrow := h.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.*"}, PublishSources: []string{"urn:nld:oin:1:x"},
	})
	for name, tc := range map[string]struct {
		set    []string
		client *apiClient
		event  string
		status int
		code   string // of the problem, or of the first advice
	}{
		"nothing to say":                 {nil, wide, eventOf(kind, source), 202, ""},
		"CE-15 unknown type refused":     {[]string{"events.unknown_types", "refuse"}, wide, eventOf("nl.example.other", source), 400, "unknown-type"},
		"CE-15 unknown type taken":       {[]string{"events.unknown_types", "accept"}, wide, eventOf("nl.example.other", source), 202, ""},
		"CE-12 strict":                   {[]string{"events.unknown_types", "accept"}, wide, eventOf("StudentEnrolled", source), 400, "profile-refused"},
		"CE-12 warn":                     {[]string{"events.unknown_types", "accept", "events.type_policy", "warn"}, wide, eventOf("StudentEnrolled", source), 202, "type-not-reverse-dns"},
		"CE-12 off":                      {[]string{"events.unknown_types", "accept", "events.type_policy", "off"}, wide, eventOf("StudentEnrolled", source), 202, ""},
		"CE-13 two versions":             {[]string{"events.unknown_types", "accept"}, wide, eventOf("nl.example.v1.x.v2", source), 400, "profile-refused"},
		"CE-08 URN":                      {nil, wide, eventOf(kind, "urn:nld:kvknr:09220932.sis"), 202, ""},
		"CE-08 other URN, warn":          {nil, wide, eventOf(kind, "urn:other:sis"), 202, "source-not-urn-nld"},
		"CE-08 other URN, refuse":        {[]string{"events.source_action", "refuse"}, wide, eventOf(kind, "urn:other:sis"), 400, "profile-refused"},
		"CE-08 any":                      {[]string{"events.source_policy", "any"}, wide, eventOf(kind, "urn:other:sis"), 202, ""},
		"CE-08 OIN asked":                {[]string{"events.source_policy", "urn-nld-oin"}, wide, eventOf(kind, "urn:nld:kvknr:09220932.sis"), 202, "source-oin"},
		"CE-08 OIN asked, refuse":        {[]string{"events.source_policy", "urn-nld-oin", "events.source_action", "refuse"}, wide, eventOf(kind, "urn:nld:kvknr:09220932.sis"), 400, "profile-refused"},
		"CE-09 a place, any, refuse":     {[]string{"events.source_policy", "any", "events.source_action", "refuse"}, wide, eventOf(kind, "https://sis.example.nl/x"), 202, "source-location"},
		"EDU-26 warn":                    {nil, wide, eventOf(kind, source, bsn), 202, "sensitive-bsn"},
		"EDU-26 refuse":                  {[]string{"events.sensitive_attributes", "refuse"}, wide, eventOf(kind, source, bsn), 400, "profile-refused"},
		"EDU-26 off":                     {[]string{"events.sensitive_attributes", "off"}, wide, eventOf(kind, source, bsn), 202, ""},
		"CE-10 enforce":                  {nil, narrow, eventOf(kind, source), 403, "not-granted"},
		"CE-10 warn":                     {[]string{"events.source_binding", "warn"}, narrow, eventOf(kind, source), 202, "source-not-granted"},
		"CE-10 off":                      {[]string{"events.source_binding", "off"}, narrow, eventOf(kind, source), 202, ""},
		"CE-10 off keeps types":          {[]string{"events.source_binding", "off"}, narrow, eventOf("nl.other.x", source), 403, "not-granted"},
		"CE-02 a long name is only told": {nil, wide, eventOf(kind, source, `"averyveryverylongname1":"x"`), 202, "attribute-name-length"},
	} {
		h.reset(t)
		h.set(t, tc.set...)
		answer := tc.client.publish(t, tc.event)
		if answer.status != tc.status {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
			continue
		}
		var body struct {
			Code   string
			Advice []site.ProblemError
			Errors []site.ProblemError
		}
		answer.decode(t, &body)
		got := body.Code
		if len(body.Advice) > 0 {
			got = body.Advice[0].Code
		}
		if got != tc.code {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.code, answer.body)
		}
		if tc.status == 400 && (len(body.Errors) == 0 || body.Errors[0].Pointer == "" || body.Errors[0].Detail == "") {
			t.Errorf("%s: names no attribute: %s", name, answer.body)
		}
	}
}

// reset takes all settings back to those of the installation.
func (h *apiHarness) reset(t testing.TB) {
	t.Helper()
	state := must(h.reg.Profile.Load(t.Context()))(t)
	_, _, err := h.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version})
	noError(t, err)
}

// TestSettingsOfBatches: which event of a batch is meant, how many and how large,
// and that a chain may take none.
//
// Rules: EDU-16, CE-66.
func TestSettingsOfBatches(t *testing.T) {
	t.Parallel()
	var told []string
	h := newAPIHarness(t, func(c *api.Config) { c.Advised = func(code string) { told = append(told, code) } }).withCatalogue(t)
	c := h.publisher(t, "")
	post := func(body string) apiAnswer {
		return c.do(t, http.MethodPost, "/events/v1/events", body, "Content-Type", "application/cloudevents-batch+json", "Idempotency-Key", freshKey())
	}
	one := sampleEvent("1")
	answer := post("["+one+","+eventOf("nl.example.student.enrolled", "urn:nld:oin:1:x")+"]").want(t, http.StatusAccepted)
	body := decoded[struct{ Advice []site.ProblemError }](t, answer)
	if len(body.Advice) != 1 || body.Advice[0].Index == nil || *body.Advice[0].Index != 1 || body.Advice[0].Pointer != "/1/source" {
		t.Errorf("advice %s", answer.body)
	}
	if len(told) != 1 || told[0] != "source-oin" {
		t.Errorf("counted %v", told)
	}
	h.set(t, "events.max_batch_events", "1")
	post("["+one+","+one+"]").problem(t, http.StatusRequestEntityTooLarge, "too-large")
	post("["+one+"]").want(t, http.StatusAccepted)
	h.reset(t)
	large := "[" + strings.Repeat(" ", 70_000) + one + "]"
	post(large).want(t, http.StatusAccepted)
	h.set(t, "events.max_batch_bytes", "65538")
	post(large).problem(t, http.StatusRequestEntityTooLarge, "too-large")
	h.set(t, "events.batch", "off")
	p := post("[" + one + "]")
	p.problem(t, http.StatusUnsupportedMediaType, "not-a-cloudevent")
	if p.header.Get("Accept-Post") != "application/cloudevents+json" {
		t.Errorf("EDU-16: Accept-Post %q", p.header.Get("Accept-Post"))
	}
	c.publish(t, one).want(t, http.StatusAccepted)
}

// Rules: CE-32, OPEN-02.
func TestSettingOfEventSize(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	large := sampleEvent("large", `"subject":"`+strings.Repeat("s", 70_000)+`"`)
	c.publish(t, large).problem(t, http.StatusRequestEntityTooLarge, "too-large")
	h.set(t, "events.max_event_bytes", "131072")
	c.publish(t, large).want(t, http.StatusAccepted)
}

// TestSettingOfKeyLifetime: IDEM-07, and that a key counts from when it was sent.
//
// Rules: IDEM-07, E6.
func TestSettingOfKeyLifetime(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	h.set(t, "idempotency.ttl", "48h", "sending.deadline", "48h")
	c := h.publisher(t, "")
	key := freshKey()
	post := func(id string) apiAnswer {
		c.token = c.newToken(t, "")
		return c.do(t, http.MethodPost, "/events/v1/events", sampleEvent(id), "Content-Type", "application/cloudevents+json", "Idempotency-Key", key)
	}
	post("1").want(t, http.StatusAccepted)
	h.clock.Advance(47 * time.Hour)
	post("2").problem(t, http.StatusUnprocessableEntity, "key-reused")
	h.clock.Advance(2 * time.Hour)
	post("2").want(t, http.StatusAccepted)
}

// TestSettingOfDeleteKey tries the keys of a DELETE.
//
// Rules: IDEM-05, IDEM-07, IDEM-14, IDEM-16, E4
func TestSettingOfDeleteKey(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "Noord")
	c, other := h.consumer(t, partner.ID), h.consumer(t, partner.ID)
	c.do(t, http.MethodDelete, "/events/v1/subscriptions/sub_none", "").want(t, http.StatusNotFound)
	key := freshKey()
	del := func(c *apiClient, target, key string) apiAnswer {
		return c.do(t, http.MethodDelete, target, "", "Idempotency-Key", key)
	}
	del(c, "/events/v1/subscriptions/sub_none", "nonsense").problem(t, http.StatusBadRequest, "key-invalid")
	del(c, "/events/v1/subscriptions/sub_none", freshKey()).want(t, http.StatusNotFound)
	id := h.subscribed(t, partner.ID)
	del(c, "/events/v1/subscriptions/"+id, key).want(t, http.StatusNoContent)
	del(c, "/events/v1/subscriptions/"+id, key).want(t, http.StatusNoContent)
	del(c, "/events/v1/subscriptions/sub_none", key).problem(t, http.StatusUnprocessableEntity, "key-reused")
	del(other, "/events/v1/subscriptions/sub_none", key).want(t, http.StatusNotFound) // its own key
	h.set(t, "idempotency.require_key_on_delete", "require")
	c.do(t, http.MethodDelete, "/events/v1/subscriptions/"+id, "").problem(t, http.StatusBadRequest, "key-missing")
	del(c, "/events/v1/subscriptions/"+id, freshKey()).want(t, http.StatusNoContent)
	h.clock.Advance(7*24*time.Hour + time.Second)
	c.token = c.newToken(t, "")
	del(c, "/events/v1/subscriptions/sub_none", key).want(t, http.StatusNotFound) // the key is over
}

// subscribed makes a subscription of a partner.
func (h *apiHarness) subscribed(t testing.TB, partnerID string) string {
	t.Helper()
	endpoint := store.Endpoint{PartnerID: partnerID, Kind: store.EndpointPull, Name: "Records", Status: store.EndpointActive}
	s := store.Subscription{PartnerID: partnerID, Name: "All", Status: store.SubscriptionRequested, Types: store.Strings{"nl.example.student.enrolled"}}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertEndpoint(t.Context(), &endpoint); err != nil {
			return err
		}
		s.EndpointID = endpoint.ID
		return tx.InsertSubscription(t.Context(), &s)
	}))
	return s.ID
}

// TestSettingOfClientAuth is SEC-02: what the token endpoint offers and takes.
//
// Rules: SEC-02.
func TestSettingOfClientAuth(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.consumer(t, "")
	basic := func() apiAnswer {
		return (&apiClient{h: h}).do(t, http.MethodPost, "/oauth/token", "grant_type=client_credentials",
			"Content-Type", "application/x-www-form-urlencoded", "Authorization", basicAuth(c.id, c.secret))
	}
	offered := func() int {
		list, _ := h.anyone().get(t, "/.well-known/oauth-authorization-server").member(t, "token_endpoint_auth_methods_supported").([]any)
		return len(list)
	}
	basic().want(t, http.StatusOK)
	h.set(t, "tokens.client_auth", "private_key_jwt")
	basic().want(t, http.StatusUnauthorized)
	if n := offered(); n != 1 {
		t.Errorf("%d methods offered", n)
	}
	if _, _, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), "", identity.NewClient{
		Name: "Secret", AuthMethod: token.ClientSecretBasic, Scopes: []string{site.ScopeRegistryRead},
	}); err == nil {
		t.Error("a client with a secret can still be made")
	}
	h.set(t, "tokens.client_auth", "client_secret_post")
	basic().want(t, http.StatusOK)
	posted, secret, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), "", identity.NewClient{
		Name: "Post", AuthMethod: token.ClientSecretPost, Scopes: []string{site.ScopeRegistryRead},
	})
	noError(t, err)
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {posted.ID}, "client_secret": {secret}}
	(&apiClient{h: h}).do(t, http.MethodPost, "/oauth/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded").want(t, http.StatusOK)
	if n := offered(); n != 3 {
		t.Errorf("%d methods offered", n)
	}
}

// TestSettingOfSpecVersions is EDU-21 and OPEN-10.
//
// Rules: EDU-21, OPEN-10.
func TestSettingOfSpecVersions(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.writer(t)
	c.postJSON(t, "/registry/v1/contracts", `{"id":"old","kind":"openapi","title":"Old","contact":{"name":"Ada","email":"ada@example.nl"}}`)
	check := func(version string) apiAnswer {
		return c.do(t, http.MethodPost, "/registry/v1/validations", "openapi: "+version+"\ninfo: {title: T, version: 1.0.0}\npaths: {}\n", "Content-Type", "application/yaml")
	}
	check("3.0.3").want(t, http.StatusOK)
	h.set(t, "register.spec_versions", "warn")
	if answer := check("3.0.3").want(t, http.StatusOK); !bytes.Contains(answer.body, []byte("spec-version")) {
		t.Errorf("no warning: %s", answer.body)
	}
	if answer := check("3.2.0").want(t, http.StatusOK); bytes.Contains(answer.body, []byte("spec-version")) {
		t.Errorf("a warning: %s", answer.body)
	}
	h.set(t, "register.spec_versions", "refuse")
	var p site.Problem
	answer := check("3.1.0")
	answer.decode(t, &p)
	if answer.status < 400 || len(p.Errors) == 0 || p.Errors[0].Code != "spec-version" || p.Errors[0].Pointer != "/openapi" || p.Errors[0].Line != 1 {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	check("3.2.0").want(t, http.StatusOK)
}

// TestSettingsArePublished: the description of the API tells the settings of now (IDEM-I05).
//
// Rules: IDEM-I05.
func TestSettingsArePublished(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	for _, form := range []string{"yaml", "json"} {
		before := h.anyone().get(t, "/events/v1/openapi."+form).want(t, http.StatusOK)
		h.set(t, "idempotency.ttl", "200h", "idempotency.key_syntax", "lenient", "idempotency.require_key", "warn")
		after := h.anyone().get(t, "/events/v1/openapi."+form).want(t, http.StatusOK)
		for _, words := range []string{"| Lifetime of a key | 8 d 8 h | IDEM-07", "| May be left out |", "| Asked for: without a key the answer carries a warning |"} {
			if bytes.Contains(before.body, []byte(words)) || !bytes.Contains(after.body, []byte(words)) {
				t.Errorf("%s: %q", form, words)
			}
		}
		if bytes.Contains(after.body, []byte("live settings")) || before.header.Get("ETag") == after.header.Get("ETag") {
			t.Errorf("%s: ETag %s then %s", form, before.header.Get("ETag"), after.header.Get("ETag"))
		}
		h.reset(t)
	}
}
