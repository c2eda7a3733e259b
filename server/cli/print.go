package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"schakel/templates/ui"
)

// Formats of printed findings.
const (
	FormatJSON   = "json"
	FormatGitHub = "github"
)

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Plural writes a number with its noun, as the portal does.
func Plural(n int64, one, many string) string { return ui.Plural(int(n), one, many) }
