package contract

import _ "embed"

//go:embed pipelines.md
var guide string

// Guide gives the guide to contracts in build pipelines as Markdown.
func Guide() string { return guide }
