package compare

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
