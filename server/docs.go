package main

import (
	_ "embed"

	"schakel/delivery/amqp"
	"schakel/delivery/mutation"
	"schakel/delivery/webhook"
	"schakel/registry/contracts/contract"
	"schakel/server/release"
	"schakel/web/site"
)

//go:embed operating.md
var operatingGuide string

//go:embed rules/RULES.md
var rulesGuide string

// guidesServed lists the guides that the program serves at /docs, each kept beside what it describes.
func guidesServed() []site.Doc {
	const integrators, operators, developers = "For integrators", "For operators", "For developers"
	return []site.Doc{
		{
			Name: "receivers", File: "delivery/webhook/receivers.md", Audience: integrators, Markdown: webhook.Guide(),
			Answers: "How to receive events, with receivers in Python, Node.js, Go, Java and C#.",
		},
		{
			Name: "pipelines", File: "registry/contracts/contract/pipelines.md", Audience: integrators, Markdown: contract.Guide(),
			Answers: "How a build checks, publishes and fetches contracts, and how a register follows another.",
		},
		{
			Name: "datasets", File: "delivery/mutation/datasets.md", Audience: integrators, Markdown: mutation.Guide(),
			Answers: "How changes of a register come in and go out, and how to keep an exact copy.",
		},
		{
			Name: "operating", File: "server/operating.md", Audience: operators, Markdown: operatingGuide,
			Answers: "Which flags and commands there are, and what to do before an upgrade.",
		},
		{
			Name: "amqp-messages", File: "delivery/amqp/messages.md", Audience: operators, Markdown: amqp.Guide(),
			Answers: "What to enter to exchange messages over AMQP 1.0 with health parties and others.",
		},
		{
			Name: "changelog", File: "server/release/CHANGELOG.md", Audience: operators, Markdown: release.Changelog(),
			Answers: "What each version added, changed and fixed.",
		},
		{
			Name: "rules", File: "server/rules/RULES.md", Audience: developers, Markdown: rulesGuide,
			Answers: "Which rules Schakel follows, and which test proves each.",
		},
	}
}
