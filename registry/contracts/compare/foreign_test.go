package compare

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

// The verdicts of other programs on their own test documents, held against ours. The documents are not part of this
// repository; each test names their folder. testdata holds every difference of verdict with the reason why ours
// stays, so a new difference fails, and one that is gone does too. The rules themselves are tested by TestKeywords and the
// tests beside it, with documents of our own.

// argued reads the differences that were argued: the name of a pair, their verdict, ours and the reason, with tabs between.
func argued(t *testing.T, file string) map[string][]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := map[string][]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := lines.Text(); line != "" && line[0] != '#' {
			fields := strings.Split(line, "\t")
			if len(fields) != 4 || len(fields[3]) < 20 {
				t.Errorf("%s: a line without four fields or without a reason: %s", file, line)
				continue
			}
			list[fields[0]] = fields[1:]
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// verdicts compares the verdicts on pairs with those that were argued.
type verdicts struct {
	file          string
	known         map[string][]string
	pairs, agreed int
}

func (v *verdicts) pair(t *testing.T, name, theirs, ours string, changes []Change) {
	v.pairs++
	was, isKnown := v.known[name]
	delete(v.known, name)
	switch {
	case theirs == ours && !isKnown:
		v.agreed++
	case theirs == ours:
		t.Errorf("%s: both say %s now; take the line out of %s", name, ours, v.file)
	case !isKnown || was[0] != theirs || was[1] != ours:
		t.Errorf("a new difference, to be mended or argued in %s:\n%s\t%s\t%s\t%s", v.file, name, theirs, ours, strings.Join(brief(changes), "; "))
	}
}

func (v *verdicts) done(t *testing.T, least int) {
	for name := range v.known {
		t.Errorf("%s names %s, which was not met", v.file, name)
	}
	if v.pairs < least {
		t.Errorf("%d pairs, want %d at least", v.pairs, least)
	}
	t.Logf("%d pairs, %d with the same verdict, %d argued", v.pairs, v.agreed, v.pairs-v.agreed)
}

// TestForeignOasdiff takes the pairs that the tests of oasdiff compare, with what oasdiff says of each. SCHAKEL_OASDIFF is
// its source, such as a checkout of github.com/oasdiff/oasdiff at v1.33.0; its tests are run in a copy that writes down
// every pair.
func TestForeignOasdiff(t *testing.T) {
	source := os.Getenv("SCHAKEL_OASDIFF")
	if source == "" {
		t.Skip("SCHAKEL_OASDIFF names no source of oasdiff")
	}
	folder := recordOasdiff(t, source)
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	v := &verdicts{file: "foreign-oasdiff.txt", known: argued(t, "foreign-oasdiff.txt")}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pair struct {
			Level    string
			Old, New json.RawMessage
		}
		if err := json.Unmarshal(content, &pair); err != nil {
			t.Fatal(err)
		}
		old, new := parse(t, string(pair.Old)), parse(t, string(pair.New))
		changes, err := compareDocuments(old, new)
		if err != nil {
			t.Fatal(err)
		}
		checkComplete(t, old, new, changes)
		theirs := map[string]string{"error": "breaking", "warning": "warning", "info": "info"}[pair.Level]
		ours := Worst(changes)
		if ours == "" {
			ours = Info
		}
		v.pair(t, strings.TrimSuffix(filepath.Base(file), ".json"), theirs, string(ours), changes)
	}
	v.done(t, 900)
}

// TestForeignOpenAPIDiff takes the assertions of the tests of openapi-diff (Java). SCHAKEL_OPENAPI_DIFF is its source, such
// as a checkout of github.com/OpenAPITools/openapi-diff.
func TestForeignOpenAPIDiff(t *testing.T) {
	source := os.Getenv("SCHAKEL_OPENAPI_DIFF")
	if source == "" {
		t.Skip("SCHAKEL_OPENAPI_DIFF names no source of openapi-diff")
	}
	v := &verdicts{file: "foreign-openapi-diff.txt", known: argued(t, "foreign-openapi-diff.txt")}
	for _, a := range javaAssertions(t, filepath.Join(source, "core", "src", "test", "java")) {
		read := func(name string) *contract.Document {
			content, err := os.ReadFile(filepath.Join(source, "core", "src", "test", "resources", name))
			if err != nil {
				t.Fatal(err)
			}
			d, _, err := contract.Parse(content, contract.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		old, new := read(a.old), read(a.new)
		if old == nil || new == nil {
			continue // a document of version 2, which is not compared
		}
		changes, err := compareDocuments(old, new)
		if err != nil {
			t.Fatal(err)
		}
		checkComplete(t, old, new, changes)
		v.pair(t, a.name, a.verdict, a.fits(changes), changes)
	}
	v.done(t, 120)
}
