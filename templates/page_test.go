package templates

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestGallery renders every component into one document and checks the rules
// that hold for all pages. SCHAKEL_GALLERY names a folder that keeps the
// documents, to look at them in a browser.
func TestGallery(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"gallery.html": gallery(t),
		"error.html":   render(t, errorDocument()),
		"visitor.html": render(t, with(Layout(Page{Title: "Log in"}), Text("Welcome."))),
	}
	dir := os.Getenv("SCHAKEL_GALLERY")
	if dir == "" {
		dir = t.TempDir()
	}
	for name, doc := range documents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, doc))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
		})
	}
}

// checkPolicy fails on what the Content-Security-Policy would refuse.
func checkPolicy(t *testing.T, all []*html.Node) {
	t.Helper()
	for _, n := range all {
		if n.Data == "style" {
			t.Error("an inline style element")
		}
		if _, ok := attr(n, "src"); n.Data == "script" && !ok {
			t.Error("an inline script")
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") {
				t.Errorf("<%s> has the attribute %s", n.Data, a.Key)
			}
		}
	}
}

// checkReferences fails on ids used twice and references to ids not there.
func checkReferences(t *testing.T, all []*html.Node) {
	t.Helper()
	ids := map[string]bool{}
	for _, n := range all {
		if id, ok := attr(n, "id"); ok {
			if id == "" || ids[id] {
				t.Errorf("<%s> has the empty or repeated id %q", n.Data, id)
			}
			ids[id] = true
		}
	}
	for _, n := range all {
		for _, key := range []string{"for", "form", "aria-describedby", "aria-labelledby", "popovertarget", "data-copy", "data-tick-all"} {
			value, _ := attr(n, key)
			for _, id := range strings.Fields(value) {
				if !ids[id] {
					t.Errorf("<%s %s> refers to %q, which is not there", n.Data, key, id)
				}
			}
		}
		if href, _ := attr(n, "href"); strings.HasPrefix(href, "#") && !ids[href[1:]] {
			t.Errorf("a link leads to %s, which is not there", href)
		}
	}
}

// checkNames fails on controls without a label and links or buttons without text.
func checkNames(t *testing.T, all []*html.Node) {
	t.Helper()
	labelled := map[string]bool{}
	for _, n := range all {
		if id, ok := attr(n, "for"); ok && text(n) != "" {
			labelled[id] = true
		}
	}
	for _, n := range all {
		switch n.Data {
		case "input", "select", "textarea":
			id, _ := attr(n, "id")
			name, _ := attr(n, "aria-label")
			kind, _ := attr(n, "type")
			if kind != "hidden" && name == "" && !labelled[id] {
				t.Errorf("<%s id=%q> has no label", n.Data, id)
			}
		case "a", "button", "summary", "th", "legend":
			if name, _ := attr(n, "aria-label"); text(n) == "" && name == "" {
				t.Errorf("<%s> has no text", n.Data)
			}
		}
	}
}

// checkHeadings wants one h1 and no level left out.
func checkHeadings(t *testing.T, all []*html.Node) {
	t.Helper()
	var levels []string
	for _, n := range all {
		if slices.Contains([]string{"h1", "h2", "h3", "h4"}, n.Data) {
			if n.Data > "h1" && len(levels) == 0 {
				t.Errorf("%s stands before the h1", n.Data)
			}
			if len(levels) > 0 && n.Data[1] > levels[len(levels)-1][1]+1 {
				t.Errorf("%s follows %s", n.Data, levels[len(levels)-1])
			}
			levels = append(levels, n.Data)
		}
	}
	if count := strings.Count(strings.Join(levels, " "), "h1"); count != 1 {
		t.Errorf("%d h1 elements, want 1", count)
	}
}
