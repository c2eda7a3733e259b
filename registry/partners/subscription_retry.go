package partners

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

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
type SettingReader func(to *registry.Profile, key, text string) (wrong string)

// read reads what was typed, within the bounds of the settings of the chain. Fields: retryWaits, retryAttempts,
// retryDeadline.
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
	if typed.RetryDeadline > set.KeyLifetime && wrong["retryDeadline"] == "" {
		wrong.Add("retryDeadline", "Retries end when the Idempotency-Key does (IDEM-12): choose at most "+registry.FormatDuration(set.KeyLifetime)+".")
	}
	return Retry{Waits: typed.RetryWaits, MaxAttempts: typed.RetryAttempts, Deadline: typed.RetryDeadline}.stored(), wrong
}
