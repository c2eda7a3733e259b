package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"schakel/server/demo"
)

// Answer holds the response of an API.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into reads a JSON answer.
func (a Answer) Into(t T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		t.Fatalf("answer %d %q: %v", a.Status, a.Body, err)
	}
}

// Want fails unless the status is as wanted.
func (a Answer) Want(t T, status int) Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("answer %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Call sends a request with a token; body is text, bytes or what becomes JSON.
func (s *Program) Call(t T, method, path, token string, header map[string]string, body any) Answer {
	t.Helper()
	a, err := s.Try(method, path, token, header, body)
	Must(t, err)
	return a
}

// Try is Call where the program may be gone.
func (s *Program) Try(method, path, token string, header map[string]string, body any) (Answer, error) {
	raw, isJSON, err := encode(body)
	if err != nil {
		return Answer{}, err
	}
	q, err := http.NewRequest(method, s.Base+path, bytes.NewReader(raw))
	if err != nil {
		return Answer{}, err
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
	r, err := s.Client.Do(q)
	if err != nil {
		return Answer{}, err
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	return Answer{r.StatusCode, r.Header, got}, err
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

// Token asks an access token with all the scopes named.
func (s *Program) Token(t T, creds demo.Credentials, scopes ...string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {strings.Join(scopes, " ")}}
	q, err := http.NewRequest(http.MethodPost, s.Base+"/oauth/token", strings.NewReader(form.Encode()))
	Must(t, err)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.SetBasicAuth(url.QueryEscape(creds.ID), url.QueryEscape(creds.Secret))
	r, err := s.Client.Do(q)
	Must(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	Must(t, err)
	var got struct {
		AccessToken string `json:"access_token"`
	}
	Answer{r.StatusCode, r.Header, body}.Want(t, http.StatusOK).Into(t, &got)
	return got.AccessToken
}

// NewEvent makes a CloudEvent of an organisation and gives its id.
func NewEvent(own demo.Organisation, eventType string) (id, body string) {
	id = uuid.NewString()
	return id, fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":%q,"datacontenttype":"application/json","data":{"objectId": "%s",  "n":1.50}}`,
		id, own.Source(), eventType, id)
}

// Publish sends one structured event and wants it accepted; it gives the event's
// id here.
func (s *Program) Publish(t T, token, body string) string {
	t.Helper()
	var receipt struct {
		Events []struct{ EventID string }
	}
	s.Call(t, http.MethodPost, "/events/v1/events", token, EventHeader("application/cloudevents+json"), body).
		Want(t, http.StatusAccepted).Into(t, &receipt)
	if len(receipt.Events) != 1 {
		t.Fatalf("receipt of %d events", len(receipt.Events))
	}
	return receipt.Events[0].EventID
}

// EventHeader is that of an intake request with a key of its own.
func EventHeader(contentType string) map[string]string {
	return map[string]string{"Content-Type": contentType, "Idempotency-Key": `"` + uuid.NewString() + `"`}
}

// Reviewed is the header of a request to publish a draft that holds these bytes.
func Reviewed(upload []byte) map[string]string {
	sum := sha256.Sum256(upload)
	return map[string]string{"If-Match": `"sha256:` + hex.EncodeToString(sum[:]) + `"`}
}
