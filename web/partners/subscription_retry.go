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
	"schakel/templates/i18n"
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
		return partners.RetryInput{}, site.FieldProblem("retry", "partners.api.retry-object")
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
func retryWords(ctx context.Context, s store.Subscription, set registry.Profile) (string, error) {
	own, err := partners.RetryOf(s)
	if err != nil {
		return "", err
	}
	r := own.Over(set)
	var waits []string
	for _, w := range r.Waits {
		waits = append(waits, i18n.Duration(ctx, w))
	}
	pauses, attempts, deadline := strings.Join(waits, ", "), i18n.Count(ctx, r.MaxAttempts), i18n.Duration(ctx, r.Deadline)
	var parts []string
	if len(own.Waits) > 0 {
		parts = append(parts, i18n.T(ctx, "partners.retry.pauses"))
	}
	if own.MaxAttempts > 0 {
		parts = append(parts, i18n.T(ctx, "partners.retry.attempts"))
	}
	if own.Deadline > 0 {
		parts = append(parts, i18n.T(ctx, "partners.retry.time"))
	}
	if len(parts) == 0 {
		return i18n.T(ctx, "partners.retry.of-settings", pauses, attempts, deadline), nil
	}
	return i18n.T(ctx, "partners.retry.own", pauses, attempts, deadline, strings.Join(parts, ", ")), nil
}

// selected describes what a subscription selects, its retries and its handling of repeats, as the settings are now.
func (p *pages) selected(ctx context.Context, s store.Subscription, e store.Endpoint) (view.Selected, error) {
	set, err := p.Registry.Profile.Current(ctx)
	if err != nil {
		return view.Selected{}, err
	}
	v := view.Selected{Filters: site.FilterWords(s.Filters), OrderBy: s.OrderBy, Repeats: repeatsWords(ctx, s, e, set.Profile), Encrypt: site.EncryptionWords(ctx, s)}
	if e.Kind == store.EndpointPull {
		v.Retries = i18n.T(ctx, "partners.retry.pull")
	} else if v.Retries, err = retryWords(ctx, s, set.Profile); err != nil {
		return view.Selected{}, err
	}
	return v, nil
}

// repeatsWords describes the handling of an event that a subscription was handed before (EDU-18b).
func repeatsWords(ctx context.Context, s store.Subscription, e store.Endpoint, set registry.Profile) string {
	pull := e.Kind == store.EndpointPull
	switch {
	case s.Dedupe && pull:
		return i18n.T(ctx, "partners.repeats.left-out-pull")
	case s.Dedupe:
		return i18n.T(ctx, "partners.repeats.left-out")
	case set.DedupeAt != registry.DedupeConsumer:
		return i18n.T(ctx, "partners.repeats.left-out-settings")
	case pull:
		return i18n.T(ctx, "partners.repeats.again-pull")
	}
	return i18n.T(ctx, "partners.repeats.again")
}

// typedRetry reads the fields of templates.RetryFields.
func typedRetry(form site.Form) partners.RetryInput {
	return partners.RetryInput{Waits: form.Get("retryWaits"), MaxAttempts: form.Get("retryAttempts"), Deadline: form.Get("retryDeadline")}
}

func retryView(in partners.RetryInput) ui.RetryView {
	return ui.RetryView{Waits: in.Waits, Attempts: in.MaxAttempts, Deadline: in.Deadline}
}
