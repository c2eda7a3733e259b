package partners_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
)

// Rules: EDU-18, IDEM-12.
func TestRetryInput(t *testing.T) {
	t.Parallel()
	set := profile.DefaultProfile()
	for _, tt := range []struct {
		in     partners.RetryInput
		stored string
		wrong  string
	}{
		{partners.RetryInput{}, "", ""},
		{partners.RetryInput{Waits: " 5s, 1m ", MaxAttempts: "10", Deadline: "1d"}, `{"waits":["5s","1m0s"],"maxAttempts":10,"deadline":"24h0m0s"}`, ""},
		{partners.RetryInput{MaxAttempts: "3"}, `{"maxAttempts":3}`, ""},
		{partners.RetryInput{Waits: "soon"}, "", "retryWaits"},
		{partners.RetryInput{Waits: "10ms"}, "", "retryWaits"},
		{partners.RetryInput{Waits: strings.Repeat("1s,", 20) + "1s"}, "", "retryWaits"},
		{partners.RetryInput{MaxAttempts: "0"}, "", "retryAttempts"},
		{partners.RetryInput{MaxAttempts: "1001"}, "", "retryAttempts"},
		{partners.RetryInput{Deadline: "1s"}, "", "retryDeadline"},
		{partners.RetryInput{Deadline: "169h"}, "", "retryDeadline"},
	} {
		stored, wrong := tt.in.Read(set, profile.ReadSetting)
		if tt.wrong != "" {
			if len(wrong) != 1 || wrong[tt.wrong] == "" {
				t.Errorf("%+v: %v", tt.in, wrong)
			}
			continue
		}
		r, err := partners.RetryOf(store.Subscription{Retry: stored})
		if stored != tt.stored || len(wrong) != 0 || err != nil || r.Stored() != stored {
			t.Errorf("%+v: %s, %v, %v", tt.in, stored, wrong, err)
		}
		if again, _ := r.Text().Read(set, profile.ReadSetting); again != stored {
			t.Errorf("%+v is typed as %+v", r, r.Text())
		}
	}
	own := partners.Retry{MaxAttempts: 3}.Over(set)
	if want := (partners.Retry{Waits: set.RetryWaits, MaxAttempts: 3, Deadline: 7 * 24 * time.Hour}); !reflect.DeepEqual(own, want) {
		t.Errorf("what holds is %+v", own)
	}
}
