package installation

import (
	"fmt"
	"testing"
	"time"
)

// An end is told 60, 30, 7 and 1 days ahead and when it is there; of a certificate that programs renew, 7 and 1 days ahead.
func TestDue(t *testing.T) {
	t.Parallel()
	year, quarter := Expiry{Until: now, From: now.Add(-365 * day)}, Expiry{Until: now, From: now.Add(-90 * day)}
	for _, c := range []struct {
		e    Expiry
		left time.Duration
		days int
		due  bool
	}{
		{year, 60 * day, 0, false},
		{year, 60*day - 1, 60, true},
		{year, 30 * day, 60, true},
		{year, 30*day - 1, 30, true},
		{year, 7*day - 1, 7, true},
		{year, day - 1, 1, true},
		{year, 1, 1, true},
		{year, 0, 0, true},
		{year, -100 * day, 0, true},
		{Expiry{Until: now}, 59 * day, 60, true},
		{quarter, 59 * day, 0, false},
		{quarter, 7*day - 1, 7, true},
		{quarter, day - 1, 1, true},
		{quarter, -1, 0, true},
	} {
		if days, due := c.e.Due(now.Add(-c.left)); days != c.days || due != c.due {
			t.Errorf("%s ahead: %d, %v; want %d, %v", c.left, days, due, c.days, c.due)
		}
	}
}

// What ends is graded by how near it is and what stops then; a long list is cut, and says so.
func TestJudgeEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left     time.Duration
		severe   bool
		code     string
		severity Severity
	}{
		{59 * day, true, CodeExpires, Notice},
		{29 * day, false, CodeExpires, Warning},
		{-day, false, CodeExpired, Warning},
		{-day, true, CodeExpired, Error},
	} {
		f := sound()
		f.Ends = []Expiry{{Kind: ExpiryClient, ID: "c", What: "x", Remedy: "y", Until: now.Add(c.left), Severe: c.severe}}
		found, _ := judgeCertificates(f)
		if len(found) != 1 || found[0].Code != c.code || found[0].Severity != c.severity {
			t.Errorf("%s ahead, severe %v: %+v", c.left, c.severe, found)
		}
	}
	f := sound()
	for i := range mostExpiries + 3 {
		f.Ends = append(f.Ends, Expiry{Kind: ExpiryClient, ID: fmt.Sprint(i), What: "x", Until: now.Add(day)})
	}
	found, _ := judgeCertificates(f)
	if len(found) != mostExpiries+1 || found[mostExpiries].Code != "certificate-more" {
		t.Errorf("%d findings, the last %+v", len(found), found[len(found)-1])
	}
}

// Administrators are told of ends by their thresholds alone, not as of troubles that last; alerts of an older version are forgotten.
func TestEndsAreNoAlerts(t *testing.T) {
	t.Parallel()
	open := map[string]Alert{CodeExpired: {Code: CodeExpired, Since: now, Told: now}}
	open, changes := StepAlerts(open, []Finding{{Code: CodeExpired, Severity: Error}, {Code: CodeExpires, Severity: Warning}}, now.Add(48*time.Hour), time.Minute)
	if len(open) != 0 || len(changes) != 0 {
		t.Errorf("%v, %v", open, changes)
	}
}
