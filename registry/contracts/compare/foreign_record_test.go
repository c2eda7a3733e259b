package compare

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recordOasdiff runs the tests of oasdiff's checker in a copy of its source that writes down each pair it compares, with the
// level of what all its checks find. It gives the folder with the pairs.
func recordOasdiff(t *testing.T, source string) string {
	t.Helper()
	folder, pairs := t.TempDir(), t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chmod", "-R", "u+w", folder).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite := func(name, old, new string) {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
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
