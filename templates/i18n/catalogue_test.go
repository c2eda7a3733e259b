package i18n

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// catalogues gives all of them.
func catalogues() map[Lang]*texts {
	all := map[Lang]*texts{}
	for l, load := range loaders {
		all[l] = load()
	}
	return all
}

// TestCataloguesAgree compares the languages with English: the same keys, the same arguments in each text, and both forms of what
// is counted. Each text is written once with arguments, which finds those that fmt cannot write.
func TestCataloguesAgree(t *testing.T) {
	t.Parallel()
	all := catalogues()
	for _, lang := range Langs() {
		for _, key := range slices.Concat(keys(all[lang]), keys(all[English])) {
			want, there := variants(all[English], key)
			got, also := variants(all[lang], key)
			if !there || !also {
				t.Errorf("%s: %s is not in both catalogues", lang, key)
				continue
			}
			if f := all[lang].formats[key]; f.forms != nil && (len(f.forms) != 2 || f.by != all[English].formats[key].by) {
				t.Errorf("%s: %s needs the forms one and other, by the same argument", lang, key)
			}
			sum := arguments(want)
			for _, text := range got {
				// A form for one thing may leave the number out.
				if has := arguments([]string{text}); len(got) == 1 && fmt.Sprint(has) != fmt.Sprint(sum) || !subset(has, sum) {
					t.Errorf("%s: %s has arguments %v, in English %v", lang, key, has, sum)
				}
			}
			for _, n := range []int{1, 2} {
				if text := NewLocale(lang, nil).T(key, samples(sum, n)...); strings.Contains(text, "%!") {
					t.Errorf("%s: %s is written as %q", lang, key, text)
				}
			}
		}
	}
}

// TestCallsNameTexts reads the program: what it asks of the catalogues is there, with as many arguments, and all that is there is
// asked for.
func TestCallsNameTexts(t *testing.T) {
	t.Parallel()
	p := readProgram(t)
	english := catalogues()[English]
	for _, c := range p.calls {
		texts, there := variants(english, c.key)
		if !there {
			if keyShape.MatchString(c.key) {
				t.Errorf("%s: %s is no key", c.at, c.key)
			}
			continue
		}
		takes := english.formats[c.key].by // a number may choose a form and not be written
		for n := range arguments(texts) {
			takes = max(takes, n)
		}
		if c.args >= 0 && takes != c.args {
			t.Errorf("%s: %s is given %d arguments and takes %d", c.at, c.key, c.args, takes)
		}
	}
	for _, key := range keys(english) {
		family := key[:strings.LastIndex(key, ".")]
		used := p.literals[key]
		for !used && family != "" {
			used = p.families[family]
			cut := strings.LastIndex(family, ".")
			family = family[:max(0, cut)]
		}
		if !used {
			t.Errorf("%s is not used", key)
		}
	}
	prefixes := map[string]bool{}
	for _, key := range keys(english) {
		prefix, _, _ := strings.Cut(key, ".")
		prefixes[prefix] = true
	}
	for text, at := range p.places {
		prefix, _, _ := strings.Cut(text, ".")
		_, there := variants(english, text)
		if prefixes[prefix] && keyShape.MatchString(text) && !there && !noKey(text) {
			t.Errorf("%s: %s looks like a key and is none", at, text)
		}
	}
	for family := range p.families {
		if !slices.ContainsFunc(keys(english), func(key string) bool { return strings.HasPrefix(key, family+".") }) {
			t.Errorf("family %s has no keys", family)
		}
	}
}

// noKey reports whether a text that looks like a key is something else: a file, a scope, an action of the audit trail, a permission, a setting, or a
// family.
func noKey(text string) bool {
	words := []string{
		"events.batch", "events.payload", "events.oversize", "amqp.subjects", // settings
		"contracts.announced-through", "deliveries.notified", "deliveries.cancel", "amqp.retried", // what is stored
	}
	if Has("audit", text) || Has("permission", text) || strings.Contains(text, "_") || slices.Contains(words, text) {
		return true
	}
	for _, ending := range []string{".go", ".md", ".yaml", ".json", ".js", ".css", ".xml", ".zip", ".txt", ".csv", ".db", ".pem", ".org", ".com", ".id", ".templ", ".read", ".write", ".publish", ".consume"} {
		if strings.HasSuffix(text, ending) {
			return true
		}
	}
	return slices.ContainsFunc(keys(english().texts), func(key string) bool { return strings.HasPrefix(key, text+".") })
}

// TestTextsAreTranslated finds English left in the other catalogues. Texts that are the same by right are listed in sameWords.
func TestTextsAreTranslated(t *testing.T) {
	t.Parallel()
	all := catalogues()
	for _, lang := range []Lang{Dutch, Norwegian} {
		for _, key := range keys(all[lang]) {
			want, _ := variants(all[English], key)
			got, _ := variants(all[lang], key)
			plain := verb.ReplaceAllString(strings.Join(got, " "), "")
			letters := strings.IndexFunc(plain, unicode.IsLetter) >= 0
			if letters && slices.Equal(got, want) && !sameByRight(plain) {
				t.Errorf("%s: %s is %q in English too", lang, key, strings.Join(got, " | "))
			}
		}
	}
}

// sameWords are words that are the same in English and another language, or names.
const sameWords = `account accounts administrator alarm apicurio auditor integrator manager operator azure bus cloudevent cloudevents cm document epsg km m detail metadata namespace node open parameters payload person prefix rabbitmq redoc register registers registry schema score servers wgs headers codes
	 amqp api apprec asyncapi audience bearer binding body database databases broker brokers bytes byte catalogue cas
	certificate client clients code conflict contact contract contracts cron
	d data dataset datasets dcat delta details digest domain e-mail endpoint etag event feed filter filters for form
	header her her-id hostname html http https id ids idempotency-key in info internet is jobs json jwks kb kvk latency link links logs mail mails md menu message min ms
	mutations name number object oauth oidc oin ok openapi openid org organisasjonsnummer os
	partner passkey pdf period plan postgresql problem process profile pull push queue route routes rsa s sha-256 schakel scope scopes secret server service slug smtp soap source
	start status subject tag tags test text title tls token tokens total transport type types under url urls utc uuid
	version via was webhook webhooks x.509 xml yaml zip`

func sameByRight(text string) bool {
	same := strings.Fields(sameWords)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("()[]{}:;,!?“”«»\"'/–…", r)
	}) {
		word = strings.Trim(word, ".-")
		if strings.IndexFunc(word, unicode.IsLetter) >= 0 && !slices.Contains(same, word) {
			return false
		}
	}
	return true
}

func keys(t *texts) []string {
	var list []string
	for key := range t.plain {
		list = append(list, key)
	}
	for key := range t.formats {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// variants are the texts of a key, one or two.
func variants(t *texts, key string) (list []string, ok bool) {
	if text, ok := t.plain[key]; ok {
		return []string{text}, true
	}
	f, ok := t.formats[key]
	switch {
	case !ok:
		return nil, false
	case f.forms == nil:
		return []string{f.text}, true
	}
	return []string{f.forms["one"], f.forms["other"]}, true
}

var argumentVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[+#]?(?:\.\d+)?([a-z%])`)

// arguments gives the verb of each argument that texts take, by its number.
func arguments(list []string) map[int]string {
	found := map[int]string{}
	for _, text := range list {
		next := 1
		for _, m := range argumentVerb.FindAllStringSubmatch(text, -1) {
			if m[2] == "%" {
				continue
			}
			if m[1] != "" {
				next, _ = strconv.Atoi(m[1])
			}
			found[next] = m[2]
			next++
		}
	}
	return found
}

func subset(some, all map[int]string) bool {
	for n, v := range some {
		if all[n] != v {
			return false
		}
	}
	return true
}

func samples(verbs map[int]string, n int) []any {
	most := 0
	for i := range verbs {
		most = max(most, i)
	}
	list := make([]any, most)
	for i := range list {
		list[i] = "x"
		switch verbs[i+1] {
		case "d":
			list[i] = n
		case "f":
			list[i] = 1.5
		}
	}
	return list
}

// program holds the keys that the source of the program asks for.
type program struct {
	calls    []call
	literals map[string]bool   // all strings
	places   map[string]string // of all strings, the last
	families map[string]bool
}

type call struct {
	at, key string
	args    int // -1: not known
}

// keyShape is that of a key whose first part is that of another key, so that names of files and hosts are none.
var keyShape = regexp.MustCompile(`^[a-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

func readProgram(t *testing.T) *program {
	t.Helper()
	p := &program{literals: map[string]bool{}, places: map[string]string{}, families: map[string]bool{}}
	files := token.NewFileSet()
	for _, folder := range []string{"web", "templates", "registry", "delivery", "server", "store", "static"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err == nil {
				p.read(files, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *program) read(files *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := literal(n); ok {
			p.literals[text], p.places[text] = true, files.Position(n.Pos()).String()
		}
		if c, ok := n.(*ast.CallExpr); ok {
			p.readCall(files.Position(c.Pos()).String(), c, file.Name.Name == "i18n")
		}
		return true
	})
}

// readCall notes a call of T, M, Of, Word or Has of this package, of T or Of of a locale, and of a function that makes a message of
// its key and arguments as M does.
func (p *program) readCall(at string, c *ast.CallExpr, here bool) {
	name, of := "", ""
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if x, ok := f.X.(*ast.Ident); ok {
			of = x.Name
		}
	case *ast.Ident:
		name, of = f.Name, "i18n"
		if !here && name != "Conflict" && name != "Forbidden" {
			return
		}
	}
	key := 0 // the place of the key or the family
	if (name == "T" || name == "Of") && of == "i18n" {
		key = 1
	}
	if len(c.Args) <= key {
		return
	}
	text, ok := literal(c.Args[key])
	if !ok {
		return
	}
	switch name {
	case "T", "M", "Conflict", "Forbidden":
		args := len(c.Args) - key - 1
		if c.Ellipsis.IsValid() {
			args = -1
		}
		p.calls = append(p.calls, call{at, text, args})
	case "Of":
		p.families[text] = true
	case "Word", "Has":
		if of == "i18n" {
			p.families[text] = true
		}
	}
}

func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
