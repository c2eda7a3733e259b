// Package mutation holds the guide to datasets; the packages below it deliver their changes. It imports none of them,
// so that the portal can show the guide, and the guide is the file that lies in the repository.
package mutation

import _ "embed"

//go:embed datasets.md
var guide string

// Guide gives the guide to datasets and copies of them as Markdown.
func Guide() string { return guide }
