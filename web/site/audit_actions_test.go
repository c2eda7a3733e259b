package site

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/templates/i18n"
)

// Every action that the registry writes in the audit trail can be filtered by, and has a title in every language: no raw name is shown.
func TestEveryActionHasATitle(t *testing.T) {
	t.Parallel()
	listed := AuditActions()
	for _, action := range writtenActions(t) {
		if !slices.Contains(listed, action) {
			t.Errorf("%s cannot be filtered by", action)
		}
	}
	for _, action := range listed {
		noun, verb, _ := strings.Cut(action, ".")
		if !i18n.Has("audit.noun", noun) || !i18n.Has("audit.verb", verb) {
			t.Errorf("%s has no title: %s", action, ActionLabel(t.Context(), action))
		}
	}
}

// Two actions with one title make a filter with two choices that nobody can tell apart.
func TestTitlesOfActionsDiffer(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Dutch, i18n.Norwegian} {
		ctx, seen := i18n.With(t.Context(), i18n.NewLocale(lang, time.UTC)), map[string]string{}
		for _, action := range AuditActions() {
			title := ActionLabel(ctx, action)
			if other, ok := seen[title]; ok && other != action {
				t.Errorf("%s: %s and %s are both %q", lang, other, action, title)
			}
			seen[title] = action
		}
	}
}

// writtenActions reads the actions from the constants of the registry.
func writtenActions(t *testing.T) (actions []string) {
	t.Helper()
	files, err := filepath.Glob("../../registry/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			for i := 0; ok && i < len(spec.Values); i++ {
				if value, ok := spec.Values[i].(*ast.BasicLit); ok && strings.HasPrefix(spec.Names[i].Name, "Action") {
					text, _ := strconv.Unquote(value.Value)
					actions = append(actions, text)
				}
			}
			return true
		})
	}
	if len(actions) < 100 {
		t.Fatalf("%d actions", len(actions))
	}
	return actions
}
