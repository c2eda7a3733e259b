package deliveries

import (
	"testing"
	"time"
)

func TestLivePagesSlowDownWhenSettled(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]time.Duration{"pending": 5 * time.Second, "retrying": 5 * time.Second, "dead": 30 * time.Second, "delivered": 30 * time.Second} {
		if got := (DeliveryView{State: state}).every(); got != want {
			t.Errorf("%s is refreshed every %v", state, got)
		}
	}
	if (JobView{State: "running"}).every() >= (JobView{State: "done"}).every() {
		t.Error("a job that ended is refreshed as often as one that runs")
	}
}
