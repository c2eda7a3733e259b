// Package mutation holds the guide to datasets; the packages below it deliver their changes.
package mutation

import _ "embed"

//go:embed datasets.md
var guide string

// Guide gives the guide to datasets and copies of them as Markdown.
func Guide() string { return guide }
