package registry

import (
	"testing"
	"time"
)

func TestThrottleWait(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int64]time.Duration{
		0: 0, 5: 0, 6: time.Second, 7: 2 * time.Second, 11: 32 * time.Second, 12: time.Minute, 1 << 40: time.Minute,
	} {
		if got := (Throttle{Free: 5, Longest: time.Minute}).wait(failures); got != want {
			t.Errorf("%d failures: got %v, want %v", failures, got, want)
		}
	}
}

func TestAddressBucket(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.1":             "address:192.0.2.1",
		"::ffff:192.0.2.1":      "address:192.0.2.1",
		"2001:db8:1:2:3:4:5:6":  "address:2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::":   "address:2001:db8:1:2::/64",
		"fe80::1%eth0":          "address:fe80::/64",
		"not an address at all": "address:not an address at all",
	} {
		if got := AddressBucket(addr); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}
