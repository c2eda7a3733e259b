package webhook

import (
	"embed"
	"io/fs"
)

//go:embed receivers*.md
var guides embed.FS

// Guides holds the guide to receivers of webhooks, receivers.md, and its translations.
func Guides() fs.FS { return guides }
