package installation

import (
	"testing"
	"time"
)

// TestStepAlerts plays days of looks: an alert is raised once after it lasted, told again each day, and told to be over once.
func TestStepAlerts(t *testing.T) {
	t.Parallel()
	const after = 5 * time.Minute
	disk := Finding{Code: "disk-full", Severity: Error, Text: "x"}
	backup := Finding{Code: "backup-old", Severity: Warning}
	never := Finding{Code: "backup-never", Severity: Warning}
	for name, c := range map[string]struct {
		found func(minute int) []Finding
		days  int
		want  map[int]string // by minute
	}{
		"short":       {func(m int) []Finding { return some(m < 4, disk) }, 1, nil},
		"half a hour": {func(m int) []Finding { return some(m < 30, disk) }, 1, map[int]string{5: "raised disk-full", 35: "ended disk-full"}},
		"days":        {func(m int) []Finding { return some(true, backup) }, 3, map[int]string{5: "raised backup-old", 5 + 1440: "continues backup-old", 5 + 2880: "continues backup-old"}},
		"flaps":       {func(m int) []Finding { return some(m < 60 && (m < 20 || m%2 == 0), disk) }, 1, map[int]string{5: "raised disk-full", 64: "ended disk-full"}},
		"fresh":       {func(m int) []Finding { return some(m < 2000, never) }, 2, map[int]string{1440: "raised backup-never", 2005: "ended backup-never"}},
		"no alert": {func(int) []Finding {
			return []Finding{{Code: "address-local", Severity: Warning}, {Code: "disk-x", Severity: Notice}}
		}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var open map[string]Alert
			start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			got := map[int]string{}
			for m := range c.days * 1440 {
				var changes []AlertChange
				open, changes = StepAlerts(open, c.found(m), start.Add(time.Duration(m)*time.Minute), after)
				for _, change := range changes {
					got[m] += change.What + " " + change.Code
				}
			}
			for m := range c.days * 1440 {
				if got[m] != c.want[m] {
					t.Errorf("minute %d: %q, want %q", m, got[m], c.want[m])
				}
			}
		})
	}
}

func some(is bool, f Finding) []Finding {
	if !is {
		return nil
	}
	return []Finding{f, f} // of two endpoints, say
}

func TestJudgeDeliveries(t *testing.T) {
	t.Parallel()
	bounds := DeliveryBounds{NoProgress: 15 * time.Minute, BacklogAge: time.Hour}
	for _, c := range []struct {
		d    Deliveries
		b    DeliveryBounds
		want string
	}{
		{Deliveries{Oldest: 20 * time.Minute}, bounds, "traffic-stuck"},
		{Deliveries{Oldest: 20 * time.Minute, Delivered: 1}, bounds, ""},
		{Deliveries{Oldest: 10 * time.Minute}, bounds, ""},
		{Deliveries{Oldest: 2 * time.Hour, Delivered: 1}, bounds, "traffic-behind"},
		{Deliveries{Oldest: 2 * time.Hour}, DeliveryBounds{}, ""},
	} {
		got := ""
		for _, f := range JudgeDeliveries(c.d, c.b) {
			got += f.Code
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.d, got, c.want)
		}
	}
}
