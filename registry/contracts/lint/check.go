package lint

import (
	"cmp"
	"fmt"
	"slices"

	"schakel/registry/contracts/contract"
	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Check holds a document against the rules for its kind. It never fails: what has a wrong shape is left to the validation.
func Check(doc *contract.Document) Report {
	c := newChecker(doc)
	if c.root != nil {
		if doc.Kind == contract.OpenAPI {
			c.design()
			c.webhooks()
		} else {
			c.events()
		}
	}
	return c.report()
}

type checker struct {
	tree
	doc      *contract.Document
	is       expressions
	rules    []Rule
	outcomes map[string]*Outcome
	said     map[string]bool // code and pointer of findings, so that what several references lead to is told once
	findings []contract.Finding
}

func newChecker(doc *contract.Document) *checker {
	root, _ := doc.Root.(map[string]any)
	c := &checker{
		tree: tree{root: root, ends: map[string]end{}, work: maxWork}, doc: doc, is: expressions{newPatterns(), newTypePatterns()}, rules: Rules(doc.Kind),
		outcomes: map[string]*Outcome{}, said: map[string]bool{},
	}
	for _, r := range c.rules {
		c.outcomes[r.Code] = &Outcome{Rule: r, State: NotApplicable}
	}
	return c
}

// applies notes that the document has something the rule covers.
func (c *checker) applies(code string) {
	if o := c.outcomes[code]; o.State == NotApplicable {
		o.State = Holds
	}
}

// fails reports a breach of a rule at a place, with the key of a text and its arguments.
func (c *checker) fails(code, at, key string, args ...any) {
	o := c.outcomes[code]
	o.State = Fails
	place := code + " " + at
	if o.Count >= maxPerRule || c.said[place] {
		return
	}
	c.said[place] = true
	o.Count++
	c.findings = append(c.findings, contract.Finding{Severity: o.Severity, Code: code, Pointer: at, Detail: i18n.M(key, args...), Remedy: o.Remedy})
}

// holds is applies, and fails at a place unless ok.
func (c *checker) holds(code string, ok bool, at func() string, key string, args ...any) {
	c.applies(code)
	if !ok && c.outcomes[code].Count < maxPerRule {
		c.fails(code, at(), key, args...)
	}
}

func (c *checker) report() Report {
	r := Report{Findings: c.doc.Place(c.findings)}
	sortFindings(r.Findings)
	for _, rule := range c.rules {
		r.Outcomes = append(r.Outcomes, *c.outcomes[rule.Code])
	}
	r.Score = scoreOf(r.Outcomes)
	return r
}

// State rates a document by a rule.
type State string

// The states of a rule.
const (
	Holds         State = "holds"
	Fails         State = "fails"
	NotApplicable State = "not-applicable"
)

// Outcome holds the result of one rule for a document.
type Outcome struct {
	Rule
	State State
	// Count is the number of findings, of which no more than 200 are looked for.
	Count int
}

// Report is the advice on a document. Who gets it must not change it.
type Report struct {
	// Score is from 0 to 100; the package comment gives its formula.
	Score int
	// Outcomes has each rule for the kind of document, in the order of Rules.
	Outcomes []Outcome
	// Findings are in the order of the document; the code of each is that of its rule.
	Findings []contract.Finding
}

const maxPerRule = 200

// SetScore is the score of the rules of one set; applies is false when none of them applies.
func (r Report) SetScore(set string) (score int, applies bool) {
	var list []Outcome
	for _, o := range r.Outcomes {
		if o.Set == set {
			list = append(list, o)
			applies = applies || o.State != NotApplicable
		}
	}
	return scoreOf(list), applies
}

// Outcome finds a rule by its code.
func (r Report) Outcome(code string) (Outcome, bool) {
	i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Code == code })
	if i < 0 {
		return Outcome{}, false
	}
	return r.Outcomes[i], true
}

// Cut reports whether there may be more findings of a rule than the report has.
func (o Outcome) Cut() bool { return o.Count >= maxPerRule }

func scoreOf(list []Outcome) int {
	all, kept := 0, 0
	for _, o := range list {
		if o.State == NotApplicable {
			continue
		}
		all += o.weight()
		if o.State == Holds {
			kept += o.weight()
		}
	}
	if all == 0 {
		return 100
	}
	return 100 * kept / all
}

func sortFindings(findings []contract.Finding) {
	sorted.Stable(findings, func(a, b contract.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Pointer, b.Pointer))
	})
}

// String gives the score as people read it.
func (r Report) String() string { return fmt.Sprintf("%d of 100", r.Score) }

// The sets that rules belong to.
const (
	SetDesign = "NL API Design Rules"
	SetEvents = "Edukoppeling"
)

// Rule is one piece of advice.
type Rule struct {
	// Code names the rule in kebab-case and stays the same for ever.
	Code string
	// ID is the name of the rule where it comes from, such as /core/semver or EDU-26.
	ID string
	// Set is SetDesign or SetEvents.
	Set string
	// Title states the rule, Remedy the way to comply.
	Title, Remedy i18n.Message
	// Link is the address of an explanation.
	Link string
	// Severity is the severity of its findings, as in package contract.
	Severity string
}

func (r Rule) weight() int {
	switch r.Severity {
	case contract.SeverityError:
		return 3
	case contract.SeverityWarning:
		return 1
	}
	return 0
}

// Rules lists the rules that documents of a kind are held against, in the order they are shown.
func Rules(kind contract.Kind) []Rule {
	if kind == contract.OpenAPI {
		return append(designRules(), webhookRules()...)
	}
	return eventRules()
}

// Sets lists the sets of rules in the order they are shown.
func Sets() []string { return []string{SetDesign, SetEvents} }

// designRules are the NL API Design Rules 2.2 as far as a document shows whether they are kept.
func designRules() []Rule {
	const e, w, i = contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo
	rules := []Rule{
		{Code: "doc-openapi", ID: "/core/doc-openapi", Severity: e, Title: "lint.doc-openapi.title", Remedy: "lint.doc-openapi.remedy"},
		{Code: "doc-openapi-contact", ID: "/core/doc-openapi-contact", Severity: e, Title: "lint.doc-openapi-contact.title", Remedy: "lint.doc-openapi-contact.remedy"},
		{Code: "publish-openapi", ID: "/core/publish-openapi", Severity: e, Title: "lint.publish-openapi.title", Remedy: "lint.publish-openapi.remedy"},
		{Code: "semver", ID: "/core/semver", Severity: e, Title: "lint.semver.title", Remedy: "lint.semver.remedy"},
		{Code: "uri-version", ID: "/core/uri-version", Severity: e, Title: "lint.uri-version.title", Remedy: "lint.uri-version.remedy"},
		{Code: "version-header", ID: "/core/version-header", Severity: e, Title: "lint.version-header.title", Remedy: "lint.version-header.remedy"},
		{Code: "transport-tls", ID: "/core/transport/tls", Severity: w, Title: "lint.transport-tls.title", Remedy: "lint.transport-tls.remedy"},
		{Code: "no-trailing-slash", ID: "/core/no-trailing-slash", Severity: e, Title: "lint.no-trailing-slash.title", Remedy: "lint.no-trailing-slash.remedy"},
		{Code: "path-segments-kebab-case", ID: "/core/path-segments-kebab-case", Severity: e, Title: "lint.path-segments-kebab-case.title", Remedy: "lint.path-segments-kebab-case.remedy"},
		{Code: "query-keys-camel-case", ID: "/core/query-keys-camel-case", Severity: e, Title: "lint.query-keys-camel-case.title", Remedy: "lint.query-keys-camel-case.remedy"},
		{Code: "http-methods", ID: "/core/http-methods", Severity: e, Title: "lint.http-methods.title", Remedy: "lint.http-methods.remedy"},
		{Code: "problem-details", ID: "/core/error-handling/problem-details", Severity: e, Title: "lint.problem-details.title", Remedy: "lint.problem-details.remedy"},
		{Code: "problem-members", ID: "/core/error-handling/problem-details", Severity: e, Title: "lint.problem-members.title", Remedy: "lint.problem-members.remedy"},
		{Code: "invalid-input", ID: "/core/error-handling/invalid-input", Severity: e, Title: "lint.invalid-input.title", Remedy: "lint.invalid-input.remedy"},
		{Code: "date-time-timezone", ID: "/core/date-time/timezone", Severity: e, Title: "lint.date-time-timezone.title", Remedy: "lint.date-time-timezone.remedy"},
		{Code: "time-format", ID: "/core/date-time/format", Severity: e, Title: "lint.time-format.title", Remedy: "lint.time-format.remedy"},
		{Code: "date-format", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "lint.date-format.title", Remedy: "lint.date-format.remedy"},
		{Code: "date-omit-time-portion", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "lint.date-omit-time-portion.title", Remedy: "lint.date-omit-time-portion.remedy"},
		{Code: "schema-camel-case", ID: "schema-camel-case", Severity: w, Title: "lint.schema-camel-case.title", Remedy: "lint.schema-camel-case.remedy"},
		{Code: "property-camel-case", ID: "property-casing", Severity: i, Title: "lint.property-camel-case.title", Remedy: "lint.property-camel-case.remedy"},
	}
	for n := range rules {
		rules[n].Set, rules[n].Link = SetDesign, designLink(rules[n].ID)
	}
	return rules
}

// designLink gives the address that explains a rule: in the standard, or, for two that only the linter has, the linter's.
func designLink(id string) string {
	const standard, linter = "https://gitdocumentatie.logius.nl/publicatie/api/adr/2.2.0/#", "https://developer.overheid.nl/kennisbank/apis/api-design-rules/api-design-rules-linter"
	if id[0] == '/' {
		return standard + id
	}
	return linter
}

// eventRules lists the rules for AsyncAPI documents: what the Edukoppeling profile and NL GOV CloudEvents ask of events.
func eventRules() []Rule {
	const e, w, i = contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo
	rules := []Rule{
		{Code: "event-type-name", ID: "CE-12", Link: eventsLink, Severity: e, Title: "lint.event-type-name.title", Remedy: "lint.event-type-name.remedy"},
		{Code: "event-type-version", ID: "CE-13", Link: eventsLink, Severity: e, Title: "lint.event-type-version.title", Remedy: "lint.event-type-version.remedy"},
		{Code: "event-type-domain", ID: "CE-14", Link: eventsLink, Severity: i, Title: "lint.event-type-domain.title", Remedy: "lint.event-type-domain.remedy"},
		{Code: "event-object-reference", ID: "EDU-01", Link: profileLink, Severity: w, Title: "lint.event-object-reference.title", Remedy: "lint.event-object-reference.remedy"},
		{Code: "event-sensitive", ID: "EDU-26", Link: profileLink, Severity: w, Title: "lint.event-sensitive.title", Remedy: "lint.event-sensitive.remedy"},
		{Code: "event-time-meaning", ID: "CE-20", Link: eventsLink, Severity: w, Title: "lint.event-time-meaning.title", Remedy: "lint.event-time-meaning.remedy"},
		{Code: "event-id-meaning", ID: "CE-07", Link: eventsLink, Severity: w, Title: "lint.event-id-meaning.title", Remedy: "lint.event-id-meaning.remedy"},
		{Code: "event-source", ID: "CE-08", Link: eventsLink, Severity: w, Title: "lint.event-source.title", Remedy: "lint.event-source.remedy"},
		{Code: "event-attributes", ID: "CE-01", Link: eventsLink, Severity: e, Title: "lint.event-attributes.title", Remedy: "lint.event-attributes.remedy"},
		{Code: "event-attribute-names", ID: "CE-02", Link: eventsLink, Severity: e, Title: "lint.event-attribute-names.title", Remedy: "lint.event-attribute-names.remedy"},
		{Code: "event-dataschema", ID: "CE-18", Link: eventsLink, Severity: e, Title: "lint.event-dataschema.title", Remedy: "lint.event-dataschema.remedy"},
		{Code: "event-data-json", ID: "CE-17", Link: eventsLink, Severity: w, Title: "lint.event-data-json.title", Remedy: "lint.event-data-json.remedy"},
		{Code: "event-size", ID: "CE-31", Link: eventsLink, Severity: w, Title: "lint.event-size.title", Remedy: "lint.event-size.remedy"},
		{Code: "event-aggregate", ID: "EDU-01b", Link: profileLink, Severity: w, Title: "lint.event-aggregate.title", Remedy: "lint.event-aggregate.remedy"},
	}
	for n := range rules {
		rules[n].Set = SetEvents
	}
	return rules
}

// The places where the rules on events are explained.
const (
	profileLink = "https://www.edustandaard.nl/"
	eventsLink  = "https://gitdocumentatie.logius.nl/publicatie/notificatieservices/CloudEvents-NL/"
)

// webhookRules lists the rules for OpenAPI documents of receivers of CloudEvents (EDU-21, EDU-23).
func webhookRules() []Rule {
	const e, w = contract.SeverityError, contract.SeverityWarning
	rules := []Rule{
		{Code: "webhook-method", ID: "CE-60", Severity: e, Title: "lint.webhook-method.title", Remedy: "lint.webhook-method.remedy"},
		{Code: "webhook-media-type", ID: "EDU-15", Severity: e, Title: "lint.webhook-media-type.title", Remedy: "lint.webhook-media-type.remedy"},
		{Code: "webhook-idempotency-key", ID: "IDEM-02", Severity: e, Title: "lint.webhook-idempotency-key.title", Remedy: "lint.webhook-idempotency-key.remedy"},
		{Code: "webhook-accepted", ID: "CE-62", Severity: e, Title: "lint.webhook-accepted.title", Remedy: "lint.webhook-accepted.remedy"},
		{Code: "webhook-answers", ID: "CE-67", Severity: w, Title: "lint.webhook-answers.title", Remedy: "lint.webhook-answers.remedy"},
		{Code: "webhook-retry-after", ID: "CE-65", Severity: w, Title: "lint.webhook-retry-after.title", Remedy: "lint.webhook-retry-after.remedy"},
		{Code: "webhook-security", ID: "EDU-04", Severity: e, Title: "lint.webhook-security.title", Remedy: "lint.webhook-security.remedy"},
	}
	for n := range rules {
		rules[n].Set, rules[n].Link = SetEvents, profileLink
	}
	return rules
}
