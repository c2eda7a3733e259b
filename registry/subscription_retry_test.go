package registry

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// Rules: EDU-18, IDEM-12.
func TestRetryInput(t *testing.T) {
	t.Parallel()
	set := DefaultProfile()
	for _, tt := range []struct {
		in     RetryInput
		stored string
		wrong  string
	}{
		{RetryInput{}, "", ""},
		{RetryInput{Waits: " 5s, 1m ", MaxAttempts: "10", Deadline: "1d"}, `{"waits":["5s","1m0s"],"maxAttempts":10,"deadline":"24h0m0s"}`, ""},
		{RetryInput{MaxAttempts: "3"}, `{"maxAttempts":3}`, ""},
		{RetryInput{Waits: "soon"}, "", "retryWaits"},
		{RetryInput{Waits: "10ms"}, "", "retryWaits"},
		{RetryInput{Waits: strings.Repeat("1s,", 20) + "1s"}, "", "retryWaits"},
		{RetryInput{MaxAttempts: "0"}, "", "retryAttempts"},
		{RetryInput{MaxAttempts: "1001"}, "", "retryAttempts"},
		{RetryInput{Deadline: "1s"}, "", "retryDeadline"},
		{RetryInput{Deadline: "169h"}, "", "retryDeadline"},
	} {
		stored, wrong := tt.in.read(set, ReadSetting)
		if tt.wrong != "" {
			if len(wrong) != 1 || wrong[tt.wrong] == "" {
				t.Errorf("%+v: %v", tt.in, wrong)
			}
			continue
		}
		r, err := RetryOf(store.Subscription{Retry: stored})
		if stored != tt.stored || len(wrong) != 0 || err != nil || r.stored() != stored {
			t.Errorf("%+v: %s, %v, %v", tt.in, stored, wrong, err)
		}
		if again, _ := r.Text().read(set, ReadSetting); again != stored {
			t.Errorf("%+v is typed as %+v", r, r.Text())
		}
	}
	own := Retry{MaxAttempts: 3}.Over(set)
	if want := (Retry{set.RetryWaits, 3, 7 * 24 * time.Hour}); !reflect.DeepEqual(own, want) {
		t.Errorf("what holds is %+v", own)
	}
}

// Rules: EDU-18.
func TestRetryOfASubscription(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		w.catalogue(t)
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		in := SubscriptionRequest{EndpointID: w.endpoint(t, actor).ID, Types: []string{enrolled}, Purpose: "our records", Retry: RetryInput{MaxAttempts: "x"}}
		if _, err := w.Subscriptions.Request(t.Context(), actor, in); fieldsOf(err)["retryAttempts"] == "" {
			t.Errorf("wrong number: %v", err)
		}
		in.Retry.MaxAttempts = "4"
		s, err := w.Subscriptions.Request(t.Context(), actor, in)
		must(t, err)
		if s.Retry != `{"maxAttempts":4}` {
			t.Errorf("asked for %s", s.Retry)
		}
		must(t, w.Subscriptions.Change(t.Context(), actor, s.ID, SubscriptionChange{Retry: &RetryInput{Deadline: "2h"}}))
		s, err = w.Subscriptions.Get(t.Context(), actor.Scope(), s.ID)
		must(t, err)
		if s.Retry != `{"deadline":"2h0m0s"}` || !strings.Contains(w.lastSentence(t), "changed the filters, order or retries of the subscription") {
			t.Errorf("changed to %s: %s", s.Retry, w.lastSentence(t))
		}
		err = w.Subscriptions.Change(t.Context(), actor, s.ID, SubscriptionChange{Retry: &RetryInput{Waits: "1h, later"}})
		if fieldsOf(err)["retryWaits"] == "" {
			t.Errorf("wrong pauses: %v", err)
		}
	})
}
