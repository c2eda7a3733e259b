package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Proof is a test that proves a rule.
type Proof struct {
	Rule string
	// Test is its package and name, such as outbox.TestRetryKeepsIDAndKey.
	Test string
}

// Scan reads the tests under root and answers what they say they prove: a line
// "Rules: EDU-10, IDEM-11." in the comment of a Test, Fuzz or Example function.
func Scan(root string) ([]Proof, error) {
	var proofs []Proof
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name()[0] == '.' || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		found, err := scanFile(path)
		proofs = append(proofs, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tests: %w", err)
	}
	slices.SortFunc(proofs, func(a, b Proof) int { return strings.Compare(a.Test, b.Test) })
	return proofs, nil
}

func scanFile(path string) ([]Proof, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var proofs []Proof
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Doc == nil || !isTest(f.Name.Name) {
			continue
		}
		for _, id := range rulesIn(f.Doc.Text()) {
			proofs = append(proofs, Proof{Rule: id, Test: strings.TrimSuffix(file.Name.Name, "_test") + "." + f.Name.Name})
		}
	}
	return proofs, nil
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example")
}

// rulesIn are the ids in the lines of a comment that begin with "Rules:".
func rulesIn(comment string) []string {
	var ids []string
	for line := range strings.Lines(comment) {
		list, ok := strings.CutPrefix(strings.TrimSpace(line), "Rules:")
		if !ok {
			continue
		}
		for id := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(list), "."), ",") {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

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
