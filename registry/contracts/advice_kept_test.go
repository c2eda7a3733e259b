package contracts

import (
	"strings"
	"testing"

	"schakel/registry/contracts/lint"
)

// What is kept of advice has a bound.
func TestAdviceIsKeptWithinABound(t *testing.T) {
	t.Parallel()
	a := NewAdvice(nil)
	for i := range 3000 {
		a.keep(string(rune('a'+i%26))+strings.Repeat("x", i), lint.Report{})
	}
	if a.size > keptFindings || len(a.kept) > keptFindings/50 {
		t.Errorf("%d kept, %d findings", len(a.kept), a.size)
	}
}
