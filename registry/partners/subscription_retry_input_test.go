package partners

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"schakel/registry/profile"
	"schakel/store"
)

// Rules: EDU-18, IDEM-12.
func TestRetryInput(t *testing.T) {
	t.Parallel()
	set := profile.DefaultProfile()
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
		stored, wrong := tt.in.read(set, profile.ReadSetting)
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
		if again, _ := r.Text().read(set, profile.ReadSetting); again != stored {
			t.Errorf("%+v is typed as %+v", r, r.Text())
		}
	}
	own := Retry{MaxAttempts: 3}.Over(set)
	if want := (Retry{set.RetryWaits, 3, 7 * 24 * time.Hour}); !reflect.DeepEqual(own, want) {
		t.Errorf("what holds is %+v", own)
	}
}
