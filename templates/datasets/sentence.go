package datasets

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// The slots of a sentence are arguments of its text: they mark the places of its first and second component.
const first, second = "\x00", "\x01"

// sentence draws a translated sentence with components in the places of its slots, as their order differs between languages.
func sentence(text string, components ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for text != "" {
			at := strings.IndexAny(text, first+second)
			if at < 0 {
				at = len(text)
			}
			if _, err := io.WriteString(w, templ.EscapeString(text[:at])); err != nil {
				return err
			}
			if text = text[at:]; text == "" {
				return nil
			}
			if n := int(text[0]); n < len(components) {
				if err := components[n].Render(ctx, w); err != nil {
					return err
				}
			}
			text = text[1:]
		}
		return nil
	})
}
