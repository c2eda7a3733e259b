package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the top of the repository, seen from this package.
const root = ".."

// sourceFile is one Go file of the repository.
type sourceFile struct {
	path string // from the root, with slashes
	text string
	tree *ast.File
	fset *token.FileSet
}

func (f sourceFile) generated() bool { return strings.HasSuffix(f.path, "_templ.go") }
func (f sourceFile) test() bool      { return strings.HasSuffix(f.path, "_test.go") }
func (f sourceFile) folder() string  { return filepath.ToSlash(filepath.Dir(f.path)) }

// layer is the first folder of the file.
func (f sourceFile) layer() string { first, _, _ := strings.Cut(f.path, "/"); return first }

// skipped are folders that are no part of the sources.
func skipped(name string) bool {
	return name == "node_modules" || name == "bin" || name == "dist" || name == "data" || len(name) > 1 && name[0] == '.' && name != ".ci" && name != ".."
}

// sources gives every Go file, which all tests share.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	out, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found only %d Go files", len(out))
	}
	return out
}

// parsed reads and parses every Go file, once.
var parsed = sync.OnceValues(func() (out []sourceFile, err error) {
	err = walkFiles(func(path string, text []byte) error {
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		out = append(out, sourceFile{path, string(text), tree, fset})
		return err
	})
	return out, err
})

// walk shows every file of the repository to visit, with its path from the root.
func walk(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	err := walkFiles(func(path string, text []byte) error {
		visit(path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func walkFiles(visit func(path string, text []byte) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipped(d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular() || d.Name() == ".git": // in a worktree .git is a file
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel), text)
	})
}

// TestTopLevel holds the floor plan: no other folders than these.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	plan := []string{
		"server", "web", "templates", "static", "store", "registry", "delivery",
		"go.mod", "go.sum", "Makefile", "README.md", "bin", "data", "dist",
		"LICENSE", // which only the owner of the repository can choose
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name()[0] != '.' && !slices.Contains(plan, e.Name()) {
			t.Errorf("%s is not in the floor plan", e.Name())
		}
	}
}

// mayImport names our own layers that a layer may import, apart from itself.
var mayImport = map[string][]string{
	"server":    {"web", "templates", "static", "registry", "delivery", "store"},
	"web":       {"templates", "static", "registry", "delivery", "store"},
	"registry":  {"store"},
	"delivery":  {"store"},
	"store":     {},
	"templates": {},
	"static":    {},
	".ci":       {},
}

// leaves are packages that any layer may import, because they import nothing of ours but what lies in their own folder.
var leaves = []string{"registry/jsonpointer", "registry/sorted", "registry/strictjson", "registry/xmlscan", "templates/i18n", "templates/i18n/texts"}

// TestImportDirection holds server → web → {templates, registry, delivery} → store, and that leaves import nothing of ours.
// A test may use more: the databases of store/storetest, and the layers below it.
func TestImportDirection(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		allowed, known := mayImport[f.layer()]
		if !known {
			t.Errorf("%s: no such layer", f.path)
		}
		for _, i := range f.tree.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			own, inside := strings.CutPrefix(path, "schakel/")
			if strings.HasPrefix(path, "github.com/labstack/echo") && f.layer() != "web" {
				t.Errorf("%s imports echo; only web knows it", f.path)
			}
			harness := f.folder() == "delivery/amqp/brokertest" || f.folder() == "server/trial" // imported by tests alone
			forTests := own == "store/storetest" || own == "store/needs" && !harness || own == "delivery/amqp/pkitest"
			if forTests && !f.test() && f.folder() != "store/storetest" {
				t.Errorf("%s imports %s; only tests may", f.path, own)
			}
			layer, _, _ := strings.Cut(own, "/")
			if inside && slices.Contains(leaves, f.folder()) && !f.test() && !strings.HasPrefix(own, f.folder()+"/") {
				t.Errorf("%s imports %s; a leaf imports nothing of ours", f.path, own)
			}
			if inside && layer != f.layer() && !slices.Contains(allowed, layer) && !slices.Contains(leaves, own) {
				t.Errorf("%s imports %s; %s may import %v", f.path, own, f.layer(), allowed)
			}
		}
	}
}

// TestLeftovers finds notes to oneself and what belongs to one machine.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	bad := map[string]*regexp.Regexp{
		"a note to oneself":     regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
		"a path of one machine": regexp.MustCompile(`["'\s(=](/ho` + `me/|/ro` + `ot/|/wo` + `rk/|/Us` + `ers/)`),
	}
	walk(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "static/") || strings.HasSuffix(path, ".sum") || strings.HasPrefix(path, "registry/contracts/contract/schemas/") {
			return // other people's text
		}
		for what, pattern := range bad {
			if !pattern.Match(text) {
				continue
			}
			for n, line := range strings.Split(string(text), "\n") {
				if pattern.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", path, n+1, what, strings.TrimSpace(line))
				}
			}
		}
	})
}

// TestNoSleep: a test waits for what happens, not for a time. The files named
// here poll the database or another process, which cannot tell them.
func TestNoSleep(t *testing.T) {
	t.Parallel()
	polls := []string{
		"delivery/outbox/outbox_test.go", "delivery/outbox/outcome_test.go",
		// Real sockets and another process have no clock of synctest: receivers that answer late, nodes, PostgreSQL's statistics.
		"delivery/outbound/unasked_test.go", "delivery/outbox/retry_after_test.go", "store/statistics_test.go",
		"delivery/webhook/receivers_test.go", // waits until programs in other languages listen
	}
	for _, f := range sources(t) {
		if !f.test() || slices.Contains(polls, f.path) || strings.Contains(f.text, "synctest.Test(") {
			continue // in a bubble of synctest, sleep is the clock
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s: time.Sleep in a test", f.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// Passwords that are cheap to guess are for tests.
func TestNoWeakPasswords(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test() || f.folder() == "server/trial" || f.path == "registry/identity/account.go" {
			continue
		}
		if strings.Contains(f.text, "WithWeakPasswords") {
			t.Errorf("%s makes passwords that are cheap to guess", f.path)
		}
	}
}
