package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// The marks in the README between which the table stands.
const (
	beginMark = "<!-- rules: written by go run ./server/rules -->"
	endMark   = "<!-- end of rules -->"
)

// mostTests bounds how many tests of a rule the table names.
const mostTests = 3

// Table writes the chapters with their proofs as Markdown.
func Table(chapters []Chapter, proofs []Proof) string {
	var b strings.Builder
	for _, c := range chapters {
		fmt.Fprintf(&b, "<details><summary>%s: %d rules</summary>\n\n| rule | level | what | proven by |\n|---|---|---|---|\n", c.Title, len(c.Rules))
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.Level, r.Text, proofText(r, testsOf(r.ID, proofs)))
		}
		b.WriteString("\n</details>\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
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

// Replace puts a table between the marks of a README.
func Replace(readme []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(readme, []byte(beginMark+"\n"))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !ok || !closed {
		return nil, errors.New("the README has no marks for the table of rules")
	}
	return []byte(string(before) + beginMark + "\n\n" + table + "\n" + endMark + string(after)), nil
}
