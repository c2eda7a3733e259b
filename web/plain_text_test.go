package web

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// Text that PostgreSQL does not take is refused before it, the same on both databases.
func TestTextThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		c := h.everything(t)
		for path, want := range map[string]int{
			"/events/v1/events/%00": 404, "/events/v1/objects/a%00b": 404, "/events/v1/quarantined-requests/%C3%28": 404,
			"/events/v1/subscriptions/%00": 404, "/registry/v1/contracts/%00": 404, "/registry/v1/contracts/%ff/releases": 404,
			"/events/v1/subscriptions?status=%00": 400, "/events/v1/deliveries?eventId=%ff": 400, "/registry/v1/contracts?q=a%00": 400,
			"/registry/v1/contracts?q=%2500": 200,
		} {
			c.get(t, path).want(t, want)
		}
		for path, body := range map[string]string{
			"/events/v1/resends":         `{"endpointId":"\u0000"}`,
			"/events/v1/resend-previews": `{"eventId":"a\\\u0000"}`,
			"/events/v1/subscriptions":   `{"name":"\u0000"}`,
		} {
			c.postJSON(t, path, body).problem(t, http.StatusBadRequest, "json-syntax")
		}
		c.postJSON(t, "/events/v1/resend-previews", `{"eventId":"\\u0000"}`).want(t, http.StatusOK)
	}, storetest.WithClock(clock))
}

// A client that cannot be is none: no failure of ours, which would have it try again.
func TestTokenForTextThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		for _, id := range []string{"\x00", "a\x00b", "\xff"} {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+"/oauth/token", strings.NewReader("grant_type=client_credentials"))
			r.Header = http.Header{
				"Content-Type":  {"application/x-www-form-urlencoded"},
				"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(id+":secret"))},
			}
			w := httptest.NewRecorder()
			h.app.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%q: status %d: %s", id, w.Code, w.Body)
			}
		}
	}, storetest.WithClock(clock))
}

func FuzzEscapesNUL(f *testing.F) {
	for _, s := range []string{`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `"\u0000\\u0000"`, `"\\u0000\u0000"`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got any
		if api.DecodeStrict([]byte(s), &got) != nil {
			return
		}
		text, ok := got.(string)
		if ok && strings.Contains(text, "\x00") != site.EscapesNUL([]byte(s)) {
			t.Errorf("%s: %v", s, site.EscapesNUL([]byte(s)))
		}
	})
}
