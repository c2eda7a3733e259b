package registry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"schakel/store"
	"schakel/templates/i18n"
)

// Every action that is declared in this package has a sentence.
func TestEveryActionHasASentence(t *testing.T) {
	t.Parallel()
	declared := actions(t)
	if len(declared) < 40 {
		t.Errorf("%d actions", len(declared))
	}
	for name, action := range declared {
		if !i18n.Has("audit", action) {
			t.Errorf("%s (%s) has no sentence", name, action)
		}
		entry := store.Audit{Action: action, ActorName: "Anna", ObjectName: "Main", Detail: `{"partner":"Noord","types":["a.b","c.d"],"endpoint":"E"}`}
		if got := Sentence(t.Context(), entry); strings.ContainsAny(got, "{}[]") || strings.Contains(got, "  ") || !strings.HasSuffix(got, ".") {
			t.Errorf("%s is told as %q", action, got)
		}
	}
}

// actions reads the constants whose name begins with Action from the source.
func actions(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	noError(t, err)
	found := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		noError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 || !strings.HasPrefix(spec.Names[0].Name, "Action") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				found[spec.Names[0].Name], err = strconv.Unquote(value.Value)
				noError(t, err)
			}
			return true
		})
	}
	return found
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, entry := range map[string]store.Audit{
		"Anna de Vries approved the subscription of Noord to a.b, c.d and e.f at endpoint Main.": {
			ActorName: "Anna de Vries", Action: ActionSubscriptionApproved,
			Detail: `{"partner":"Noord","types":["a.b","c.d","e.f"],"endpoint":"Main"}`,
		},
		"Anna rejected the subscription of Noord to a.b, c.d, e.f and 2 more at endpoint Main: “no ground”": {
			ActorName: "Anna", Action: ActionSubscriptionRejected,
			Detail: `{"partner":"Noord","types":["a.b","c.d","e.f","g.h","i.j"],"endpoint":"Main","reason":"no ground"}`,
		},
		"Schakel ended the subscription sub_1: “410 Gone”": {
			ActorName: "Schakel", Action: ActionSubscriptionEnded, ObjectID: "sub_1", Detail: `{"reason":"410 Gone"}`,
		},
		"Anna changed endpoint Main.":              {ActorName: "Anna", Action: ActionEndpointUpdated, ObjectName: "Main", Detail: `{}`},
		"Someone big bang theory {partner}.":       {Action: "theory.big-bang", ObjectName: "{partner}"},
		"Anna sent a test event to endpoint Main.": {ActorName: "Anna", Action: ActionEndpointTested, ObjectName: "Main", Detail: `broken`},
	} {
		if got := Sentence(t.Context(), entry); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzSentence(f *testing.F) {
	f.Add("Anna", ActionSubscriptionApproved, "Main", `{"types":["{from}"]}`)
	f.Fuzz(func(t *testing.T, who, action, object, detail string) {
		if Sentence(t.Context(), store.Audit{ActorName: who, Action: action, ObjectName: object, Detail: detail}) == "" {
			t.Error("nothing is told")
		}
	})
}
