package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Trickle publishes made-up events at a steady pace, as a machine would: with a
// token of the token endpoint, at the public intake.
type Trickle struct {
	Base   string // of the Schakel to publish to
	Own    Organisation
	Client Credentials
	Types  []string
	Every  time.Duration
	Now    func() time.Time
	Log    *slog.Logger
	// Scope of the token; empty is that to publish events.
	Scope string

	http  http.Client
	token string
	until time.Time
}

// Run publishes until the context ends. What fails is logged and left behind.
func (t *Trickle) Run(ctx context.Context) {
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := t.Publish(ctx, t.event(n)); err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "demo event not published", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Publish publishes one event, in the structured mode of JSON. One at a time may do so.
func (t *Trickle) Publish(ctx context.Context, event map[string]any) error {
	t.http.Timeout = 10 * time.Second
	if err := t.ensureToken(ctx); err != nil {
		return fmt.Errorf("get token: %w", err)
	}
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Base+"/events/v1/events", bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/cloudevents+json")
	q.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
	q.Header.Set("Authorization", "Bearer "+t.token)
	return t.do(q, http.StatusAccepted, nil)
}

// ensureToken asks a token when there is none that lasts for a while.
func (t *Trickle) ensureToken(ctx context.Context) error {
	if t.Now().Before(t.until) {
		return nil
	}
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {cmp.Or(t.Scope, "events.publish")}}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Base+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.SetBasicAuth(url.QueryEscape(t.Client.ID), url.QueryEscape(t.Client.Secret))
	var got struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := t.do(q, http.StatusOK, &got); err != nil {
		return err
	}
	t.token, t.until = got.AccessToken, t.Now().Add(time.Duration(got.ExpiresIn)*time.Second/2)
	return nil
}

func (t *Trickle) do(q *http.Request, want int, into any) error {
	answer, err := t.http.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("answer %d: %.300s", answer.StatusCode, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// event makes the n-th event; the types take turns.
func (t *Trickle) event(n int) map[string]any {
	kind := t.Types[n%len(t.Types)]
	object, verb := "leerling", "UPDATE"
	if strings.Contains(kind, "inschrijving") {
		object = "inschrijving"
	}
	if kind == TypeEnrolled {
		verb = "CREATE"
	}
	if kind == TypeStudentRemoved {
		verb = "DELETE"
	}
	now := t.Now().UTC().Format(time.RFC3339)
	id, objectID := uuid.NewString(), uuid.NewString()
	data := map[string]any{
		"id": id, "notificationType": verb, "objectType": object, "objectId": objectID,
		"school": map[string]any{
			"id": "7c0f0c1e-1f55-4d57-a1f9-4a0d4f2e7a10", "name": "Basisschool De Regenboog", "brin": "99ZZ", "vestiging": "00",
		},
		"created": now, "isDeleteNotification": verb == "DELETE",
	}
	if verb != "DELETE" {
		data["url"] = "https://api.voorbeeld.example/leerlingen/v1/" + object + "en/" + objectID
	}
	return map[string]any{
		"specversion": "1.0", "id": id, "source": t.Own.Source(), "type": kind, "time": now,
		"subject": objectID, "datacontenttype": "application/json", "data": data,
	}
}
