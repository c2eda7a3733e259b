package docs

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"

	"schakel/templates/ui"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"schakel/templates/i18n"
)

// Guide is a rendered guide.
type Guide struct {
	Lang  i18n.Lang
	Title string
	// TitleLang is the language of the title, which differs from Lang where the text is kept in English alone.
	TitleLang i18n.Lang
	Contents  []Heading // second and third level, in order
	Body      string    // HTML of all that follows the title
}

// Heading is a line of the table of contents.
type Heading struct {
	Level    int // 2 or 3
	ID, Text string
}

// Read renders Markdown, which must begin with its title. Resolve gives the address that a link of the guide leads to; false
// leaves the text of the link alone. A translation of original has the ids of its headings, so that a link to one holds in every
// language, as long as it has as many.
func Read(markdown string, original *Guide, resolve func(to string) (string, bool)) (Guide, error) {
	source := []byte(markdown)
	md := goldmark.New(goldmark.WithExtensions(ui.MarkdownTables()), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(frame{}, 50), util.Prioritized(ui.PlainHTML{}, 100))))
	known := parser.NewContext()
	for _, id := range []string{"main", "navigation", "navigation-items", "contents"} { // the page has these
		known.IDs().Put([]byte(id))
	}
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(known))
	title, ok := root.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return Guide{}, errors.New("the guide does not begin with a title")
	}
	g := Guide{Title: plain(title, source)}
	root.RemoveChild(root, title)
	if original != nil {
		takeIDs(root, original.Contents)
	}
	if err := g.look(root, source, resolve); err != nil {
		return Guide{}, err
	}
	if err := nameRules(root, source); err != nil {
		return Guide{}, fmt.Errorf("name the rules of %q: %w", g.Title, err)
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, root); err != nil {
		return Guide{}, fmt.Errorf("render %q: %w", g.Title, err)
	}
	g.Body = out.String()
	return g, nil
}

// takeIDs gives the headings of the second and third level the ids of others, in order.
func takeIDs(root ast.Node, from []Heading) {
	var list []*ast.Heading
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level <= 3 {
			list = append(list, h)
		}
	}
	if len(list) != len(from) {
		return
	}
	for i, h := range list {
		h.SetAttributeString("id", []byte(from[i].ID))
	}
}

// look collects the headings, and resolves links and images.
func (g *Guide) look(root ast.Node, source []byte, resolve func(to string) (string, bool)) error {
	var leads []ast.Node
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				return ast.WalkStop, fmt.Errorf("%q has a second title", g.Title)
			}
			if n.Level <= 3 {
				g.Contents = append(g.Contents, Heading{n.Level, idOf(n), plain(n, source)})
			}
		case *ast.Link, *ast.Image:
			leads = append(leads, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range leads {
		if link, ok := n.(*ast.Link); ok {
			if to, found := resolve(string(link.Destination)); found {
				link.Destination = []byte(to)
				link.SetAttributeString("class", []byte("utrecht-link utrecht-link--html-a"))
				continue
			}
		}
		unwrap(n)
	}
	return err
}

// ruleNumber is a cell that names a rule, such as EDU-10.
var ruleNumber = regexp.MustCompile(`^[A-Z]+-[A-Z]?[0-9]+[a-z]?$`)

// nameRules makes a place to link to of each row that begins with the number of a rule; of two of one rule, of the first.
func nameRules(root ast.Node, source []byte) error {
	seen := map[string]bool{}
	return ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		row, ok := n.(*extast.TableRow)
		if !entering || !ok {
			return ast.WalkContinue, nil
		}
		if id := plain(row.FirstChild(), source); ruleNumber.MatchString(id) && !seen[id] {
			seen[id] = true
			row.FirstChild().SetAttributeString("id", []byte(id))
		}
		return ast.WalkSkipChildren, nil
	})
}

// unwrap puts the content of a node in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// plain gives the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Text:
				out.Write(n.Value(source))
				if n.SoftLineBreak() {
					out.WriteByte(' ')
				}
			case *ast.String:
				out.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

func idOf(n *ast.Heading) string {
	id, _ := n.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// frame renders headings with a link to themselves, and tables that scroll by themselves where they do not fit.
type frame struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (frame) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, heading)
	r.Register(extast.KindTable, table)
}

func heading(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	var err error
	if entering {
		_, err = fmt.Fprintf(w, `<h%d class="utrecht-heading-%d" id="%s">`, n.Level, n.Level, idOf(n))
	} else {
		_, err = fmt.Fprintf(w, ` <a class="schakel-anchor" href="#%s" aria-label="Link to %s">#</a></h%d>`+"\n",
			idOf(n), html.EscapeString(plain(n, source)), n.Level)
	}
	return ast.WalkContinue, err
}

func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		text = `<div class="schakel-scroll" tabindex="0"><table>` + "\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}
