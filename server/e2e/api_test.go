package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"schakel/server/demo"
)

// answer is what an API said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into reads a JSON answer.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("answer %d %q: %v", a.status, a.body, err)
	}
}

// want fails unless the status is as wanted.
func (a answer) want(t testing.TB, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("answer %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// call sends a request with a token; body is text, bytes or what becomes JSON.
func (s *program) call(t testing.TB, method, path, token string, header map[string]string, body any) answer {
	t.Helper()
	a, err := s.try(method, path, token, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is call where the program may be gone.
func (s *program) try(method, path, token string, header map[string]string, body any) (answer, error) {
	raw, isJSON, err := encode(body)
	if err != nil {
		return answer{}, err
	}
	q, err := http.NewRequest(method, s.base+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if isJSON {
		q.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range header {
		q.Header.Set(name, value)
	}
	r, err := s.client.Do(q)
	if err != nil {
		return answer{}, err
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	return answer{r.StatusCode, r.Header, got}, err
}

func encode(body any) (raw []byte, isJSON bool, err error) {
	switch b := body.(type) {
	case nil:
		return nil, false, nil
	case string:
		return []byte(b), false, nil
	case []byte:
		return b, false, nil
	}
	raw, err = json.Marshal(body)
	return raw, true, err
}

// token asks an access token with all the scopes named.
func (s *program) token(t testing.TB, creds demo.Credentials, scopes ...string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {strings.Join(scopes, " ")}}
	q, err := http.NewRequest(http.MethodPost, s.base+"/oauth/token", strings.NewReader(form.Encode()))
	must(t, err)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.SetBasicAuth(url.QueryEscape(creds.ID), url.QueryEscape(creds.Secret))
	r, err := s.client.Do(q)
	must(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	must(t, err)
	var got struct {
		AccessToken string `json:"access_token"`
	}
	answer{r.StatusCode, r.Header, body}.want(t, http.StatusOK).into(t, &got)
	return got.AccessToken
}

// newEvent makes a CloudEvent of an organisation and gives its id.
func newEvent(own demo.Organisation, eventType string) (id, body string) {
	id = uuid.NewString()
	return id, fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":%q,"datacontenttype":"application/json","data":{"objectId": "%s",  "n":1.50}}`,
		id, own.Source(), eventType, id)
}

// publish sends one structured event and wants it accepted; it gives the event's
// id here.
func (s *program) publish(t testing.TB, token, body string) string {
	t.Helper()
	var receipt struct {
		Events []struct{ EventID string }
	}
	s.call(t, http.MethodPost, "/events/v1/events", token, eventHeader("application/cloudevents+json"), body).
		want(t, http.StatusAccepted).into(t, &receipt)
	if len(receipt.Events) != 1 {
		t.Fatalf("receipt of %d events", len(receipt.Events))
	}
	return receipt.Events[0].EventID
}

// eventHeader is that of an intake request with a key of its own.
func eventHeader(contentType string) map[string]string {
	return map[string]string{"Content-Type": contentType, "Idempotency-Key": `"` + uuid.NewString() + `"`}
}
