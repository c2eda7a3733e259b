package main

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestInjectedClock: what has a clock reads the time from it only, or else a test that sets the clock, and a clock that was set
// back, find two times in one decision.
func TestInjectedClock(t *testing.T) {
	t.Parallel()
	layers := []string{"delivery", "store", "registry", "web"}
	for _, f := range sources(t) {
		if f.test() || strings.HasSuffix(f.folder(), "test") || !slices.Contains(layers, f.layer()) {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Now" || s.Sel.Name == "Since") {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s: time.%s beside the clock", f.fset.Position(n.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}
