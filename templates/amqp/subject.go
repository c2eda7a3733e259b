package amqp

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// SubjectCode shows a code of list 8279; a long one goes on at the next line behind an underscore.
func SubjectCode(code string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		text := strings.ReplaceAll(templ.EscapeString(code), "_", "_<wbr>")
		_, err := io.WriteString(w, `<code class="utrecht-code schakel-id">`+text+`</code>`)
		return err
	})
}
