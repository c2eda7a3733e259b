package main

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"schakel/delivery/amqp"
	"schakel/delivery/mutation"
	"schakel/delivery/webhook"
	"schakel/registry/contracts/contract"
	"schakel/server/packaging"
	"schakel/server/release"
	"schakel/templates/i18n"
	"schakel/templates/i18n/texts"
	"schakel/web/site"
)

//go:embed operating*.md guide
var guideFiles embed.FS

//go:embed rules/RULES.md
var rulesGuide []byte

// guidesServed lists the guides that the program serves at /docs, each kept beside what it describes.
func guidesServed() []site.Doc {
	const integrators, operators, developers i18n.Message = "docs.audience.integrators", "docs.audience.operators", "docs.audience.developers"
	return []site.Doc{
		ownGuide("publishing", integrators, "docs.answers.publishing"),
		ownGuide("receiving", integrators, "docs.answers.receiving"),
		guideBeside("receivers", "delivery/webhook/receivers.md", webhook.Guides(), integrators, "docs.answers.receivers"),
		ownGuide("pull", integrators, "docs.answers.pull"),
		ownGuide("delivery", integrators, "docs.answers.delivery"),
		guideBeside("datasets", "delivery/mutation/datasets.md", mutation.Guides(), integrators, "docs.answers.datasets"),
		guideBeside("pipelines", "registry/contracts/contract/pipelines.md", contract.Guides(), integrators, "docs.answers.pipelines"),
		ownGuide("installing", operators, "docs.answers.installing"),
		ownGuide("packages", operators, "docs.answers.packages"),
		ownGuide("proxies", operators, "docs.answers.proxies"),
		ownGuide("certificates", operators, "docs.answers.certificates"),
		ownGuide("tokens", operators, "docs.answers.tokens"),
		ownGuide("mandates", operators, "docs.answers.mandates"),
		ownGuide("logins", operators, "docs.answers.logins"),
		rolesGuide(operators, "docs.answers.roles"),
		ownGuide("mail", operators, "docs.answers.mail"),
		ownGuide("looks", operators, "docs.answers.looks"),
		ownGuide("postgresql", operators, "docs.answers.postgresql"),
		ownGuide("capacity", operators, "docs.answers.capacity"),
		guideBeside("operating", "server/operating.md", guideFiles, operators, "docs.answers.operating"),
		ownGuide("backups", operators, "docs.answers.backups"),
		ownGuide("keys", operators, "docs.answers.keys"),
		ownGuide("audit", operators, "docs.answers.audit"),
		ownGuide("upgrading", operators, "docs.answers.upgrading"),
		ownGuide("troubleshooting", operators, "docs.answers.troubleshooting"),
		guideBeside("amqp-messages", "delivery/amqp/messages.md", amqp.Guides(), operators, "docs.answers.amqp-messages"),
		{
			Name: "changelog", File: "server/release/CHANGELOG.md", Audience: operators, Markdown: release.Changelog(),
			Answers: "docs.answers.changelog", Title: "docs.name.changelog",
		},
		guideBeside("upgrade-notes", "server/release/UPGRADING.md", release.Guides(), operators, "docs.answers.upgrade-notes"),
		{
			Name: "licences", File: "server/packaging/THIRD-PARTY.md", Audience: operators, Markdown: packaging.Notices(),
			Answers: "docs.answers.licences", Title: "docs.name.licences",
		},
		{
			Name: "rules", File: "server/rules/RULES.md", Audience: developers, Markdown: string(texts.Unpack(rulesGuide)),
			Answers: "docs.answers.rules", Title: "docs.name.rules",
		},
		titled("docs.name.asvs", ownGuide("asvs", developers, "docs.answers.asvs")),
	}
}

// titled gives a guide that is kept in English alone a title in each language.
func titled(title i18n.Message, d site.Doc) site.Doc {
	d.Title = title
	return d
}

// ownGuide is a guide that belongs to no feature alone.
func ownGuide(name string, audience, answers i18n.Message) site.Doc {
	own, err := fs.Sub(guideFiles, "guide")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return guideBeside(name, "server/guide/"+name+".md", own, audience, answers)
}

// guideBeside is the guide in a file of the repository, which files holds by its last part: NAME.md, and NAME.LANG.md for each translation.
func guideBeside(name, file string, files fs.FS, audience, answers i18n.Message) site.Doc {
	base := strings.TrimSuffix(path.Base(file), ".md")
	read := func(file string) string {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return "" // of a translation: there is none yet
		}
		return string(texts.Unpack(text))
	}
	d := site.Doc{Name: name, File: file, Audience: audience, Answers: answers, Markdown: read(base + ".md"), Translations: map[i18n.Lang]string{}}
	for _, lang := range i18n.Langs() {
		if text := read(base + "." + string(lang) + ".md"); text != "" {
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
