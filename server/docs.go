package main

import (
	"embed"

	"schakel/delivery/amqp"
	"schakel/delivery/mutation"
	"schakel/delivery/webhook"
	"schakel/registry/contracts/contract"
	"schakel/server/packaging"
	"schakel/server/release"
	"schakel/templates/i18n"
	"schakel/web/site"
)

//go:embed operating.md
var operatingGuide string

// guideFiles are the guides that belong to no feature alone; NAME.LANG.md is the translation of NAME.md.
//
//go:embed guide
var guideFiles embed.FS

//go:embed rules/RULES.md
var rulesGuide string

// guidesServed lists the guides that the program serves at /docs, each kept beside what it describes.
func guidesServed() []site.Doc {
	const integrators, operators, developers i18n.Message = "docs.audience.integrators", "docs.audience.operators", "docs.audience.developers"
	return []site.Doc{
		ownGuide("publishing", integrators, "docs.answers.publishing"),
		ownGuide("receiving", integrators, "docs.answers.receiving"),
		{
			Name: "receivers", File: "delivery/webhook/receivers.md", Audience: integrators, Markdown: webhook.Guide(),
			Answers: "docs.answers.receivers",
		},
		{
			Name: "pipelines", File: "registry/contracts/contract/pipelines.md", Audience: integrators, Markdown: contract.Guide(),
			Answers: "docs.answers.pipelines",
		},
		{
			Name: "datasets", File: "delivery/mutation/datasets.md", Audience: integrators, Markdown: mutation.Guide(),
			Answers: "docs.answers.datasets",
		},
		ownGuide("installing", operators, "docs.answers.installing"),
		ownGuide("proxies", operators, "docs.answers.proxies"),
		{
			Name: "operating", File: "server/operating.md", Audience: operators, Markdown: operatingGuide,
			Answers: "docs.answers.operating",
		},
		ownGuide("backups", operators, "docs.answers.backups"),
		ownGuide("troubleshooting", operators, "docs.answers.troubleshooting"),
		{
			Name: "amqp-messages", File: "delivery/amqp/messages.md", Audience: operators, Markdown: amqp.Guide(),
			Answers: "docs.answers.amqp-messages",
		},
		{
			Name: "changelog", File: "server/release/CHANGELOG.md", Audience: operators, Markdown: release.Changelog(),
			Answers: "docs.answers.changelog",
		},
		{
			Name: "rules", File: "server/rules/RULES.md", Audience: developers, Markdown: rulesGuide,
			Answers: "docs.answers.rules",
		},
	}
}

// ownGuide is a guide of guideFiles with its translations.
func ownGuide(name string, audience, answers i18n.Message) site.Doc {
	read := func(file string) string {
		text, err := guideFiles.ReadFile("guide/" + file)
		if err != nil {
			return "" // of a translation: there is none yet
		}
		return string(text)
	}
	d := site.Doc{Name: name, File: "server/guide/" + name + ".md", Audience: audience, Answers: answers, Markdown: read(name + ".md"), Translations: map[i18n.Lang]string{}}
	for _, lang := range i18n.Langs() {
		if text := read(name + "." + string(lang) + ".md"); text != "" {
			d.Translations[lang] = text
		}
	}
	return d
}

// filesServed lists what an operator takes from the guides.
func filesServed() []site.DocFile {
	return []site.DocFile{
		{File: "server/packaging/grafana-dashboard.json", Type: "application/json", Content: packaging.Dashboard},
		{File: "server/packaging/prometheus-alerts.yml", Type: "application/yaml", Content: packaging.Alerts},
	}
}
