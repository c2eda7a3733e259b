package ui

import (
	"html"
	"strings"
	"testing"

	"schakel/templates/ui/uitest"
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

// TestTextsWithNames holds that what a document says is never markup, that names
// between backticks stand out, and that addresses break behind a slash alone.
func TestTextsWithNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"names", uitest.Render(t, WithNames("The `type` of `a<b` changed.")), `The <code class="utrecht-code schakel-id">type</code> of <code class="utrecht-code schakel-id">a&lt;b</code> changed.`},
		{"one backtick", uitest.Render(t, WithNames("an odd ` <script>")), `an odd <code class="utrecht-code schakel-id"> &lt;script&gt;</code>`},
		{"address", uitest.Render(t, Address("/registry/v1/a&b")), "/<wbr>registry/<wbr>v1/<wbr>a&amp;b"},
	} {
		if strings.TrimSpace(c.got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func TestWindowTitleSaysWhenAFormWasRefused(t *testing.T) {
	t.Parallel()
	for invalid, want := range map[bool]string{false: "Register - Schakel", true: "Error: Register - Schakel"} {
		if got := (Page{Title: "Register", Invalid: invalid}).windowTitle(t.Context()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
