// Package endpointcheck holds a webhook against the profile: its TLS, its tokens and its answers to events, good ones and wrong ones. The
// portal, the API and the command `schakel check` run this one check.
//
// Run sends some twenty requests, one after the other, each over a connection of its own and through the guard of package outbound.
// Every event of it is marked as a test. It proves what a receiver answers, not what becomes of an event behind it; what it could
// not provoke, such as a 429, it reports as untested. Nothing here touches the database, but the Runner, which stores reports.
package endpointcheck

import (
	"context"
	"net/url"
	"slices"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Result sorts findings.
type Result string

// The results, best first. A fault breaks a rule; advice asks for something better.
const (
	Pass     Result = "pass"
	Untested Result = "untested"
	Advice   Result = "advice"
	Fault    Result = "fault"
)

// Finding tells of one thing that was tested.
type Finding struct {
	Code     string       `json:"code"` // stable, one of Codes
	Result   Result       `json:"result"`
	Level    Level        `json:"level,omitempty"`    // of TLS
	Text     i18n.Message `json:"text"`               // what was found
	Remedy   i18n.Message `json:"remedy,omitempty"`   // for advice and faults
	Sent     string       `json:"sent,omitempty"`     // without tokens and secrets
	Received string       `json:"received,omitempty"` // likewise, cut
}

// Title names what a good endpoint does, for the findings with a code.
func Title(code string) i18n.Message { return i18n.Word("check.title", code) }

// Code and rule of what is tested, in the order of the report.
var rules = []struct{ code, rule string }{
	{"reach", "SEC-27"},
	{"tls-versions", "SEC-20"},
	{"tls-suites", "SEC-21"},
	{"tls-key-exchange", "SEC-22"},
	{"tls-settings", "SEC-24"},
	{"certificate-chain", "SEC-26"},
	{"certificate-name", "SEC-26"},
	{"certificate-dates", "SEC-26"},
	{"certificate-key", "SEC-23"},
	{"certificate-signature", "SEC-23"},
	{"token", "SEC-01"},
	{"token-secret", "SEC-02"},
	{"token-lifetime", "SEC-09"},
	{"event", "EDU-19"},
	{"duplicate", "IDEM-15"},
	{"replay", "IDEM-15"},
	{"no-token", "EDU-04"},
	{"wrong-token", "SEC-07"},
	{"not-json", "EDU-N02"},
	{"no-source", "EDU-N02"},
	{"media-type", "CE-66"},
	{"batch", "EDU-16"},
	{"size", "EDU-03"},
	{"unsigned", "EDU-N07"},
	{"wrong-signature", "EDU-N07"},
	{"old-signature", "EDU-N07"},
	{"redirects", "CE-63"},
	{"retry-after", "CE-65"},
	{"one-answer", "EDU-19"},
	{"answer-time", "EDU-19"},
}

// Codes lists what is tested, in the order of a report.
func Codes() []string {
	var codes []string
	for _, r := range rules {
		codes = append(codes, r.code)
	}
	return codes
}

// RuleOf returns the rule that a finding is about.
func RuleOf(code string) string {
	for _, r := range rules {
		if r.code == code {
			return r.rule
		}
	}
	return ""
}

// Report holds the findings of one check.
type Report struct {
	URL      string        `json:"url"`
	Result   Result        `json:"result"` // the worst of the findings
	Findings []Finding     `json:"findings"`
	Slowest  time.Duration `json:"slowest"` // answer to an event, nanoseconds

	prime int // bits of the shortest prime that the server chose; 0 for none
}

// Count returns how many findings have a result.
func (r Report) Count(result Result) (n int) {
	for _, f := range r.Findings {
		if f.Result == result {
			n++
		}
	}
	return n
}

// Target describes what is checked.
type Target struct {
	URL     string
	Mode    string               // webhook.ModeStructured ("" too) or ModeBinary
	Token   *webhook.TokenConfig // nil, or of AuthNone, when the endpoint asks for no token
	Batches bool                 // the endpoint is said to take batches
	Timeout time.Duration        // of one request; 0 is 30 s
	Pause   time.Duration        // between requests, for an endpoint with a limit
	Sign    webhook.Signatures   // what signs requests; none when it is empty
	// Certificate is shown to a receiver that asks for a client certificate; nil for none.
	Certificate *outbound.Certificate
	// Encrypt encrypts the data of the event, when set; without a key nothing is sent.
	Encrypt func(ctx context.Context, ev *event.Event) (event.Event, error)
	// Event is an example of an event as JSON, whose id and mark as a test the check sets; empty is a test event of Source.
	Event  []byte
	Source string
}

// Checker runs checks. It is safe for concurrent use.
type Checker struct {
	client *outbound.Client
	sender *webhook.Sender
	wrong  *webhook.Sender // signs assertions with a key that nobody knows
	now    func() time.Time
}

// New makes a Checker that sends through client. signer is our key for private_key_jwt; nil makes that method fail.
func New(client *outbound.Client, signer webhook.Signer, now func() time.Time) *Checker {
	return &Checker{
		client: client, now: now, sender: webhook.NewSender(webhook.Config{Client: client, Signer: signer, Now: now}),
		wrong: webhook.NewSender(webhook.Config{Client: client, Signer: strangerTo{signer}, Now: now}),
	}
}

// run is one check under way.
type run struct {
	*Checker
	Target
	report  Report
	token   string
	base    map[string]any // the event, without its id
	first   string         // id of the event that is sent first
	sent    int
	stopped bool // the receiver asked for a pause that is too long to wait for
	busy    []exchange
	unasked bool
	moved   *exchange // the first answer that was a redirect
}

// Run checks a target. Its error is that of ctx, or that the example event is none.
func (c *Checker) Run(ctx context.Context, t Target) (Report, error) {
	if t.Timeout <= 0 {
		t.Timeout = 30 * time.Second
	}
	r := &run{Checker: c, Target: t, report: Report{URL: shownURL(t.URL)}}
	if err := r.prepare(); err != nil {
		return r.report, err
	}
	failure := r.encrypt(ctx)
	if r.checkTLS(ctx) {
		r.checkTokens(ctx)
		if failure == nil {
			r.checkEvents(ctx)
		} else {
			r.add(*failure)
		}
	}
	if ctx.Err() != nil {
		return r.report, context.Cause(ctx)
	}
	r.finish()
	return r.report, nil
}

// add notes a finding.
func (r *run) add(f Finding) { r.report.Findings = append(r.report.Findings, f) }

func (r *run) pass(code string, text i18n.Message) {
	r.add(Finding{Code: code, Result: Pass, Text: text})
}

func (r *run) skip(text i18n.Message, codes ...string) {
	for _, code := range codes {
		r.add(Finding{Code: code, Result: Untested, Text: text})
	}
}

// finish puts the findings in order, adds those that never came about, and judges the whole.
func (r *run) finish() {
	r.report.Findings = slices.DeleteFunc(r.report.Findings, func(f Finding) bool { return r.beside(f.Code) })
	for _, code := range Codes() {
		if !slices.ContainsFunc(r.report.Findings, func(f Finding) bool { return f.Code == code }) && !r.beside(code) {
			r.skip("check.text.not-reached", code)
		}
	}
	order := Codes()
	sorted.Stable(r.report.Findings, func(a, b Finding) int { return slices.Index(order, a.Code) - slices.Index(order, b.Code) })
	r.report.Result = Pass
	for _, f := range r.report.Findings {
		if f.Result == Fault || f.Result == Advice && r.report.Result != Fault {
			r.report.Result = f.Result
		}
	}
}

// beside reports whether a code does not concern this endpoint.
func (r *run) beside(code string) bool {
	switch code {
	case "unsigned", "wrong-signature", "old-signature":
		return r.Sign.Empty()
	}
	return false
}

// shownURL is an address without its query, which may hold a key.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User = nil
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
