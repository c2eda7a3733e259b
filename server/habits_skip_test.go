package main

import (
	"go/ast"
	"strings"
	"testing"
)

// honestSkips are the tests that may be skipped with CI=true too: where, the words of the skip, and why that hides no fault.
// What a test lacks and .ci/prepare or the documents of other parties provide is asked of store/needs.
var honestSkips = []struct{ file, words, why string }{
	{"store/needs/needs.go", "=all runs it", "only in a quick run; neither make test nor CI=true skips it"},
	{"store/needs/needs.go", "data races", ".ci/test runs it without -race too"},
	{"store/needs/needs.go", "%s; %s", "it fails with CI=true"},
	{"store/needs/needs.go", "%s=none", "the operator of the machine states that it has no such documents"},
	{"server/faults/main_test.go", "only root can", "a container may not be allowed to mount and trace"},
	{"server/faults/disk_test.go", "mounts no loop device", "a container may not be allowed to mount"},
	{"server/faults/disk_test.go", "mounts no tmpfs", "a container may not be allowed to mount"},
	{"server/faults/disk_test.go", "cannot be shut down", "a kernel may lack the ioctl"},
	{"server/faults/disk_test.go", "cannot be traced", "a container may not be allowed to trace"},
	{"delivery/amqp/rabbitmq/rabbitmq_test.go", "is a package of this machine", "only a root is looked for; brokertest finds both kinds"},
	{"delivery/amqp/rabbitmq/rabbitmq_test.go", "in a root of its own", "TestFolderInRoot holds the same for a root"},
	{"delivery/amqp/rabbitmq/owner_test.go", "in a root of its own", "a package of RabbitMQ, which .ci/prepare installs, is tested"},
	{"registry/contracts/compare/foreign_test.go", "SCHAKEL_OASDIFF", "a checkout of another project, which a bare machine cannot get; TestKeywords holds the rules with our own documents"},
	{"registry/contracts/compare/foreign_test.go", "SCHAKEL_OPENAPI_DIFF", "a checkout of another project, which a bare machine cannot get; TestKeywords holds the rules with our own documents"},
	{"registry/contracts/compare/hostile_test.go", "not a document", "the input of a fuzz test, of which only documents matter"},
	{"store/db_test.go", "SQLite ends LIKE at a NUL", "the databases differ there, and neither stores it"},
}

// TestNoSkipForWhatIsMissing wants tests to ask store/needs for programs and documents, which fails them with CI=true, and
// every other skip to be argued in honestSkips.
func TestNoSkipForWhatIsMissing(t *testing.T) {
	t.Parallel()
	met := map[int]bool{}
	for _, f := range sources(t) {
		if !importsTesting(f) {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Skip" && s.Sel.Name != "Skipf" && s.Sel.Name != "SkipNow" {
				return true
			}
			at := f.fset.Position(n.Pos())
			text := f.text[call.Pos()-f.tree.FileStart : call.End()-f.tree.FileStart]
			for i, honest := range honestSkips {
				if f.path == honest.file && strings.Contains(text, honest.words) {
					met[i] = true
					return true
				}
			}
			t.Errorf("%s:%d: %s: ask store/needs for what is missing, or argue the skip in honestSkips", at.Filename, at.Line, text)
			return true
		})
	}
	for i, honest := range honestSkips {
		if !met[i] {
			t.Errorf("honestSkips names a skip that is gone: %s: %s", honest.file, honest.words)
		}
	}
}

// importsTesting reports whether a file can hold a skip.
func importsTesting(f sourceFile) bool {
	for _, i := range f.tree.Imports {
		if i.Path.Value == `"testing"` {
			return true
		}
	}
	return false
}

// TestOneWayToShared wants nobody but store/needs to look for the documents of other parties, and for how much is tested.
func TestOneWayToShared(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.folder() == "store/needs" || f.path == "server/habits_skip_test.go" {
			continue
		}
		for _, words := range []string{"../shared", `"..", "shared"`, `Getenv("CI")`, `Getenv("SCHAKEL_TEST")`} {
			if strings.Contains(f.text, words) {
				t.Errorf("%s has %s: ask store/needs", f.path, words)
			}
		}
	}
}
