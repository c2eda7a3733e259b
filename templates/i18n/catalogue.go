package i18n

import (
	"embed"
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
)

//go:embed *.txt
var files embed.FS

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

// catalogues reads the catalogues, once. A fault in a catalogue is a mistake of the programmer.
var catalogues = sync.OnceValue(func() map[Lang]*texts {
	all := map[Lang]*texts{}
	for _, l := range Langs() {
		source, err := files.ReadFile(string(l) + ".txt")
		if err == nil {
			all[l], err = parse(string(source))
		}
		if err == nil {
			err = all[l].prepare(language.MustParse(string(l)))
		}
		if err != nil {
			panic(fmt.Sprintf("catalogue %s: %v", l, err))
		}
	}
	all[Pseudo] = all[English].pseudo()
	if err := all[Pseudo].prepare(language.MustParse(string(Pseudo))); err != nil {
		panic(err)
	}
	return all
})

var english = sync.OnceValue(func() *Locale { return NewLocale(English, time.UTC) })

var keyLine = regexp.MustCompile(`^([a-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)(?:\[(one|other)(?: (\d))?\])?\s*=\s?(.*)$`)

// parse reads a catalogue. Its error names the line.
func parse(source string) (*texts, error) {
	t := &texts{plain: map[string]string{}, formats: map[string]format{}}
	lines := strings.Split(source, "\n")
	for n := 0; n < len(lines); n++ {
		line := strings.TrimRight(lines[n], " \r")
		if line == "" || line[0] == '#' {
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: want key = text, got %q", n+1, line)
		}
		text := m[4]
		for n+1 < len(lines) && strings.HasPrefix(lines[n+1], " ") {
			n++
			text += " " + strings.TrimSpace(lines[n])
		}
		if err := t.add(m[1], m[2], m[3], strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return t, nil
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
