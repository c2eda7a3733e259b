package lint

import "schakel/registry/contracts/contract"

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

// checker gathers what is found in one document.
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
