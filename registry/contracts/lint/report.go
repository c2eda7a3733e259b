package lint

import (
	"cmp"
	"fmt"
	"slices"

	"schakel/registry/contracts/contract"
)

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

// maxPerRule bounds the findings of one rule.
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

// sortFindings puts them in the order of the document.
func sortFindings(findings []contract.Finding) {
	slices.SortStableFunc(findings, func(a, b contract.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Pointer, b.Pointer))
	})
}

// String gives the score as people read it.
func (r Report) String() string { return fmt.Sprintf("%d of 100", r.Score) }
