package contracts

import (
	"strings"
	"testing"

	"schakel/templates/ui/uitest"
)

// A document of strangers is text on a page and nothing else, line by line.
func TestSourceIsText(t *testing.T) {
	t.Parallel()
	doc := uitest.Render(t, source(SourceView{First: 7, Total: 8, Lines: []string{`  <script>alert(1)</script>`, `</pre>"x`}}))
	if strings.Contains(doc, "<script") || strings.Count(doc, "</pre>") != 1 {
		t.Errorf("the source is not escaped: %s", doc)
	}
	for _, want := range []string{`id="L7"`, `data-line="8"`, ">  &lt;script&gt;"} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in %s", want, doc)
		}
	}
}
