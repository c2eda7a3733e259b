package main

import (
	"fmt"
	"strings"
)

// preamble opens RULES.md.
const preamble = `# Rules and their tests

Each rule that Schakel follows, in our own words, with the tests that prove it, or the reason why none can.
A test names the rules it proves in its comment (` + "`// Rules: EDU-10, IDEM-11.`" + `).
` + "`go run ./server/rules`" + ` writes this file; a test fails when a rule has neither test nor reason, or when the file is not current.

`

// mostTests bounds how many tests of a rule the table names.
const mostTests = 3

// Table writes RULES.md: the chapters with their proofs as Markdown.
func Table(chapters []Chapter, proofs []Proof) string {
	var b strings.Builder
	b.WriteString(preamble)
	for i, c := range chapters {
		if i > 0 {
			b.WriteString("\n")
		}
		// The count stands below the heading, since the heading makes the address of the chapter in /docs/rules.
		fmt.Fprintf(&b, "## %s\n\n%d rules.\n\n| rule | level | what | proven by |\n|---|---|---|---|\n", c.Title, len(c.Rules))
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.Level, r.Text, proofText(r, testsOf(r.ID, proofs)))
		}
	}
	return b.String()
}

// testsOf are the tests that prove a rule.
func testsOf(id string, proofs []Proof) []string {
	var tests []string
	for _, p := range proofs {
		if p.Rule == id {
			tests = append(tests, p.Test)
		}
	}
	return tests
}

func proofText(r Rule, tests []string) string {
	switch {
	case len(tests) > mostTests:
		return fmt.Sprintf("%s and %d more", strings.Join(tests[:mostTests], ", "), len(tests)-mostTests)
	case len(tests) > 0:
		return strings.Join(tests, ", ")
	case r.Reason != "":
		return "no test: " + r.Reason
	}
	return "nothing yet"
}
