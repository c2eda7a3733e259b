package ui

import (
	"strings"
	"testing"

	"schakel/templates/ui/uitest"
)

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
