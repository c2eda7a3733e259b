package compare

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	must(t, err)
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
	must(t, lines.Err())
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

// TestForeignOasdiff takes the pairs that the tests of oasdiff compare, with what oasdiff says of each. SCHAKEL_OASDIFF is its
// source, such as a checkout of github.com/oasdiff/oasdiff at v1.33.0; its tests are run in a copy that writes down every pair.
func TestForeignOasdiff(t *testing.T) {
	source := os.Getenv("SCHAKEL_OASDIFF")
	if source == "" {
		t.Skip("SCHAKEL_OASDIFF names no source of oasdiff")
	}
	folder := recordOasdiff(t, source)
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	must(t, err)
	v := &verdicts{file: "foreign-oasdiff.txt", known: argued(t, "foreign-oasdiff.txt")}
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		var pair struct {
			Level    string
			Old, New json.RawMessage
		}
		must(t, json.Unmarshal(content, &pair))
		old, new := parse(t, string(pair.Old)), parse(t, string(pair.New))
		changes, err := compareDocuments(old, new)
		must(t, err)
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
			must(t, err)
			d, _, err := contract.Parse(content, contract.Limits{})
			must(t, err)
			return d
		}
		old, new := read(a.old), read(a.new)
		if old == nil || new == nil {
			continue // a document of version 2, which is not compared
		}
		changes, err := compareDocuments(old, new)
		must(t, err)
		checkComplete(t, old, new, changes)
		v.pair(t, a.name, a.verdict, a.fits(changes), changes)
	}
	v.done(t, 120)
}

// javaAssertion holds an assertion of a test of openapi-diff about two documents.
type javaAssertion struct{ name, old, new, verdict string }

// fits gives the verdict of the assertion where the changes agree with it, else what they say.
func (a javaAssertion) fits(changes []Change) string {
	ours, agrees := "compatible", false
	switch worst := Worst(changes); {
	case worst == Breaking:
		ours = "incompatible"
	case worst == Warning:
		ours = "compatible with a warning"
	case len(changes) == 0:
		ours = "unchanged"
	}
	switch a.verdict {
	case "unchanged":
		agrees = len(changes) == 0
	case "same operations": // other texts may differ
		agrees = Worst(changes) == Info || len(changes) == 0
	case "changed":
		agrees = len(changes) > 0
	case "compatible":
		agrees = Worst(changes) != Breaking
	case "incompatible":
		agrees = Worst(changes) == Breaking
	}
	if agrees {
		return a.verdict
	}
	return ours
}

// javaAssertions finds the assertions in the tests of openapi-diff that name two documents.
func javaAssertions(t *testing.T, folder string) []javaAssertion {
	t.Helper()
	var list []javaAssertion
	seen := map[string]int{}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "Test.java") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, a := range inJava(strings.TrimSuffix(filepath.Base(path), ".java"), string(content)) {
			if seen[a.name]++; seen[a.name] > 1 {
				a.name += fmt.Sprintf("#%d", seen[a.name])
			}
			list = append(list, a)
		}
		return nil
	})
	must(t, err)
	return list
}

func inJava(class, source string) []javaAssertion {
	constants := map[string]string{}
	for _, found := range regexp.MustCompile(`String\s+(\w+)\s*=\s*"([^"]+)"`).FindAllStringSubmatch(source, -1) {
		constants[found[1]] = found[2]
	}
	file := func(said string) string {
		if text, isText := strings.CutPrefix(said, `"`); isText {
			return strings.TrimSuffix(text, `"`)
		}
		return constants[said]
	}
	method := regexp.MustCompile(`void\s+(\w+)\s*\(`)
	verdict := map[string]string{
		"assertOpenApiAreEquals": "same operations", "assertOpenApiChangedEndpoints": "changed", "assertSpecUnchanged": "unchanged",
		"assertSpecChangedButCompatible": "compatible", "assertOpenApiBackwardCompatible": "compatible",
		"assertSpecIncompatible": "incompatible", "assertOpenApiBackwardIncompatible": "incompatible",
		"assertIncompatibleRequest": "incompatible", "assertIncompatibleResponse": "incompatible",
	}
	var list []javaAssertion
	call := regexp.MustCompile(`(?s)\b(assert\w+)\(\s*("[^"]+"|\w+)\s*,\s*("[^"]+"|\w+)`)
	for _, at := range call.FindAllStringSubmatchIndex(source, -1) {
		name, first, second := source[at[2]:at[3]], source[at[4]:at[5]], source[at[6]:at[7]]
		methods := method.FindAllStringSubmatch(source[:at[0]], -1)
		if len(methods) == 0 || verdict[name] == "" {
			continue
		}
		a := javaAssertion{class + "." + methods[len(methods)-1][1], file(first), file(second), verdict[name]}
		if strings.HasPrefix(name, "assertIncompatibleRe") { // a method of the test itself, with the base in it
			a.old, a.new = constants["BASE"], file(first)
		}
		if a.old != "" && a.new != "" {
			list = append(list, a)
		}
	}
	return list
}

// recordOasdiff runs the tests of oasdiff's checker in a copy of its source that writes down each pair it compares, with the
// level of what all its checks find. It gives the folder with the pairs.
func recordOasdiff(t *testing.T, source string) string {
	t.Helper()
	folder, pairs := t.TempDir(), t.TempDir()
	must(t, os.CopyFS(folder, os.DirFS(source)))
	if out, err := exec.Command("chmod", "-R", "u+w", folder).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	write := func(name, content string) {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	rewrite := func(name, old, new string) {
		content, err := os.ReadFile(filepath.Join(folder, name))
		must(t, err)
		if !strings.Contains(string(content), old) {
			t.Fatalf("%s of oasdiff is not as expected: %q is absent", name, old)
		}
		write(name, strings.Replace(string(content), old, new, 1))
	}
	rewrite("diff/diff.go", "\tdiff, err := getDiffInternal(config, state, s1, s2)", "\trecorded := record(s1, s2)\n\tdiff, err := getDiffInternal(config, state, s1, s2)")
	rewrite("diff/diff.go", "\tdiff.BaseInfo, diff.RevisionInfo = s1.Info, s2.Info\n", "\tdiff.BaseInfo, diff.RevisionInfo = s1.Info, s2.Info\n\tRecorded.Store(diff, recorded)\n")
	const head = "func CheckBackwardCompatibilityUntilLevel(config *Config, diffReport *diff.Diff, operationsSources *diff.OperationsSourcesMap, level Level) Changes {\n"
	rewrite("checker/checker.go", head, head+"\trecordPair(diffReport, operationsSources)\n\treturn checkUnrecorded(config, diffReport, operationsSources, level)\n}\n\n"+
		strings.Replace(head, "CheckBackwardCompatibilityUntilLevel", "checkUnrecorded", 1))
	write("diff/record.go", recordPairs)
	write("checker/record.go", recordVerdicts)
	tests := exec.CommandContext(t.Context(), "go", "test", "./checker")
	tests.Dir = folder
	tests.Env = append(os.Environ(), "RECORD="+pairs, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off")
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("run the tests of oasdiff: %v\n%s", err, out)
	}
	return pairs
}

const recordPairs = `package diff

import (
	"encoding/json"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Recorded has the documents of each report.
var Recorded sync.Map

func record(s1, s2 *openapi3.T) [2]json.RawMessage {
	a, _ := json.Marshal(s1)
	b, _ := json.Marshal(s2)
	return [2]json.RawMessage{a, b}
}
`

const recordVerdicts = `package checker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/oasdiff/oasdiff/diff"
)

func recordPair(report *diff.Diff, sources *diff.OperationsSourcesMap) {
	value, ok := diff.Recorded.Load(report)
	if !ok {
		return
	}
	pair := value.([2]json.RawMessage)
	sum := sha256.Sum256(append(append([]byte{}, pair[0]...), pair[1]...))
	name := ""
	callers := make([]uintptr, 40)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more && name == ""; {
		var f runtime.Frame
		f, more = frames.Next()
		if i := strings.LastIndex(f.Function, ".Test"); i >= 0 {
			name, _, _ = strings.Cut(f.Function[i+1:], ".")
		}
	}
	if sources == nil {
		sources = &diff.OperationsSourcesMap{}
	}
	worst := INFO
	for _, c := range checkUnrecorded(NewConfig(GetAllChecks()), report, sources, INFO) {
		worst = max(worst, c.GetLevel())
	}
	content, _ := json.Marshal(map[string]any{"level": worst.String(), "old": pair[0], "new": pair[1]})
	file := filepath.Join(os.Getenv("RECORD"), name+"-"+hex.EncodeToString(sum[:6])+".json")
	_ = os.WriteFile(file, content, 0o600)
}
`
