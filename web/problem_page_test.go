package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/web/site"
)

// unexplained are codes that never reach a machine: those of pages, and of a client that went away.
func unexplained() []string {
	return []string{"", "client-gone", "link-dead", "profile-refused", "provider-down"}
}

// TestEveryProblemIsExplained reads the code: each code of a problem has a page,
// with advice, and nothing else has one.
//
// Rules: IDEM-I06, CE-67
func TestEveryProblemIsExplained(t *testing.T) {
	t.Parallel()
	used := problemCodes(t)
	for _, text := range site.ProblemTexts() {
		if !slices.Contains(used, text.Code) {
			t.Errorf("%s is explained and never answered", text.Code)
		}
	}
	for _, code := range used {
		text, ok := site.ProblemTextOf(code)
		if ok == slices.Contains(unexplained(), code) {
			t.Errorf("problem %q is explained: %v", code, ok)
		}
		if ok && (!strings.HasSuffix(text.Means, ".") || !strings.HasSuffix(text.Remedy, ".") || http.StatusText(text.Status) == "") {
			t.Errorf("%s is not told well", code)
		}
	}
}

// problemCodes are the codes that the package gives to newProblem and retryLater.
func problemCodes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	noError(t, err)
	codes := []string{"method-not-allowed", registry.CodeForbidden, registry.CodeDigestMissing, registry.CodeDraftChanged, registry.CodeGone}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		noError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if of, selected := call.Fun.(*ast.SelectorExpr); selected {
				name, ok = of.Sel, true
			}
			if ok && (name.Name == "NewProblem" || name.Name == "RetryLater") {
				if code, ok := call.Args[1].(*ast.BasicLit); ok {
					text, err := strconv.Unquote(code.Value)
					noError(t, err)
					codes = append(codes, text)
				}
			}
			return true
		})
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// The type of a problem is the address of a page of ours that explains it.
//
// Rules: IDEM-I05, IDEM-I06
func TestProblemTypeLeadsToItsPage(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.everything(t)
	p := c.under(t, "wrong", "POST", "/events/v1/resends", "{}").problem(t, http.StatusBadRequest, "key-invalid")
	path, ok := strings.CutPrefix(p.Type, apiTestBase)
	if !ok {
		t.Fatalf("type %q", p.Type)
	}
	page := h.page(t, path)
	if !strings.Contains(page, "Write it like") || !strings.Contains(page, "400 Bad Request") {
		t.Errorf("page %s", page)
	}
	list := h.page(t, "/problems")
	for _, text := range site.ProblemTexts() {
		if !strings.Contains(list, "/problems/"+text.Code) {
			t.Errorf("the list lacks %s", text.Code)
		}
	}
}

func (h *apiHarness) page(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.app.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d", path, w.Code)
	}
	return w.Body.String()
}
