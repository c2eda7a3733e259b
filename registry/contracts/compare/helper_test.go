package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

func parse(t testing.TB, content string) *contract.Document {
	t.Helper()
	d, findings, err := contract.Parse([]byte(content), contract.Limits{})
	if err != nil || d == nil {
		t.Fatalf("parse: %v %v\n%s", err, findings, content)
	}
	return d
}

func compared(t testing.TB, old, new string) []Change {
	t.Helper()
	changes, err := compareDocuments(parse(t, old), parse(t, new))
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	checkComplete(t, parse(t, old), parse(t, new), changes)
	return changes
}

// checkComplete holds what is promised of every change.
func checkComplete(t testing.TB, old, new *contract.Document, changes []Change) {
	t.Helper()
	for i, c := range changes {
		if c.Code == "" || c.Text == "" || c.Why == "" || c.Side == "" || c.Subject == "" || rank(c.Level) > 2 {
			t.Errorf("incomplete: %+v", c)
		}
		root := new.Root
		if c.Removed {
			root = old.Root
		}
		if _, ok := jsonpointer.Lookup(root, c.Pointer); !ok {
			t.Errorf("the pointer leads nowhere: %+v", c)
		}
		for _, l := range i18n.Langs() {
			checkTexts(t, i18n.NewLocale(l, nil), c)
		}
		if i > 0 && rank(changes[i-1].Level) > rank(c.Level) {
			t.Errorf("out of order: %+v", c)
		}
	}
}

// checkTexts holds what is promised of the texts of a change in any language.
func checkTexts(t testing.TB, l *i18n.Locale, c Change) {
	t.Helper()
	text, why := l.Text(c.Text), l.Text(c.Why)
	for _, said := range append([]string{text, why, l.Text(c.Subject)}, localised(l, c.Subjects)...) {
		if strings.Contains(said, "%!") || strings.ContainsAny(said, "\x1e\x1f") || strings.Contains(said, "changes.") && !strings.Contains(said, "changes. ") && !strings.HasSuffix(said, "changes.") {
			t.Errorf("unfinished text in %s: %q", l.Lang, said)
		}
	}
	if strings.Contains(text, "/-/") || !strings.HasSuffix(text, ".") || !strings.HasSuffix(why, ".") || strings.Contains(text, "..") {
		t.Errorf("unfinished text in %s: %q %q", l.Lang, text, why)
	}
}

func localised(l *i18n.Locale, list []i18n.Message) []string {
	var said []string
	for _, m := range list {
		said = append(said, l.Text(m))
	}
	return said
}

// brief gives "level code pointer side" of each change.
func brief(changes []Change) []string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s %s %s %s", c.Level, c.Code, c.Pointer, c.Side))
	}
	slices.Sort(list)
	return list
}

func want(t *testing.T, name string, changes []Change, wanted ...string) {
	t.Helper()
	slices.Sort(wanted)
	if got := brief(changes); !slices.Equal(got, wanted) {
		t.Errorf("%s:\n got  %s\n want %s", name, strings.Join(got, "\n      "), strings.Join(wanted, "\n      "))
	}
}

func samples(t testing.TB) string {
	t.Helper()
	return needs.Shared(t, "contracts")
}

func sample(t testing.TB, name string) *contract.Document {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(samples(t), name))
	must(t, err)
	return parse(t, string(content))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
