package lint

import (
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

func parse(t testing.TB, content string) *contract.Document {
	t.Helper()
	doc, findings, err := contract.Parse([]byte(content), contract.Limits{})
	if err != nil || doc == nil {
		t.Fatalf("not read: %v, %v", findings, err)
	}
	return doc
}

// broken is a document that keeps every rule, with one place changed so that it breaks one.
type broken struct {
	code, old, put string
	pointer        string // where it is found
	// before are pairs of what is replaced elsewhere, where one place is not enough.
	before []string
}

// checkBroken holds a document that keeps every rule against all of them, and each change against its own rule.
func checkBroken(t *testing.T, whole string, rules []Rule, changes []broken) {
	t.Helper()
	r := Check(parse(t, whole))
	for _, o := range r.Outcomes {
		if o.State != Holds {
			t.Errorf("rule %s: %s by the document that keeps all: %v", o.Code, o.State, r.Findings)
		}
	}
	if r.Score != 100 {
		t.Errorf("score %d", r.Score)
	}
	tested := map[string]bool{}
	for _, change := range changes {
		tested[change.code] = true
		t.Run(change.code+" "+change.pointer, func(t *testing.T) {
			t.Parallel()
			change.check(t, whole)
		})
	}
	for _, rule := range rules {
		if !tested[rule.Code] {
			t.Errorf("no document breaks rule %s", rule.Code)
		}
	}
}

func (b broken) check(t *testing.T, whole string) {
	t.Helper()
	whole = strings.NewReplacer(b.before...).Replace(whole)
	if strings.Count(whole, b.old) != 1 {
		t.Fatalf("%q stands %d times in the document", b.old, strings.Count(whole, b.old))
	}
	r := Check(parse(t, strings.Replace(whole, b.old, b.put, 1)))
	o, ok := r.Outcome(b.code)
	if !ok || o.State != Fails || o.Count != 1 {
		t.Errorf("outcome %+v", o)
	}
	if r.Score == 100 && o.Severity != contract.SeverityInfo {
		t.Error("the score is as if nothing was wrong")
	}
	for _, f := range r.Findings {
		if f.Code == b.code && f.Pointer == b.pointer && f.Line > 0 && f.Column > 0 && f.Detail != "" && f.Remedy != "" && f.Severity == o.Severity {
			return
		}
	}
	t.Errorf("not found at %s: %+v", b.pointer, r.Findings)
}
