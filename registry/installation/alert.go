package installation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Alert is a finding that administrators are told of: once when it has lasted, again each day, and when it is over.
type Alert struct {
	Code     string       `json:"code"`
	Severity Severity     `json:"severity"`
	Text     i18n.Message `json:"text"`
	Remedy   i18n.Message `json:"remedy"`
	Href     string       `json:"href,omitempty"`
	Since    time.Time    `json:"since"`         // when it was found first
	Told     time.Time    `json:"told,omitzero"` // when it was told last; zero: not yet
	Gone     time.Time    `json:"gone,omitzero"` // since when it is not found any more; zero: it is found
}

// AlertChange is something to tell: that an alert was raised, goes on, or is over.
type AlertChange struct {
	Alert
	What string
}

// What becomes of alerts.
const (
	AlertRaised   = "raised"
	AlertContinue = "continues"
	AlertEnded    = "ended"
)

// alertRepeat sets how often an alert that goes on is told again, and alertNever how long a fresh installation may be without a backup.
const (
	alertRepeat = 24 * time.Hour
	alertNever  = 24 * time.Hour
)

// alertWarnings are the checks whose warnings are alerts too; errors of all checks are.
var alertWarnings = []string{"disk", "backup", "certificate", "traffic", "audit"}

// endCode reports whether a code concerns the end of a certificate or key: its thresholds notify people, and not the check.
func endCode(code string) bool { return code == CodeExpires || code == CodeExpired }

// alerting reports whether administrators are told of a finding.
func alerting(f Finding) bool {
	if endCode(f.Code) {
		return false
	}
	check, _, _ := strings.Cut(f.Code, "-")
	return f.Severity == Error || f.Severity == Warning && slices.Contains(alertWarnings, check)
}

// StepAlerts brings the open alerts, by code, forward by one look at now. A finding becomes an alert when it has lasted for the time after,
// and an alert is over when it was not found for as long, so that one that comes and goes is told of once.
func StepAlerts(open map[string]Alert, findings []Finding, now time.Time, after time.Duration) (next map[string]Alert, changes []AlertChange) {
	next = maps.Clone(open)
	if next == nil {
		next = make(map[string]Alert)
	}
	maps.DeleteFunc(next, func(code string, _ Alert) bool { return endCode(code) }) // of a version that told of them here
	found := map[string]bool{}
	for _, f := range findings {
		if !alerting(f) || found[f.Code] {
			continue
		}
		found[f.Code] = true
		a, known := next[f.Code]
		if !known {
			a.Since = now
		}
		a.Code, a.Severity, a.Text, a.Remedy, a.Href, a.Gone = f.Code, f.Severity, f.Text, f.Remedy, f.Href, time.Time{}
		wait := after
		if f.Code == "backup-never" {
			wait = max(after, alertNever)
		}
		switch {
		case a.Told.IsZero() && now.Sub(a.Since) >= wait:
			a.Told = now
			changes = append(changes, AlertChange{a, AlertRaised})
		case !a.Told.IsZero() && now.Sub(a.Told) >= alertRepeat:
			a.Told = now
			changes = append(changes, AlertChange{a, AlertContinue})
		}
		next[f.Code] = a
	}
	for code, a := range next {
		switch {
		case found[code]:
		case a.Told.IsZero():
			delete(next, code)
		case a.Gone.IsZero():
			a.Gone = now
			next[code] = a
		case now.Sub(a.Gone) >= after:
			delete(next, code)
			changes = append(changes, AlertChange{a, AlertEnded})
		}
	}
	sorted.By(changes, func(a, b AlertChange) int { return cmp.Compare(a.Code, b.Code) })
	return next, changes
}

// Deliveries holds what moved lately, over all nodes.
type Deliveries struct {
	Oldest    time.Duration // age of the oldest delivery that waits
	Delivered int64         // in the time of NoProgress
}

// DeliveryBounds are the times beyond which deliveries raise alerts; zero asks for none.
type DeliveryBounds struct{ NoProgress, BacklogAge time.Duration }

// JudgeDeliveries finds whether nothing arrives while something waits, or something waits too long.
func JudgeDeliveries(d Deliveries, b DeliveryBounds) []Finding {
	minutes := func(of time.Duration) int64 { return int64(of / time.Minute) }
	switch {
	case b.NoProgress > 0 && d.Oldest > b.NoProgress && d.Delivered == 0:
		return []Finding{{Code: "traffic-stuck", Severity: Error, Text: i18n.M("installation.traffic.stuck", minutes(b.NoProgress), minutes(d.Oldest)), Remedy: "installation.traffic.stuck-remedy", Href: "/admin"}}
	case b.BacklogAge > 0 && d.Oldest > b.BacklogAge:
		return []Finding{{Code: "traffic-behind", Severity: Warning, Text: i18n.M("installation.traffic.behind", minutes(d.Oldest)), Remedy: "installation.traffic.behind-remedy", Href: "/admin"}}
	}
	return nil
}
