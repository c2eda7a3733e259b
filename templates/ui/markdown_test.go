package ui

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"schakel/templates/ui/uitest"
)

// checkHarmless fails on anything in rendered Markdown that could do more than show text.
func checkHarmless(t *testing.T, source, out string) {
	t.Helper()
	nodes, err := html.ParseFragment(strings.NewReader(out), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Fields("div p strong em a ul ol li code pre blockquote br hr table thead tbody tr th td")
	for _, root := range nodes {
		for _, n := range append([]*html.Node{root}, uitest.Elements(root)...) {
			if n.Type == html.CommentNode || n.Type == html.ElementNode && !slices.Contains(allowed, n.Data) {
				t.Errorf("%q became <%s>:\n%s", source, n.Data, out)
			}
			for _, a := range n.Attr {
				harmless := a.Key == "class" && (strings.HasPrefix(a.Val, "utrecht-link") || strings.HasPrefix(a.Val, "schakel-")) || a.Key == "rel" || a.Key == "tabindex" || n.Data == "ol" && a.Key == "start"
				address := strings.ToLower(a.Val)
				if a.Key == "href" {
					harmless = strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "mailto:")
				}
				if !harmless {
					t.Errorf("%q became %s=%q", source, a.Key, a.Val)
				}
			}
		}
	}
}

func hostileMarkdown() []string {
	return []string{
		"<script>alert(1)</script>", "text <script>alert(1)</script> text", "<svg onload=alert(1)>", "<svg>\n<script>x</script>\n</svg>",
		"[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](java\nscript:alert(1))", "[a](&#106;avascript:alert(1))", "[a](vbscript:x)",
		"[a](data:text/html;base64,PHNjcmlwdD4=)", "<javascript:alert(1)>", "![x](javascript:alert(1))", "![x](https://tracker.example/a.png)",
		"![x\" onerror=\"alert(1)](y)", "[a](https://x.example \"\" onclick=alert(1) \"\")", "[a](https://x.example/\"onmouseover=\"alert(1))",
		"[a]: javascript:alert(1)\n\n[a]", "<a href='javascript:alert(1)'>a</a>", "<style>*{display:none}</style>", "<!-- comment --><img src=x onerror=alert(1)>",
		"```js\" onclick=\"x\n</code></pre><script>x</script>\n```", "    <script>x</script>", "<div\n onload=x>", "<iframe src=//x.example></iframe>",
		"| a |\n|:-:|\n| <b onclick=x>b</b> |", "# <h1 onclick=x>a</h1>", "[a](//x.example)", "[a](/admin/accounts)", "[a](#main)", "<https://x.example/\"><script>x</script>>",
		"\x00<script>", "<?php x ?>", "<![CDATA[<script>x</script>]]>", "<math><mi xlink:href=\"javascript:x\">", "[a](https://[::1)", strings.Repeat("> ", 9000) + "x",
		strings.Repeat("[", 9000), strings.Repeat("*a_", 6000), strings.Repeat("x", maxMarkdown+1) + "<script>",
	}
}

func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	for _, source := range hostileMarkdown() {
		checkHarmless(t, source[:min(len(source), 80)], uitest.Render(t, Markdown(source)))
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# Students\n\nSee **all** of [it](https://example.nl/a?b=1&c=2).": `<p><strong>Students</strong></p>`,
		"see [it](https://example.nl/a?b=1&c=2)":                           `href="https://example.nl/a?b=1&amp;c=2">it</a>`,
		"- a\n- b":                                                         "<li>a</li>",
		"| a | b |\n|:--|--:|\n| 1 | 2 |":                                  "<td>1</td>",
		"a<br/>b":                                                          "a<br>b",
		"![a diagram](https://x.example/y.png)":                            "<p>a diagram</p>",
		"<help@example.nl>":                                                `href="mailto:help@example.nl"`,
		"1 < 2 <b>x</b>":                                                   "1 &lt; 2 &lt;b&gt;x&lt;/b&gt;",
	} {
		if got := uitest.Render(t, Markdown(source)); !strings.Contains(got, want) {
			t.Errorf("%q became %s", source, got)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, source := range hostileMarkdown() {
		f.Add(source[:min(len(source), 500)])
	}
	f.Fuzz(func(t *testing.T, source string) { checkHarmless(t, source, rendered(source)) })
}
