package installation

import (
	"slices"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Severity grades a finding.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // events, logins or data are at risk now
	Warning Severity = "warning" // somebody should act before it becomes an error
	Notice  Severity = "notice"  // worth knowing; nothing has to be done
)

// Finding is one problem: what is wrong, and what to do about it.
type Finding struct {
	// Code names the kind of problem for ever, such as disk-low: the name of its check, a dash and a word or two.
	Code     string
	Severity Severity
	Text     i18n.Message
	Remedy   i18n.Message
	// Href is the page where it is mended or explained; empty for what is mended outside the portal.
	Href string
}

// Error makes a finding an error of English text, for /readyz and logs.
func (f Finding) Error() string { return f.Text.String() + " (" + f.Code + ")" }

// State sums up a check: ok, unknown, or the severity of its worst finding.
type State string

// The states of a check that found nothing.
const (
	OK      State = "ok"
	Unknown State = "unknown" // its facts were not gathered
)

// Result is a check with what it found.
type Result struct {
	Check    string
	Title    i18n.Message
	State    State
	Findings []Finding
}

// check is one entry of the table of checks. judge returns false when its facts are missing.
type check struct {
	name  string
	title i18n.Message
	judge func(*Facts) ([]Finding, bool)
}

// checks lists all checks, in the order of the page.
func checks() []check {
	return []check{
		{"running", "installation.check.running", judgeRunning},
		{"database", "installation.check.database", judgeDatabase},
		{"disk", "installation.check.disk", judgeDisk},
		{"backup", "installation.check.backup", judgeBackup},
		{"key", "installation.check.key", judgeKey},
		{"address", "installation.check.address", judgeAddress},
		{"proxy", "installation.check.proxy", judgeProxy},
		{"certificate", "installation.check.certificate", judgeCertificates},
		{"clock", "installation.check.clock", judgeClock},
		{"outbound", "installation.check.outbound", judgeOutbound},
		{"connection", "installation.check.connection", judgeLinks},
		{"mail", "installation.check.mail", judgeMail},
		{"audit", "installation.check.audit", judgeAudit},
		{"administrator", "installation.check.administrator", judgeAdministrators},
	}
}

// Report holds the results of all checks.
type Report []Result

// Judge holds the facts against every check.
func Judge(f *Facts) Report {
	var report Report
	for _, c := range checks() {
		found, known := c.judge(f)
		r := Result{Check: c.name, Title: c.title, State: OK, Findings: found}
		switch {
		case len(found) > 0:
			sorted.Stable(found, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
			r.State = State(found[0].Severity)
		case !known:
			r.State = Unknown
		}
		report = append(report, r)
	}
	return report
}

// rank orders severities, worst first.
func rank(s Severity) int { return slices.Index([]Severity{Error, Warning, Notice}, s) }

// Findings lists all findings, the worst first.
func (r Report) Findings() []Finding {
	var all []Finding
	for _, result := range r {
		all = append(all, result.Findings...)
	}
	sorted.Stable(all, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return all
}

// Count counts the findings of a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings() {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Open counts the findings that somebody has to act on: errors and warnings.
func (r Report) Open() int { return r.Count(Error) + r.Count(Warning) }
