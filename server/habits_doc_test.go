package main

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestPackageComments asks that every package says what it is for.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if f.test() && !strings.HasPrefix(f.path, "server/e2e/") {
			continue
		}
		documented[f.folder()] = documented[f.folder()] || f.tree.Doc != nil
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment that says what it is for", folder)
		}
	}
}

// TestExportedNamesDocumented asks for a comment on every exported name.
func TestExportedNamesDocumented(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test() || f.generated() {
			continue
		}
		for _, d := range f.tree.Decls {
			for _, id := range undocumented(d) {
				t.Errorf("%s: %s has no comment", f.fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// undocumented is which exported names of a declaration have no comment. A
// comment on a group of constants or variables counts for all of them.
func undocumented(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var out []*ast.Ident
		for _, s := range d.Specs {
			out = append(out, undocumentedSpec(d, s)...)
		}
		return out
	}
	return nil
}

func undocumentedSpec(d *ast.GenDecl, s ast.Spec) (out []*ast.Ident) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen != token.NoPos) {
			out = append(out, s.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// exportedReceiver reports whether a function can be seen from outside: a method of
// a hidden type cannot.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
