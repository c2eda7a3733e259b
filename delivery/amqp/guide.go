package amqp

import _ "embed"

//go:embed messages.md
var guide string

// Guide gives the guide to contracts in build messages as Markdown.
func Guide() string { return guide }
