package docs

import (
	"slices"
	"strings"
	"testing"

	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

const sample = `# A guide

First [other](other.md#part), [gone](gone.md "title") and ![picture](x.png).

## Main

### ` + "`code` & [more]" + `

| a | b |
|:-:|--:|
| <b onclick=x>1</b> | 2 |

## Main

<script>alert(1)</script>

` + "```sh\necho <x>\n```\n"

func read(t *testing.T, markdown string) Guide {
	t.Helper()
	g, err := Read(markdown, nil, func(to string) (string, bool) {
		return strings.Replace(to, "other.md", "/docs/other", 1), strings.HasPrefix(to, "other.md")
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRead(t *testing.T) {
	t.Parallel()
	g := read(t, sample)
	want := []Heading{{2, "main-1", "Main"}, {3, "code--more", "code & [more]"}, {2, "main-2", "Main"}}
	if g.Title != "A guide" || !slices.Equal(g.Contents, want) {
		t.Errorf("title %q, contents %v", g.Title, g.Contents)
	}
	for _, part := range []string{
		`<a href="/docs/other#part" class="utrecht-link utrecht-link--html-a">other</a>, gone and picture.`,
		`<h3 class="utrecht-heading-3" id="code--more"><code>code</code> &amp; [more] <a class="schakel-anchor" href="#code--more" aria-label="Link to code &amp; [more]">#</a></h3>`,
		`<div class="schakel-scroll" tabindex="0"><table>`, "<td>&lt;b onclick=x&gt;1", `<pre tabindex="0"><code>echo &lt;x&gt;`, "&lt;script&gt;",
	} {
		if !strings.Contains(g.Body, part) {
			t.Errorf("no %s in\n%s", part, g.Body)
		}
	}
}

// TestReadRules holds that a link can lead to the row of a rule, and to one row of each.
func TestReadRules(t *testing.T) {
	t.Parallel()
	g := read(t, "# Rules\n\n| rule | what |\n|---|---|\n| EDU-01a | one |\n| IDEM-I06 | two |\n| EDU-01a | again |\n| Other | EDU-02 |\n")
	for _, id := range []string{"EDU-01a", "IDEM-I06"} {
		if strings.Count(g.Body, `<td id="`+id+`">`+id+`</td>`) != 1 {
			t.Errorf("not one place for %s in\n%s", id, g.Body)
		}
	}
	if strings.Count(g.Body, " id=") != 2 {
		t.Errorf("other places in\n%s", g.Body)
	}
}

// TestReadTranslation holds that a translation has the ids of the original, unless its headings differ in number.
func TestReadTranslation(t *testing.T) {
	t.Parallel()
	original := read(t, "# A guide\n\n## First\n\n### Second\n")
	for markdown, want := range map[string][]string{
		"# Een gids\n\n## Eerste\n\n### Tweede\n": {"first", "second"},
		"# Een gids\n\n## Eerste\n":               {"eerste"},
	} {
		g, err := Read(markdown, &original, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range g.Contents {
			ids = append(ids, h.ID)
			if !strings.Contains(g.Body, `id="`+h.ID+`"`) {
				t.Errorf("no heading %s in\n%s", h.ID, g.Body)
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%q has the ids %v, want %v", markdown, ids, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{"", "No title", "## Second level", "# One\n\n# Two"} {
		if g, err := Read(markdown, nil, func(string) (string, bool) { return "", false }); err == nil {
			t.Errorf("%q became %v", markdown, g)
		}
	}
}

// TestPages holds the pages to the rules for all pages, with everything on them and with nothing.
func TestPages(t *testing.T) {
	t.Parallel()
	p := ui.Page{Title: "A guide", Nav: []ui.NavItem{{Label: "Contracts", Href: "/contracts"}}}
	for name, doc := range map[string]string{
		"index":    uitest.Render(t, IndexPage(p, []Group{{"For operators", []Entry{{Title: "A guide", Href: "/docs/a", Answers: "What it answers."}}}})),
		"no index": uitest.Render(t, IndexPage(p, nil)),
		"guide":    uitest.Render(t, GuidePage(p, read(t, sample))),
		"short":    uitest.Render(t, GuidePage(p, read(t, "# Short"))),
	} {
		uitest.CheckPage(t, doc)
		if has := strings.Contains(doc, "On this page"); has != (name == "guide") {
			t.Errorf("%s: table of contents: %v", name, has)
		}
	}
}
