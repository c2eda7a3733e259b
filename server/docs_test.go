package main

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/server/cli"
	"schakel/templates/docs"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// guideText is one language of a guide.
type guideText struct {
	lang i18n.Lang
	file string // in the repository
	text string
}

// textsOf lists the languages of a guide, English first.
func textsOf(d site.Doc) []guideText {
	list := []guideText{{i18n.English, d.File, d.Markdown}}
	for _, lang := range i18n.Langs() {
		if text := d.Translations[lang]; text != "" {
			list = append(list, guideText{lang, strings.TrimSuffix(d.File, ".md") + "." + string(lang) + ".md", text})
		}
	}
	return list
}

// readLinks reads a guide and lists where its links lead, as they are written.
func readLinks(t *testing.T, g guideText) (guide docs.Guide, links []string) {
	t.Helper()
	guide, err := docs.Read(g.text, nil, func(to string) (string, bool) {
		links = append(links, to)
		return "", false
	})
	if err != nil {
		t.Errorf("%s: %v", g.file, err)
	}
	return guide, links
}

// TestDocs holds the guides that are served against the repository: every guide that lies beside a feature is served, each is
// the file that it names, and a link to another one or to a heading leads somewhere.
func TestDocs(t *testing.T) {
	t.Parallel()
	served := map[string]string{} // texts, by file
	ids := map[string][]string{}  // of headings, by file: those of the English text, which its translations take over
	links := map[string][]string{}
	for _, d := range guidesServed() {
		for _, g := range textsOf(d) {
			served[g.file] = g.text
			guide, to := readLinks(t, g)
			links[g.file] = to
			for _, h := range guide.Contents {
				if g.lang == i18n.English {
					ids[g.file] = append(ids[g.file], h.ID)
				}
			}
			ids[g.file] = ids[d.File]
		}
	}
	walk(t, func(file string, text []byte) {
		if guide, ok := served[file]; ok && guide != string(text) {
			t.Errorf("what is served is not %s", file)
		} else if !ok && strings.HasSuffix(file, ".md") && file[0] != '.' && path.Base(file) != "README.md" && path.Base(file) != "ORIGIN.md" && !strings.HasPrefix(file, "static/") {
			t.Errorf("%s is not served: add it to guidesServed", file)
		}
	})
	for from, list := range links {
		for _, to := range list {
			if strings.Contains(to, "://") || strings.HasPrefix(to, "/") {
				continue
			}
			name, id, _ := strings.Cut(to, "#")
			file := from
			if name != "" {
				file = path.Join(path.Dir(from), name)
			}
			if _, ok := served[file]; ok && id != "" && !slices.Contains(ids[file], id) {
				t.Errorf("%s links to %s, which has no heading %s", from, file, id)
			}
		}
	}
}

// TestGuidesAreTranslated holds that each guide for integrators and operators is there in every language, with the same code, the
// same headings, tables and lists, and the same links. The changelog, licences, rules and the table of
// the ASVS are in English alone.
func TestGuidesAreTranslated(t *testing.T) {
	t.Parallel()
	for _, d := range guidesServed() {
		if slices.Contains([]string{"changelog", "licences", "rules", "asvs"}, d.Name) {
			continue
		}
		original, links := readLinks(t, guideText{i18n.English, d.File, d.Markdown})
		texts := textsOf(d)
		if len(texts) != len(i18n.Langs()) {
			t.Errorf("%s is not there in every language", d.File)
		}
		for _, g := range texts[1:] {
			guide, to := readLinks(t, g)
			if !slices.Equal(levels(original), levels(guide)) {
				t.Errorf("the headings of %s are not those of %s: %v, want %v", g.file, d.File, levels(guide), levels(original))
			}
			slices.Sort(to)
			if want := slices.Sorted(slices.Values(links)); !slices.Equal(want, to) {
				t.Errorf("the links of %s are not those of %s: %q, want %q", g.file, d.File, to, want)
			}
			if want, has := codeOf(d.Markdown), codeOf(g.text); !slices.Equal(want, has) {
				t.Errorf("the code of %s is not that of %s: %q, want %q", g.file, d.File, has, want)
			}
			if want, has := shapeOf(d.Markdown), shapeOf(g.text); want != has {
				t.Errorf("%s has %d rows of tables and items of lists, %s has %d", g.file, has, d.File, want)
			}
		}
	}
}

// levels lists the levels of the headings of a guide.
func levels(g docs.Guide) (list []int) {
	for _, h := range g.Contents {
		list = append(list, h.Level)
	}
	return list
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
	item   = regexp.MustCompile(`(?m)^\|.*\|$|^\s*(?:-|\d+\.) `)
)

// codeOf lists the blocks of code in a guide.
func codeOf(markdown string) []string { return fenced.FindAllString(markdown, -1) }

// shapeOf counts the rows of tables and the items of lists.
func shapeOf(markdown string) int {
	return len(item.FindAllString(fenced.ReplaceAllString(markdown, ""), -1))
}

var (
	setting  = regexp.MustCompile("`((?:idempotency|events|intake|register|tokens|amqp|sending|mutations|subscriptions|registry)\\.[a-z_]+)`")
	variable = regexp.MustCompile(`--s-[a-z-]+`)
	onPage   = regexp.MustCompile(`(?:^|[\s(])\*([^*\n]+(?:\n[^*\n]+)?)\*(?:$|[^*])`)
)

// TestGuidesNameWhatThereIs holds the flags, settings, scopes, variables and places that guides name against what there is, and what they set in
// italics against the texts of the pages in the same language.
func TestGuidesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	var all CLI
	parser, err := cli.NewParser(&all, cli.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{"--help": true}
	addFlags(flags, parser.Model.Children)
	tokens, err := os.ReadFile(filepath.Join(root, "static/css/tokens.css"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variable.FindAllString(string(tokens), -1) {
		flags[v] = true // what --theme-css may set
	}
	names := identity.AllScopes()
	for _, s := range profile.Settings() {
		names = append(names, s.Key)
	}
	for _, g := range registry.Permissions() {
		names = append(names, string(g.Permission))
	}
	for _, d := range guidesServed() {
		if slices.Contains([]string{"changelog", "licences", "rules"}, d.Name) {
			continue
		}
		for _, g := range textsOf(d) {
			text := fenced.ReplaceAllString(g.text, "")
			checkGuide(t, g.file, text, flags)
			for _, found := range setting.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(names, found[1]) && found[1] != "events.ndjson" {
					t.Errorf("%s names %s, which is no setting, scope or permission", g.file, found[1])
				}
			}
			known := pageTexts(t, g.lang)
			for _, found := range onPage.FindAllStringSubmatch(text, -1) {
				if name := strings.Join(strings.Fields(found[1]), " "); !known[name] {
					t.Errorf("%s names *%s*, which no page says in %s", g.file, name, g.lang)
				}
			}
		}
	}
}

// pageTexts lists the texts of a catalogue.
func pageTexts(t *testing.T, lang i18n.Lang) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "templates/i18n/texts", string(lang)+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if _, text, found := strings.Cut(strings.TrimSpace(line), " = "); found {
			texts[strings.TrimSuffix(text, "…")] = true
		}
	}
	return texts
}

// TestRulesOfSettingsHaveAPlace holds that the rules that the settings page leads to are in the guide, each at the address of its number.
func TestRulesOfSettingsHaveAPlace(t *testing.T) {
	t.Parallel()
	at := slices.IndexFunc(guidesServed(), func(d site.Doc) bool { return d.Name == "rules" })
	guide, _ := readLinks(t, textsOf(guidesServed()[at])[0])
	for _, s := range profile.Settings() {
		for _, rule := range s.Rules {
			if !strings.Contains(guide.Body, `<td id="`+rule+`">`) {
				t.Errorf("the guide has no place for %s of %s", rule, s.Key)
			}
		}
	}
}

// TestGuidesHaveATitleInEachLanguage holds that a guide is translated, or has a title that is, which is that of its text in English.
func TestGuidesHaveATitleInEachLanguage(t *testing.T) {
	t.Parallel()
	for _, d := range guidesServed() {
		guide, _ := readLinks(t, textsOf(d)[0])
		for _, lang := range i18n.Langs() {
			title := i18n.NewLocale(lang, nil).Text(d.Title)
			switch {
			case lang == i18n.English && d.Title != "" && title != guide.Title:
				t.Errorf("%s is called %q, and its text %q", d.Name, title, guide.Title)
			case lang != i18n.English && d.Translations[lang] == "" && (d.Title == "" || title == guide.Title):
				t.Errorf("%s has no title in %s", d.Name, lang)
			}
		}
	}
}
