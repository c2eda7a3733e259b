package i18n

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
	words "schakel/templates/i18n/texts"
)

// texts is the catalogue of one language.
type texts struct {
	plain   map[string]string // texts without arguments
	formats map[string]format // texts with arguments
	printer *message.Printer
}

// format is a text with arguments: one text, or one for each number of things.
type format struct {
	text  string
	forms map[string]string // "one" and "other"
	by    int               // the argument that is counted, from 1
}

// loaders read a catalogue when a reader first needs its language: a command needs English alone.
var loaders = map[Lang]func() *texts{
	English:   sync.OnceValue(func() *texts { return mustLoad(English) }),
	Dutch:     sync.OnceValue(func() *texts { return mustLoad(Dutch) }),
	Norwegian: sync.OnceValue(func() *texts { return mustLoad(Norwegian) }),
	Pseudo:    sync.OnceValue(func() *texts { return mustLoad(Pseudo) }),
}

// mustLoad reads the catalogue of a language. A fault in it is a mistake of the programmer, which the tests find.
func mustLoad(l Lang) *texts {
	t, err := load(l)
	if err != nil {
		panic(fmt.Sprintf("catalogue %s: %v", l, err))
	}
	return t
}

func load(l Lang) (*texts, error) {
	file := l
	if l == Pseudo {
		file = English
	}
	source, err := words.Read(string(file))
	if err != nil {
		return nil, err
	}
	t, err := parse(string(source))
	if err != nil {
		return nil, err
	}
	if l == Pseudo {
		t = t.pseudo()
	}
	return t, t.prepare(language.MustParse(string(l)))
}

var english = sync.OnceValue(func() *Locale { return NewLocale(English, time.UTC) })

// parse reads a catalogue. Its error names the line.
func parse(source string) (*texts, error) {
	t := &texts{plain: make(map[string]string, 6000), formats: make(map[string]format, 2000)}
	lines := strings.Split(source, "\n")
	for n := 0; n < len(lines); n++ {
		line := strings.TrimRight(lines[n], " \r")
		if line == "" || line[0] == '#' {
			continue
		}
		at := n + 1
		key, text, ok := strings.Cut(line, " = ")
		key, form, by, fits := keyOf(key)
		if !ok || !fits {
			return nil, fmt.Errorf("line %d: want key = text, got %q", at, line)
		}
		for n+1 < len(lines) && strings.HasPrefix(lines[n+1], " ") {
			n++
			text += " " + strings.TrimSpace(lines[n])
		}
		if err := t.add(key, form, by, strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
	}
	return t, nil
}

// keyOf takes apart what stands before the sign: "key", "key[one]" or "key[other 2]".
func keyOf(text string) (key, form, by string, ok bool) {
	key, rest, formed := strings.Cut(text, "[")
	if formed {
		form, by, _ = strings.Cut(strings.TrimSuffix(rest, "]"), " ")
		if form != "one" && form != "other" || len(by) > 1 || strings.Trim(by, "123456789") != "" || !strings.HasSuffix(rest, "]") {
			return "", "", "", false
		}
	}
	const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return key, form, by, strings.Contains(strings.Trim(key, "."), ".") && strings.Trim(key, signs) == ""
}

func (t *texts) add(key, form, by, text string) error {
	f, formatted := t.formats[key]
	_, plain := t.plain[key]
	switch {
	case text == "":
		return fmt.Errorf("%s has no text", key)
	case plain, formatted && (form == "" || f.forms[form] != ""):
		return fmt.Errorf("%s stands twice", key)
	case form == "" && !strings.Contains(text, "%"):
		t.plain[key] = text
		return nil
	case form == "":
		t.formats[key] = format{text: text}
		return nil
	}
	if f.forms == nil {
		f = format{forms: map[string]string{}, by: 1}
	}
	if by != "" {
		f.by, _ = strconv.Atoi(by)
	}
	f.forms[form] = text
	t.formats[key] = f
	return nil
}

// prepare makes the printer of the texts with arguments.
func (t *texts) prepare(tag language.Tag) error {
	b := catalog.NewBuilder(catalog.Fallback(tag))
	for key, f := range t.formats {
		var err error
		if f.forms == nil {
			err = b.SetString(tag, key, f.text)
		} else {
			err = b.Set(tag, key, plural.Selectf(f.by, "", "one", f.forms["one"], "other", f.forms["other"]))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	t.printer = message.NewPrinter(tag, message.Catalog(b))
	return nil
}

// verb is a verb of fmt, which the pseudo-language leaves as it is.
var verb = regexp.MustCompile(`%(\[\d+\])?[+#]?(\.\d+)?[a-z%]`)

// pseudo is the catalogue with accents on its letters, and longer.
func (t *texts) pseudo() *texts {
	p := &texts{plain: map[string]string{}, formats: map[string]format{}}
	for key, text := range t.plain {
		p.plain[key] = accented(text)
	}
	for key, f := range t.formats {
		f.text = accented(f.text)
		forms := map[string]string{}
		for form, text := range f.forms {
			forms[form] = accented(text)
		}
		if f.forms != nil {
			f.forms = forms
		}
		p.formats[key] = f
	}
	return p
}

var accents = strings.NewReplacer("a", "á", "e", "ë", "i", "ï", "o", "ö", "u", "ü", "A", "Â", "E", "Ê", "I", "Î", "O", "Ô", "U", "Û", "n", "ñ", "c", "ç", "s", "š", "y", "ý")

func accented(text string) string {
	if text == "" {
		return ""
	}
	var out strings.Builder
	at := 0
	for _, place := range verb.FindAllStringIndex(text, -1) {
		out.WriteString(accents.Replace(text[at:place[0]]))
		out.WriteString(text[place[0]:place[1]])
		at = place[1]
	}
	out.WriteString(accents.Replace(text[at:]))
	return out.String() + strings.Repeat("~", len(text)/3)
}
