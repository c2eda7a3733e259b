package webhook

import _ "embed"

//go:embed receivers.md
var guide string

// Guide is the guide to receivers of webhooks, in Markdown.
func Guide() string { return guide }
