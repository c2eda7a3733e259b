package lint

import (
	"cmp"
	"fmt"
	"slices"

	"schakel/registry/contracts/contract"
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

// fails reports a breach of a rule at a place.
func (c *checker) fails(code, at, detail string) {
	o := c.outcomes[code]
	o.State = Fails
	key := code + " " + at
	if o.Count >= maxPerRule || c.said[key] {
		return
	}
	c.said[key] = true
	o.Count++
	c.findings = append(c.findings, contract.Finding{Severity: o.Severity, Code: code, Pointer: at, Detail: detail, Remedy: o.Remedy})
}

// holds is applies, and fails at a place unless ok.
func (c *checker) holds(code string, ok bool, at func() string, detail string) {
	c.applies(code)
	if !ok && c.outcomes[code].Count < maxPerRule {
		c.fails(code, at(), detail)
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
	slices.SortStableFunc(findings, func(a, b contract.Finding) int {
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
	// Title states the rule, Remedy the way to comply, Link the address of an explanation.
	Title, Remedy, Link string
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
		{Code: "doc-openapi", ID: "/core/doc-openapi", Severity: e, Title: "Follow OpenAPI 3 with a whole version number", Remedy: "Write the version as 3.2.0, without a suffix."},
		{Code: "doc-openapi-contact", ID: "/core/doc-openapi-contact", Severity: e, Title: "Say whom to ask, with name, e-mail address and URL", Remedy: "Give info.contact a name, an email and a url."},
		{Code: "publish-openapi", ID: "/core/publish-openapi", Severity: e, Title: "Say where the API is", Remedy: "Add servers with at least one url."},
		{Code: "semver", ID: "/core/semver", Severity: e, Title: "Number versions as semantic versioning does", Remedy: "Write info.version as major.minor.patch, such as 1.4.0."},
		{Code: "uri-version", ID: "/core/uri-version", Severity: e, Title: "Put the major version in the address", Remedy: "Let the url of the server hold the major version, such as https://api.example.nl/v1."},
		{Code: "version-header", ID: "/core/version-header", Severity: e, Title: "Tell the whole version in the header API-Version", Remedy: "Add the header API-Version to the answer."},
		{Code: "transport-tls", ID: "/core/transport/tls", Severity: w, Title: "Use HTTPS", Remedy: "Let the url of the server start with https."},
		{Code: "no-trailing-slash", ID: "/core/no-trailing-slash", Severity: e, Title: "End no path with a slash", Remedy: "Leave the last slash off."},
		{Code: "path-segments-kebab-case", ID: "/core/path-segments-kebab-case", Severity: e, Title: "Write paths in kebab-case", Remedy: "Use lower-case letters, digits and hyphens in the parts of the path."},
		{Code: "query-keys-camel-case", ID: "/core/query-keys-camel-case", Severity: e, Title: "Write query parameters in lower camelCase", Remedy: "Name it as startDate: a lower-case letter first, no hyphens or underscores."},
		{Code: "http-methods", ID: "/core/http-methods", Severity: e, Title: "Use the standard HTTP methods", Remedy: "Use get, post, put, patch or delete."},
		{Code: "problem-details", ID: "/core/error-handling/problem-details", Severity: e, Title: "Answer errors as application/problem+json", Remedy: "Give the answer the media type application/problem+json (RFC 9457)."},
		{Code: "problem-members", ID: "/core/error-handling/problem-details", Severity: e, Title: "Let a problem have status, title and detail", Remedy: "Add the properties status, title and detail to the schema of the problem."},
		{Code: "invalid-input", ID: "/core/error-handling/invalid-input", Severity: e, Title: "Answer invalid input with 400", Remedy: "Describe the answer 400 of the operation."},
		{Code: "date-time-timezone", ID: "/core/date-time/timezone", Severity: e, Title: "Give instants a time zone", Remedy: "Use the format date-time, which has one."},
		{Code: "time-format", ID: "/core/date-time/format", Severity: e, Title: "Write times of day without a time zone", Remedy: "Use the format time-local."},
		{Code: "date-format", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "Say of a date that it is one", Remedy: "Set format to date."},
		{Code: "date-omit-time-portion", ID: "/core/date-time/date-omit-time-portion", Severity: e, Title: "Leave the time off dates", Remedy: "Set format to date, or call it what it is, such as startDateTime."},
		{Code: "schema-camel-case", ID: "schema-camel-case", Severity: w, Title: "Name schemas in UpperCamelCase", Remedy: "Name it as StudentEnrolment."},
		{Code: "property-camel-case", ID: "property-casing", Severity: i, Title: "Name properties in lower camelCase", Remedy: "Name it as startDate."},
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
		{Code: "event-type-name", ID: "CE-12", Link: eventsLink, Severity: e, Title: "Let a type start with a domain name turned around", Remedy: "Name it as nl.example.student.enrolled, in lower case."},
		{Code: "event-type-version", ID: "CE-13", Link: eventsLink, Severity: e, Title: "Give a type at most one version number, with a v before it", Remedy: "End the type with .v2, without a minor version."},
		{Code: "event-type-domain", ID: "CE-14", Link: eventsLink, Severity: i, Title: "Call a domain by a plural", Remedy: "Name the data source, such as nl.brp, or else the domain as a plural, such as nl.students."},
		{Code: "event-object-reference", ID: "EDU-01", Link: profileLink, Severity: w, Title: "Refer to the object that the event is about", Remedy: "Add the attribute subject or dataref, or a property of the data that identifies the object, such as studentId."},
		{Code: "event-sensitive", ID: "EDU-26", Link: profileLink, Severity: w, Title: "Keep what is sensitive out of context attributes", Remedy: "Move it into the data, and use a key in the attribute that means nothing by itself."},
		{Code: "event-time-meaning", ID: "CE-20", Link: eventsLink, Severity: w, Title: "Say what the attribute time means", Remedy: "Describe the property time of the event, such as: when the change was recorded."},
		{Code: "event-id-meaning", ID: "CE-07", Link: eventsLink, Severity: w, Title: "Say what the attribute id is", Remedy: "Describe the property id of the event: which number identifies the event for good, or that it is a UUID."},
		{Code: "event-source", ID: "CE-08", Link: eventsLink, Severity: w, Title: "Let source be a URN of the Netherlands", Remedy: "Write it as urn:nld:oin:00000001823288444000:systeem:naam, or urn:nld:kvknr: with a number of the trade register."},
		{Code: "event-attributes", ID: "CE-01", Link: eventsLink, Severity: e, Title: "Show events that are valid CloudEvents", Remedy: "Mend the example, so that who copies it sends what is taken in."},
		{Code: "event-attribute-names", ID: "CE-02", Link: eventsLink, Severity: e, Title: "Name attributes with lower-case letters and digits alone", Remedy: "Name it as partitionkey, of at most 20 characters."},
		{Code: "event-dataschema", ID: "CE-18", Link: eventsLink, Severity: e, Title: "Let dataschema be an absolute URI", Remedy: "Write the whole address of the schema, such as that of the version in this register."},
		{Code: "event-data-json", ID: "CE-17", Link: eventsLink, Severity: w, Title: "Send data as JSON", Remedy: "Let datacontenttype be application/json, or leave it out."},
		{Code: "event-size", ID: "CE-31", Link: eventsLink, Severity: w, Title: "Keep an event within 64 KiB", Remedy: "Leave the data out and refer to it by dataref."},
		{Code: "event-aggregate", ID: "EDU-01b", Link: profileLink, Severity: w, Title: "Tell of one occurrence, not of everything around it", Remedy: "Send an event for each entity, or a reference to the whole."},
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
		{Code: "webhook-method", ID: "CE-60", Severity: e, Title: "Take events by POST", Remedy: "Describe the operation under post."},
		{Code: "webhook-media-type", ID: "EDU-15", Severity: e, Title: "Take single events as application/cloudevents+json", Remedy: "Add the media type application/cloudevents+json to the content of the request."},
		{Code: "webhook-idempotency-key", ID: "IDEM-02", Severity: e, Title: "Describe the header Idempotency-Key as required", Remedy: "Add a parameter Idempotency-Key with in: header and required: true."},
		{Code: "webhook-accepted", ID: "CE-62", Severity: e, Title: "Answer 202 to what is taken in", Remedy: "Describe the answer 202."},
		{Code: "webhook-answers", ID: "CE-67", Severity: w, Title: "Describe the answers 400, 409, 422 and 429", Remedy: "Describe each of them, as application/problem+json."},
		{Code: "webhook-retry-after", ID: "CE-65", Severity: w, Title: "Tell with 429 when to come back", Remedy: "Add the header Retry-After to the answer 429."},
		{Code: "webhook-security", ID: "EDU-04", Severity: e, Title: "Let senders prove who they are by OAuth 2 client credentials", Remedy: "Add a security scheme of type oauth2 with the flow clientCredentials, and ask for it in security."},
	}
	for n := range rules {
		rules[n].Set, rules[n].Link = SetEvents, profileLink
	}
	return rules
}
