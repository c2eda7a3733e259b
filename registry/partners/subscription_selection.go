package partners

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// SubscriptionChange holds a partner's own change of a subscription; nil leaves a member as it is.
type SubscriptionChange struct {
	Filters *string // as in SubscriptionRequest
	OrderBy *string
	Retry   *RetryInput
	Dedupe  *bool
}

// Change changes which events of its types a subscription gets, and in which order (guarantee G5). What was granted are
// the event types at the endpoint, and filters only narrow those, so an approved subscription stays approved; one that
// waits for approval keeps waiting. Filters and order count for events accepted from now on, the retry schedule for all that
// is tried from now on. Fields: filters, orderBy, retryWaits, retryAttempts, retryDeadline.
func (s *Subscriptions) Change(ctx context.Context, actor registry.Actor, id string, in SubscriptionChange) error {
	set, err := s.profile.InForce(ctx)
	if err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		sub, partner, endpoint, err := lockSubscription(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := registry.RequireApproved(partner); err != nil {
			return err
		}
		if sub.DatasetID != "" {
			return registry.Conflict("partners.subscription.no-filters")
		}
		if !slices.Contains([]string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused}, sub.Status) {
			return registry.Conflict("partners.subscription.fixed", subscriptionState(sub.Status))
		}
		before := sub
		in.apply(&sub)
		wrong := selectionProblems(s.cfg, sub.Filters, sub.OrderBy)
		if in.Retry != nil {
			retry, bad := in.Retry.read(*set, s.readSetting)
			sub.Retry = retry
			maps.Copy(wrong, bad)
		}
		if err := wrong.Err(); err != nil {
			return err
		}
		if sub.Filters == before.Filters && sub.OrderBy == before.OrderBy && sub.Dedupe == before.Dedupe && sub.Retry == before.Retry {
			return nil
		}
		if err := tx.UpdateSubscription(ctx, &sub); err != nil {
			return fmt.Errorf("change subscription: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionSubscriptionChanged, subscriptionObject(sub), selectionDetails(sub, partner, endpoint))
	})
}

func (in SubscriptionChange) apply(sub *store.Subscription) {
	if in.Filters != nil {
		sub.Filters = tidyFilters(*in.Filters)
	}
	if in.OrderBy != nil {
		sub.OrderBy = strings.TrimSpace(*in.OrderBy)
	}
	if in.Dedupe != nil {
		sub.Dedupe = *in.Dedupe
	}
}

func selectionDetails(s store.Subscription, p store.Partner, e store.Endpoint) registry.Details {
	d := subscriptionDetails(s, p, e, "")
	d["filters"], d["orderBy"], d["retry"] = s.Filters, s.OrderBy, s.Retry
	if s.Dedupe {
		d["leaveOutRepeats"] = true
	}
	if s.Encrypt != "" {
		d["encryption"] = RecipientWords(s.Encrypt)
	}
	return d
}

// tidyFilters leaves out the white space of JSON, and makes an empty list empty. What is no JSON stays as it is, to be
// refused with the words of the one who checks it.
func tidyFilters(text string) string {
	var compacted bytes.Buffer
	if json.Compact(&compacted, []byte(text)) != nil {
		return strings.TrimSpace(text)
	}
	if tidy := compacted.String(); tidy != "[]" && tidy != "null" {
		return tidy
	}
	return ""
}

var orderAttribute = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

// selectionProblems returns the problems of filters and order. An order by id would put nothing in order, as no two
// events share one; and data is not looked into.
func selectionProblems(c registry.Config, filters, orderBy string) registry.Problems {
	wrong := registry.Problems{}
	if filters != "" {
		if c.CheckFilters == nil {
			wrong.Add("filters", "partners.filter.unused")
		} else if err := c.CheckFilters(filters); err != nil {
			wrong.Add("filters", i18n.Raw(err.Error()))
		}
	}
	switch {
	case orderBy == "":
	case orderBy == "data", orderBy == "id":
		wrong.Add("orderBy", i18n.M("partners.subscription.order-other", orderBy))
	case !orderAttribute.MatchString(orderBy):
		wrong.Add("orderBy", "partners.subscription.order-bad")
	}
	return wrong
}

// Retry schedules the attempts of a delivery (EDU-18). In a subscription a zero member follows the settings of the chain.
type Retry struct {
	Waits       []time.Duration // pauses after the first, second, third failure and so on; the last one repeats
	MaxAttempts int
	Deadline    time.Duration // after the event was accepted
}

// RetryInput is a Retry as it is typed: pauses with commas between them, a number, a time. What is empty is as the
// settings of the chain say.
type RetryInput struct{ Waits, MaxAttempts, Deadline string }

// storedRetry is the JSON of a Retry, in the database and in answers.
type storedRetry struct {
	Waits       []string `json:"waits,omitempty"`
	MaxAttempts int      `json:"maxAttempts,omitempty"`
	Deadline    string   `json:"deadline,omitempty"`
}

// RetryOf reads what a subscription says itself.
func RetryOf(s store.Subscription) (Retry, error) {
	if s.Retry == "" {
		return Retry{}, nil
	}
	var in storedRetry
	if err := json.Unmarshal([]byte(s.Retry), &in); err != nil {
		return Retry{}, fmt.Errorf("read retry schedule: %w", err)
	}
	r := Retry{MaxAttempts: in.MaxAttempts}
	var err error
	if len(in.Waits) > 0 {
		if r.Waits, err = registry.ParseDurations(strings.Join(in.Waits, ",")); err != nil {
			return Retry{}, fmt.Errorf("read pauses: %w", err)
		}
	}
	if in.Deadline != "" {
		if r.Deadline, err = registry.ParseDuration(in.Deadline); err != nil {
			return Retry{}, fmt.Errorf("read deadline: %w", err)
		}
	}
	return r, nil
}

// Over fills the zero members of the schedule from the settings.
func (r Retry) Over(set registry.Profile) Retry {
	if len(r.Waits) == 0 {
		r.Waits = set.RetryWaits
	}
	if r.MaxAttempts == 0 {
		r.MaxAttempts = set.RetryAttempts
	}
	if r.Deadline == 0 {
		r.Deadline = set.RetryDeadline
	}
	return r
}

// Text writes a schedule as it is typed.
func (r Retry) Text() RetryInput {
	in := RetryInput{}
	words := make([]string, len(r.Waits))
	for i, wait := range r.Waits {
		words[i] = registry.FormatDuration(wait)
	}
	in.Waits = strings.Join(words, ", ")
	if r.MaxAttempts > 0 {
		in.MaxAttempts = strconv.Itoa(r.MaxAttempts)
	}
	if r.Deadline > 0 {
		in.Deadline = registry.FormatDuration(r.Deadline)
	}
	return in
}

// stored writes a schedule for the database; "" when the settings hold for all of it.
func (r Retry) stored() string {
	out := storedRetry{MaxAttempts: r.MaxAttempts}
	for _, wait := range r.Waits {
		out.Waits = append(out.Waits, wait.String())
	}
	if r.Deadline > 0 {
		out.Deadline = r.Deadline.String()
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic("a schedule of strings cannot fail to encode: " + err.Error())
	}
	if string(text) == "{}" {
		return ""
	}
	return string(text)
}

// SettingReader reads the text of the setting with a key into a profile, and explains what is wrong with it.
type SettingReader func(to *registry.Profile, key, text string) (wrong i18n.Message)

// read reads what was typed, within the bounds of the settings of the chain. Fields: retryWaits, retryAttempts, retryDeadline.
func (in RetryInput) read(set registry.Profile, readSetting SettingReader) (string, registry.Problems) {
	wrong, typed := registry.Problems{}, registry.Profile{}
	for _, part := range []struct{ field, key, text string }{
		{"retryWaits", "sending.retry_waits", in.Waits},
		{"retryAttempts", "sending.max_attempts", in.MaxAttempts},
		{"retryDeadline", "sending.deadline", in.Deadline},
	} {
		if strings.TrimSpace(part.text) == "" {
			continue
		}
		wrong.Add(part.field, readSetting(&typed, part.key, part.text))
	}
	wrong.AddIf(typed.RetryDeadline > set.KeyLifetime && wrong["retryDeadline"] == "",
		"retryDeadline", i18n.M("partners.retry.past-key", registry.FormatDuration(set.KeyLifetime)))
	return Retry{Waits: typed.RetryWaits, MaxAttempts: typed.RetryAttempts, Deadline: typed.RetryDeadline}.stored(), wrong
}
