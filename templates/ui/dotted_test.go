package ui

import (
	"html"
	"strings"
	"testing"
)

// A name with dots is broken behind a dot, and nothing is added to what a reader copies.
func TestBreakable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nl.school.started.v1":           `<span class="schakel-dotted">nl.<wbr>school.<wbr>started.<wbr>v1</span>`,
		"nl.school.v1 and 2 more":        `<span class="schakel-dotted">nl.<wbr>school.<wbr>v1 and 2 more</span>`,
		"nl.<b>.v1":                      `<span class="schakel-dotted">nl.<wbr>&lt;b&gt;.<wbr>v1</span>`,
		"Everything it says.":            "Everything it says.",
		"<b>":                            "&lt;b&gt;",
		"a.b." + strings.Repeat("x", 31): "a.b." + strings.Repeat("x", 31),
		"":                               "",
	} {
		var out strings.Builder
		if err := Breakable(text).Render(t.Context(), &out); err != nil || out.String() != want {
			t.Errorf("%q is shown as %q, want %q (%v)", text, out.String(), want, err)
		}
		plain := strings.NewReplacer("<wbr>", "", `<span class="schakel-dotted">`, "", "</span>", "").Replace(out.String())
		if html.UnescapeString(plain) != text {
			t.Errorf("%q reads as %q", text, plain)
		}
	}
}
