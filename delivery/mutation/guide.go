// Package mutation holds the guide to datasets; the packages below it deliver their changes. It imports none of them,
// so that the portal can show the guide, and the guide is the file that lies in the repository.
package mutation

import (
	"embed"
	"io/fs"
)

//go:embed datasets*.md
var guides embed.FS

// Guides holds the guide to datasets and copies of them, datasets.md, and its translations.
func Guides() fs.FS { return guides }
