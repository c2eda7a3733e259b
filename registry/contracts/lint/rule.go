package lint

import "schakel/registry/contracts/contract"

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

// weight gives the share of a rule in the score.
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
