package web

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"schakel/registry/identity"
	"schakel/web/api"
	webpartners "schakel/web/partners"
	"schakel/web/site"
)

// A body that says something twice, or in other letters, or nothing at all, is refused with the place: whoever sent it
// meant something else than what would be read.
func TestJSONThatSaysSomethingElse(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite}})
	const subscriptions, resends, previews, contracts = "/events/v1/subscriptions", "/events/v1/resends", "/events/v1/resend-previews", "/registry/v1/contracts"
	for _, tt := range []struct{ name, target, body, pointer string }{
		{"twice", subscriptions, `{"name":"a","name":"b"}`, "/name"},
		{"twice in other letters", subscriptions, `{"name":"a","Name":"b"}`, "/Name"},
		{"in other letters", resends, `{"EndpointID":"end_1"}`, "/EndpointID"},
		{"unknown", resends, `{"a/b~c":1}`, "/a~1b~0c"},
		{"retry twice", subscriptions, `{"retry":{"waits":["5s"],"waits":["1m"]}}`, "/retry/waits"},
		{"retry in other letters", subscriptions, `{"retry":{"waits":["5s"],"maxattempts":3}}`, "/retry/maxattempts"},
		{"retry with null", subscriptions, `{"retry":{"waits":[null]}}`, "/retry/waits/0"},
		{"version twice", subscriptions, `{"versions":{"nl.a":"1","nl.A":"1","nl.a":"2"}}`, "/versions/nl.a"},
		{"in a filter", subscriptions, `{"filters":[{"exact":{"type":"a","type":"b"}}]}`, "/filters/0/exact"},
		{"in an object in ours", contracts, `{"contact":{"name":"a","Name":"b"}}`, "/contact/Name"},
		{"null selects all", resends, `{"deliveryIds":null}`, "/deliveryIds"},
		{"null text selects all", previews, `{"eventId":null}`, "/eventId"},
		{"no object", resends, `null`, ""},
		{"a list", previews, `[]`, ""},
		{"deep", subscriptions, `{"filters":` + strings.Repeat("[", 30_000), ""},
		{"more behind it", previews, `{}{}`, ""},
		{"broken off", previews, `{"reason":`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.pointer == "" {
				c.postJSON(t, tt.target, tt.body).problem(t, http.StatusBadRequest, "json-syntax")
				return
			}
			p := c.postJSON(t, tt.target, tt.body).problem(t, http.StatusBadRequest, "invalid")
			if !slices.ContainsFunc(p.Errors, func(e site.ProblemError) bool { return e.Pointer == tt.pointer }) {
				t.Errorf("%+v, want %s", p.Errors, tt.pointer)
			}
		})
	}
	c.postJSON(t, previews, ` {} `).want(t, http.StatusOK)
}

func FuzzCheckMembers(f *testing.F) {
	for _, seed := range []string{`{"retry":{"waits":[]},"versions":{"a":"b"}}`, `{"types":[null]}`, `[[`, `{"a":1,"A":2}`, `null`, `{}{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in webpartners.SubscriptionRequest
		if err := api.CheckMembers(body, reflect.TypeOf(&in), ""); err == nil {
			_ = api.DecodeStrict(body, &in)
		}
	})
}
