package partners

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// retryBody is a retry schedule in JSON. In a subscription an absent member is as the settings of the chain say.
type retryBody struct {
	Waits       []string `json:"waits,omitempty"`
	MaxAttempts int      `json:"maxAttempts,omitempty"`
	Deadline    string   `json:"deadline,omitempty"`
}

func newRetryBody(r partners.Retry) retryBody {
	text := r.Text()
	body := retryBody{MaxAttempts: r.MaxAttempts, Deadline: text.Deadline}
	if text.Waits != "" {
		body.Waits = strings.Split(text.Waits, ", ")
	}
	return body
}

// readRetry reads a schedule of a request; null and absent are none.
func readRetry(raw json.RawMessage) (partners.RetryInput, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return partners.RetryInput{}, nil
	}
	var body retryBody
	if err := api.CheckMembers(raw, reflect.TypeFor[retryBody](), "/retry"); err != nil {
		return partners.RetryInput{}, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return partners.RetryInput{}, site.FieldProblem("retry", `this must be an object such as {"waits":["5s","1m"],"maxAttempts":10,"deadline":"24h"}, or null for the settings of the chain`)
	}
	in := partners.RetryInput{Waits: strings.Join(body.Waits, ", "), Deadline: body.Deadline}
	if body.MaxAttempts != 0 {
		in.MaxAttempts = strconv.Itoa(body.MaxAttempts)
	}
	return in, nil
}

// retryFields gives what is wrong with a schedule the place it has in our JSON.
func retryFields(err error) error {
	for from, to := range map[string]string{"retryWaits": "retry/waits", "retryAttempts": "retry/maxAttempts", "retryDeadline": "retry/deadline"} {
		err = api.RenameField(err, from, to)
	}
	return err
}

// retryWords describes the retries of a subscription, and marks the settings of its own.
func retryWords(s store.Subscription, set registry.Profile) (string, error) {
	own, err := partners.RetryOf(s)
	if err != nil {
		return "", err
	}
	r := own.Over(set).Text()
	text := "Pauses of " + r.Waits + "; at most " + r.MaxAttempts + " attempts, within " + r.Deadline + "."
	var parts []string
	for _, part := range []struct{ own, name string }{{own.Text().Waits, "pauses"}, {own.Text().MaxAttempts, "attempts"}, {own.Text().Deadline, "time"}} {
		if part.own != "" {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return text + " As the settings of the chain say.", nil
	}
	return text + " Its own: " + strings.Join(parts, ", ") + ".", nil
}

// selected describes what a subscription selects, its retries and its handling of repeats, as the settings are now.
func (p *pages) selected(ctx context.Context, s store.Subscription, e store.Endpoint) (view.Selected, error) {
	set, err := p.Registry.Profile.Current(ctx)
	if err != nil {
		return view.Selected{}, err
	}
	v := view.Selected{Filters: filterWords(s.Filters), OrderBy: s.OrderBy, Repeats: repeatsWords(s, e, set.Profile)}
	if e.Kind == store.EndpointPull {
		v.Retries = "What is released, or not acknowledged in time, can be received again."
	} else if v.Retries, err = retryWords(s, set.Profile); err != nil {
		return view.Selected{}, err
	}
	return v, nil
}

// repeatsWords describes the handling of an event that a subscription was handed before (EDU-18b).
func repeatsWords(s store.Subscription, e store.Endpoint, set registry.Profile) string {
	again := "sent"
	if e.Kind == store.EndpointPull {
		again = "offered"
	}
	switch {
	case s.Dedupe:
		return "Left out: an event that was handed over before is not " + again + " again."
	case set.DedupeAt != registry.DedupeConsumer:
		return "Left out, as the settings of the chain say."
	}
	return site.Capital(again) + " again: the receiver recognises them by source and id."
}

// typedRetry reads the fields of templates.RetryFields.
func typedRetry(form site.Form) partners.RetryInput {
	return partners.RetryInput{Waits: form.Get("retryWaits"), MaxAttempts: form.Get("retryAttempts"), Deadline: form.Get("retryDeadline")}
}

func retryView(in partners.RetryInput) ui.RetryView {
	return ui.RetryView{Waits: in.Waits, Attempts: in.MaxAttempts, Deadline: in.Deadline}
}
