package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// longestPart is the longest part of a name that is broken only behind its dots: a longer one would make a table too wide.
const longestPart = 30

// dotted is a text as HTML in which names with dots, such as event types, may go on at the next line behind a dot; ok is
// false for a text without such names, and with one that has a part too long to be kept whole.
func dotted(text string) (html string, ok bool) {
	words := strings.Split(text, " ")
	for i, word := range words {
		parts := strings.SplitAfter(word, ".")
		for n, part := range parts {
			if len(part) > longestPart {
				return "", false
			}
			parts[n] = templ.EscapeString(part)
		}
		ok = ok || len(parts) > 2
		words[i] = strings.TrimSuffix(strings.Join(parts, "<wbr>"), "<wbr>")
	}
	return strings.Join(words, " "), ok
}

// Breakable shows a text. A name with dots in it goes on at the next line behind a dot, and nowhere else.
func Breakable(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		html, ok := dotted(text)
		if ok {
			html = `<span class="schakel-dotted">` + html + `</span>`
		} else {
			html = templ.EscapeString(text)
		}
		_, err := io.WriteString(w, html)
		return err
	})
}

// WithNames is a text in which what stands between backticks is a machine's name.
func WithNames(text string) templ.Component {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		parts[i] = templ.EscapeString(part)
		if i%2 == 1 {
			parts[i] = `<code class="utrecht-code schakel-id">` + parts[i] + `</code>`
		}
	}
	return written(strings.Join(parts, ""))
}

// Address is the path of something, which may be broken behind each of its parts.
func Address(path string) templ.Component {
	return written(strings.ReplaceAll(templ.EscapeString(path), "/", "/<wbr>"))
}

// written writes what was escaped before, without white space around it.
func written(html string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, html)
		return err
	})
}
