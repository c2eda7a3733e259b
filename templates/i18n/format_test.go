package i18n

import (
	"math"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1204: "1,204", 1234567: "1,234,567", -1204: "-1,204", -999: "-999"} {
		if got := english().Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1 MiB", 1 << 20: "1 MiB", 47 << 30: "47 GiB", math.MaxInt64: "8 EiB",
	} {
		if got := english().Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTimeIsWrittenInUTC(t *testing.T) {
	t.Parallel()
	amsterdam := time.FixedZone("CET", 3600)
	at := time.Date(2026, 11, 22, 0, 3, 5, 999, amsterdam)
	if got := english().Time(at); got != "21 Nov 2026 23:03:05 UTC" {
		t.Errorf("Time = %q", got)
	}
	if got := english().Day(at); got != "21 Nov 2026" {
		t.Errorf("Day = %q", got)
	}
	if english().Time(time.Time{}) != "never" || english().Day(time.Time{}) != "never" {
		t.Error("the zero time must read as never")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", time.Second: "1 s", 1550 * time.Millisecond: "1.5 s",
		9999 * time.Millisecond: "9.9 s", 10 * time.Second: "10 s", 200 * time.Second: "3 min 20 s",
		time.Hour: "1 h", 125 * time.Minute: "2 h 5 min", time.Hour + 5*time.Second: "1 h",
		97 * time.Hour: "4 d 1 h", 24 * time.Hour: "1 day", 168 * time.Hour: "7 days", 168*time.Hour + time.Minute: "7 days", -time.Minute: "-1 min",
	} {
		if got := english().Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 14, 3, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -900 * time.Millisecond: "now",
		-50 * time.Second: "50 s ago", -90 * time.Second: "1 min ago", -2*time.Hour - 5*time.Minute: "2 h 5 min ago", -11*time.Hour - 5*time.Minute: "11 h ago",
		-30 * time.Hour: "1 d 6 h ago", -75 * time.Hour: "3 days ago", 90 * time.Second: "in 1 min 30 s", 2*time.Hour + 5*time.Minute: "in 2 h 5 min",
	} {
		if got := english().Relative(now.Add(d), now); got != want {
			t.Errorf("Relative(%v) = %q, want %q", d, got, want)
		}
	}
	if got := english().Relative(time.Time{}, now); got != "never" {
		t.Errorf("Relative(zero) = %q, want never", got)
	}
}
