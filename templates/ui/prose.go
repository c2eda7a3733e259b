package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

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
