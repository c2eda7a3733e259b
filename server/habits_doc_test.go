package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackageComments holds that every package has one comment, in one file, with its purpose first and then what it guarantees
// or where its limits lie.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	code, tests := map[string][]string{}, map[string][]string{}
	for _, f := range sources(t) {
		of := code
		if f.test() {
			of = tests
		}
		switch {
		case f.generated():
		case f.tree.Doc != nil:
			of[f.folder()] = append(of[f.folder()], f.tree.Doc.Text())
		default:
			of[f.folder()] = append(of[f.folder()], "")
		}
	}
	for folder, found := range tests {
		if code[folder] == nil { // a package of tests alone
			code[folder] = found
		}
	}
	for folder, found := range code {
		found = slices.DeleteFunc(found, func(text string) bool { return text == "" })
		switch {
		case len(found) != 1:
			t.Errorf("%s has %d package comments, want one", folder, len(found))
		case !pending(folder):
			if why := poorComment(found[0]); why != "" {
				t.Errorf("%s: the package comment %s", folder, why)
			}
		}
	}
}

// The form of a package comment: "Package outbound sends every request …", then at least one sentence more.
var (
	beginning = regexp.MustCompile(`^(Package|Command) [a-z0-9]+ ([a-z]+)\b`)
	sentence  = regexp.MustCompile(`[.:](\s|$)`)
)

// poorComment says why a package comment is not enough; it is empty when it is. A machine cannot read more of it than its form.
func poorComment(text string) string {
	verb := beginning.FindStringSubmatch(text)
	switch {
	case verb == nil || verb[2] == "is":
		return "does not begin with the name and a verb that says what the package does"
	case len(text) < 120 || len(sentence.FindAllString(text, -1)) < 2:
		return "is no more than a title: add what the package guarantees and where its limits lie"
	}
	return ""
}

// oldStyle finds comments that define a thing in place of saying what happens.
var oldStyle = regexp.MustCompile(`//.* (is|are|says?|tells?) (what|how|who|where|whether|those)\b`)

// oldComments lists the layers whose comments are still to be rewritten; the list is to become empty.
var oldComments = []string{}

// TestCommentsSayWhatHappens bounds comments of the old style: "Claim leases up to n due deliveries", not "Claim is what takes …".
func TestCommentsSayWhatHappens(t *testing.T) {
	t.Parallel()
	const most = 10
	var found []string
	walk(t, func(file string, text []byte) {
		layer, _, _ := strings.Cut(file, "/")
		if !handWritten(file) || slices.Contains(oldComments, layer) {
			return
		}
		for n, line := range strings.Split(string(text), "\n") {
			if oldStyle.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %s", file, n+1, strings.TrimSpace(line)))
			}
		}
	})
	if len(found) > most {
		t.Errorf("%d comments do not say what happens, more than %d:\n%s", len(found), most, strings.Join(found, "\n"))
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

// undocumented returns the exported names of a declaration that have no comment. A
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
