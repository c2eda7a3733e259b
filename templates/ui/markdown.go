package ui

import (
	"bytes"
	"context"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	mdtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxMarkdown is the longest text that is rendered, in bytes; a longer one is
// shown as it stands.
const maxMarkdown = 20_000

// Markdown shows the text of a stranger. Nothing of it becomes more than
// paragraphs, lists, tables, code, emphasis and links: HTML in it is shown as
// text, images become their description, headings bold paragraphs (the headings
// of a page are ours), and a link leads to an absolute http, https or mailto
// address or is no link.
func Markdown(source string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<div class="schakel-prose">`+rendered(source)+`</div>`)
		return err
	})
}

func rendered(source string) string {
	source = strings.ToValidUTF8(source, "\ufffd")
	var out bytes.Buffer
	if len(source) > maxMarkdown || !writeMarkdown([]byte(source), &out) {
		return `<p class="schakel-lines">` + html.EscapeString(source) + `</p>`
	}
	return out.String()
}

// maxNesting is deeper than anyone writes lists and quotes.
const maxNesting = 40

// writeMarkdown writes Markdown as HTML, unless it is nested too deeply.
func writeMarkdown(source []byte, out *bytes.Buffer) bool {
	m := newMarkdown()
	root := m.Parser().Parse(mdtext.NewReader(source))
	depth, deepest := 0, 0
	err := ast.Walk(root, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		deepest = max(deepest, depth)
		return ast.WalkContinue, nil
	})
	return err == nil && deepest <= maxNesting && m.Renderer().Render(out, source, root) == nil
}

func newMarkdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(MarkdownTables()), goldmark.WithRendererOptions(
		renderer.WithNodeRenderers(util.Prioritized(harmless{}, 100))))
}

// MarkdownTables makes tables of Markdown without the alignment of cells, which would be an inline style: the policy of our
// pages refuses those.
func MarkdownTables() goldmark.Extender {
	return extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))
}

// PlainHTML renders HTML within Markdown as text, and code without the language that its author names.
type PlainHTML struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (PlainHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindFencedCodeBlock, codeBlock)
	r.Register(ast.KindCodeBlock, codeBlock)
}

// harmless renders the parts of Markdown that could do more than show text.
type harmless struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (harmless) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	PlainHTML{}.RegisterFuncs(r)
	r.Register(ast.KindHeading, around("<p><strong>", "</strong></p>\n"))
	r.Register(ast.KindImage, around("", ""))
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok {
			anchor(w, string(link.Destination), entering)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindAutoLink, autoLink)
}

func around(before, after string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		text := after
		if entering {
			text = before
		}
		_, err := w.WriteString(text)
		return ast.WalkContinue, err
	}
}

// anchor writes one side of a link, if the address is one that may be followed.
func anchor(w util.BufWriter, address string, entering bool) {
	to, ok := followable(address)
	switch {
	case !ok:
	case entering:
		_, _ = w.WriteString(`<a class="utrecht-link utrecht-link--html-a" rel="nofollow noopener noreferrer" href="` + html.EscapeString(to) + `">`)
	default:
		_, _ = w.WriteString("</a>")
	}
}

func followable(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) || u.Scheme != "mailto" && u.Host == "" {
		return "", false
	}
	return u.String(), true
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := n.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	address := string(link.URL(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(address, "mailto:") {
		address = "mailto:" + address
	}
	anchor(w, address, true)
	_, err := w.WriteString(html.EscapeString(string(link.Label(source))))
	anchor(w, address, false)
	return ast.WalkContinue, err
}

// rawHTML shows tags inside a line as text, but for line breaks.
func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	raw, ok := n.(*ast.RawHTML)
	if !ok || !entering {
		return ast.WalkSkipChildren, nil
	}
	tag := string(raw.Segments.Value(source))
	if slices.Contains([]string{"<br>", "<br/>", "<br />"}, strings.ToLower(tag)) {
		_, err := w.WriteString("<br>")
		return ast.WalkSkipChildren, err
	}
	_, err := w.WriteString(html.EscapeString(tag))
	return ast.WalkSkipChildren, err
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.HTMLBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	text := string(block.Lines().Value(source))
	if block.HasClosure() {
		text += string(block.ClosureLine.Value(source))
	}
	_, err := w.WriteString(`<p class="schakel-lines">` + html.EscapeString(strings.TrimSpace(text)) + "</p>\n")
	return ast.WalkContinue, err
}

// codeBlock leaves out the language, which would be a class of the author's choice.
func codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.WriteString(`<pre tabindex="0"><code>` + html.EscapeString(string(n.Lines().Value(source))) + "</code></pre>\n")
	return ast.WalkContinue, err
}
