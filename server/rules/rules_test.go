package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// TestEveryRuleHasProof fails when a rule has neither test nor reason, or a test
// names a rule that there is not.
func TestEveryRuleHasProof(t *testing.T) {
	t.Parallel()
	proofs, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range proofs {
		if !known(p.Rule) {
			t.Errorf("%s names rule %q, which there is not", p.Test, p.Rule)
		}
	}
	for _, c := range Chapters() {
		for _, r := range c.Rules {
			if tests := testsOf(r.ID, proofs); (len(tests) == 0) == (r.Reason == "") {
				t.Errorf("%s has tests %v and reason %q; it needs either", r.ID, tests, r.Reason)
			}
		}
	}
}

// TestTableIsCurrent: `go run ./server/rules` would change nothing.
func TestTableIsCurrent(t *testing.T) {
	t.Parallel()
	proofs, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Table(Chapters(), proofs) {
		t.Errorf("%s is not current: run go run ./server/rules", file)
	}
}

func TestRulesAreTold(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^([A-Z]+-[A-Z]?\d\d\d?[a-z]?|E\d{1,2})$`)
	var seen []string
	for _, c := range Chapters() {
		for _, r := range c.Rules {
			if !form.MatchString(r.ID) || slices.Contains(seen, r.ID) || r.Text == "" || r.Level == "" || strings.ContainsAny(r.Text+r.Reason, "|\n") {
				t.Errorf("rule %+v is not told well", r)
			}
			seen = append(seen, r.ID)
		}
	}
	for _, id := range wanted() {
		if !slices.Contains(seen, id) {
			t.Errorf("%s is missing", id)
		}
	}
	if len(seen) < 340 {
		t.Errorf("only %d rules", len(seen))
	}
}

// wanted are the runs of ids that may have no hole.
func wanted() []string {
	var ids []string
	for _, run := range []struct {
		prefix string
		last   int
	}{{"EDU-", 26}, {"EDU-N", 11}, {"IDEM-", 18}, {"IDEM-X", 6}, {"IDEM-I", 9}, {"OPEN-", 17}, {"SEC-", 15}, {"AMQP-", 140}, {"INC-", 28}} {
		for n := 1; n <= run.last; n++ {
			ids = append(ids, fmt.Sprintf("%s%02d", run.prefix, n))
		}
	}
	for _, run := range [][2]int{{1, 7}, {10, 38}, {40, 55}, {60, 65}} { // the list has gaps
		for n := run[0]; n <= run[1]; n++ {
			ids = append(ids, fmt.Sprintf("MUT-%02d", n))
		}
	}
	return ids
}

func TestRulesIn(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string][]string{
		"":                                    nil,
		"TestX is EDU-10.\n":                  nil,
		"Rules: EDU-10.\n":                    {"EDU-10"},
		"TestX tries.\n\nRules: EDU-10, E3\n": {"EDU-10", "E3"},
		"Rules: E1\nRules: E2.\n":             {"E1", "E2"},
	} {
		if got := rulesIn(comment); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", comment, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	chapters := []Chapter{{"Some", []Rule{{ID: "A", Level: must, Text: "a"}, {ID: "B", Level: may, Text: "b", Reason: "none"}, {ID: "C", Level: may, Text: "c"}}}}
	proofs := []Proof{{"A", "p.T1"}, {"A", "p.T2"}, {"A", "p.T3"}, {"A", "p.T4"}}
	table := Table(chapters, proofs)
	for _, line := range []string{"| A | must | a | p.T1, p.T2, p.T3 and 1 more |", "| B | may | b | no test: none |", "| C | may | c | nothing yet |"} {
		if !strings.Contains(table, line) {
			t.Errorf("table lacks %q:\n%s", line, table)
		}
	}
}
