package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every exported method of Queries, Tx and DB is called by the tests of this package, which run on both databases.
func TestEveryMethodIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods, called := make(map[string]string), make(map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			collectCalls(file, called)
		} else {
			collectMethods(file, methods)
		}
	}
	if len(methods) < 50 {
		t.Fatalf("found only %d methods", len(methods))
	}
	for method, receiver := range methods {
		if !called[method] {
			t.Errorf("%s.%s is not called by a test", receiver, method)
		}
	}
}

func collectMethods(file *ast.File, methods map[string]string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			switch receiver := star.X.(*ast.Ident).Name; receiver {
			case "Queries", "Tx", "DB":
				methods[f.Name.Name] = receiver
			}
		}
	}
}

func collectCalls(file *ast.File, called map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				called[s.Sel.Name] = true
			}
		}
		return true
	})
}
