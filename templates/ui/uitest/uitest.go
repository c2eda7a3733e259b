// Package uitest renders components and checks their HTML, for tests alone: unique ids, labelled controls, ordered headings,
// nothing inline. It checks structure, not looks; a browser runs axe-core over the pages in server/e2e.
package uitest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

// Now is the fixed clock of the rendering tests.
func Now() time.Time { return time.Date(2026, 11, 21, 14, 3, 5, 0, time.UTC) }

// Render renders a component to HTML, and fails the test on an error.
func Render(t *testing.T, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(t.Context(), &out); err != nil {
		t.Fatalf("render: %v", err)
	}
	return out.String()
}

// Parse parses a page or a fragment of one; as in a browser, the tree gets html, head and body where they are left out.
func Parse(t *testing.T, doc string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return root
}

// Elements lists all elements of a tree in document order.
func Elements(root *html.Node) []*html.Node {
	var list []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

// Attr gives the value of an attribute, and reports whether the element has it: an empty value differs from none.
func Attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// Text gives the text of an element and all below it, with each run of white space as one space.
func Text(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// CheckPage holds a page against the rules that hold for all pages.
func CheckPage(t *testing.T, doc string) {
	t.Helper()
	all := Elements(Parse(t, doc))
	checkPolicy(t, all)
	checkReferences(t, all)
	checkNames(t, all)
	checkHeadings(t, all)
}

// checkPolicy fails on what the Content-Security-Policy would refuse.
func checkPolicy(t *testing.T, all []*html.Node) {
	t.Helper()
	for _, n := range all {
		if n.Data == "style" {
			t.Error("an inline style element")
		}
		if _, ok := Attr(n, "src"); n.Data == "script" && !ok {
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
		if id, ok := Attr(n, "id"); ok {
			if id == "" || ids[id] {
				t.Errorf("<%s> has the empty or repeated id %q", n.Data, id)
			}
			ids[id] = true
		}
	}
	for _, n := range all {
		for _, key := range []string{"for", "form", "aria-describedby", "aria-labelledby", "popovertarget", "data-copy", "data-tick-all"} {
			value, _ := Attr(n, key)
			for _, id := range strings.Fields(value) {
				if !ids[id] {
					t.Errorf("<%s %s> refers to %q, which is not there", n.Data, key, id)
				}
			}
		}
		if href, _ := Attr(n, "href"); strings.HasPrefix(href, "#") && !ids[href[1:]] {
			t.Errorf("a link leads to %s, which is not there", href)
		}
	}
}

// checkNames fails on controls without a label and links or buttons without text.
func checkNames(t *testing.T, all []*html.Node) {
	t.Helper()
	labelled := map[string]bool{}
	for _, n := range all {
		if id, ok := Attr(n, "for"); ok && Text(n) != "" {
			labelled[id] = true
		}
	}
	for _, n := range all {
		switch n.Data {
		case "input", "select", "textarea":
			id, _ := Attr(n, "id")
			name, _ := Attr(n, "aria-label")
			kind, _ := Attr(n, "type")
			if kind != "hidden" && name == "" && !labelled[id] {
				t.Errorf("<%s id=%q> has no label", n.Data, id)
			}
		case "a", "button", "summary", "th", "legend":
			if name, _ := Attr(n, "aria-label"); Text(n) == "" && name == "" {
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

// Find gives the first element that has the attribute with the value.
func Find(t *testing.T, c templ.Component, key, value string) *html.Node {
	t.Helper()
	for _, n := range Elements(Parse(t, Render(t, c))) {
		if got, ok := Attr(n, key); ok && got == value {
			return n
		}
	}
	t.Fatalf("no element with %s=%q", key, value)
	return nil
}

// With renders a component with children, as a page does in templ.
func With(c templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return c.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}
