package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"schakel/web/site"
)

// constants reads the string constants of a file whose names start with prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !strings.HasPrefix(name.Name, prefix) {
				continue
			}
			if found[name.Name], err = strconv.Unquote(literal.Value); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants %s…", file, prefix)
	}
	return found
}

func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	words := map[string]site.ReasonWords{}
	for _, list := range []map[string]site.ReasonWords{site.HeldWords(), site.AnswerWords(), site.FailureWords()} {
		for code, w := range list {
			if _, twice := words[code]; twice {
				t.Errorf("%s has words twice", code)
			}
			words[code] = w
		}
	}
	for _, file := range []string{"../delivery/webhook/verdict.go", "../store/delivery.go"} {
		for name, code := range constants(t, file, "Reason") {
			if w := words[code]; w.Label == "" || w.Remedy == "" || w != site.ReasonOf(code) {
				t.Errorf("%s: %s has no words", file, name)
			}
		}
	}
}

func TestEveryKindOfFailureHasWords(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../delivery/outbound/errors.go", "../delivery/webhook/webhook.go"} {
		for name, kind := range constants(t, file, "Kind") {
			if words := site.FailureKind(kind); words == site.Capital(strings.ReplaceAll(kind, "-", " ")) && kind != "token" {
				t.Errorf("%s: %s has no words", file, name)
			}
		}
	}
}

func TestUnknownReasonIsToldAsNamed(t *testing.T) {
	t.Parallel()
	w := site.ReasonOf("broker-refused")
	if w.Label != "Broker refused" || w.Remedy == "" || site.ReasonOf("").Label != "" {
		t.Errorf("got %+v", w)
	}
}
