package main

import (
	"slices"
	"strings"

	"schakel/registry"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// rolesGuide writes the guide about roles from the table that routes are held against, in each language.
func rolesGuide(audience, answers i18n.Message) site.Doc {
	d := site.Doc{
		Name: "roles", File: "server/roles.md", Audience: audience, Answers: answers,
		Markdown: rolesText(i18n.NewLocale(i18n.English, nil)), Translations: map[i18n.Lang]string{},
	}
	for _, lang := range i18n.Langs() {
		if lang != i18n.English {
			d.Translations[lang] = rolesText(i18n.NewLocale(lang, nil))
		}
	}
	return d
}

func rolesText(l *i18n.Locale) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n\n") }
	line("# ", l.T("docs.roles.title"))
	line(l.T("docs.roles.lead"))
	for _, side := range []struct {
		heading string
		roles   []string
	}{{l.T("docs.roles.organisation"), registry.OrganisationRoles()}, {l.T("docs.roles.partner"), registry.PartnerRoles()}} {
		line("## ", side.heading)
		for _, role := range side.roles {
			b.WriteString("- **" + l.Of("site.role", role) + "**: " + l.Of("docs.roles.for", role) + "\n")
		}
		b.WriteString("\n" + permissionTable(l, side.roles) + "\n")
	}
	line("## ", l.T("docs.roles.giving"))
	line(l.T("docs.roles.giving-text"))
	line(l.T("docs.roles.machines"))
	return b.String()
}

// permissionTable is a table of what roles allow, without what none of them does.
func permissionTable(l *i18n.Locale, roles []string) string {
	var b strings.Builder
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	head, rule := []string{l.T("docs.roles.permission")}, []string{"---"}
	for _, role := range roles {
		head, rule = append(head, l.Of("site.role", role)), append(rule, "---")
	}
	row(head)
	row(rule)
	for _, g := range registry.Permissions() {
		if !slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(g.Roles, role) }) {
			continue
		}
		cells := []string{l.Of("permission", string(g.Permission)) + " (`" + string(g.Permission) + "`)"}
		for _, role := range roles {
			if slices.Contains(g.Roles, role) {
				cells = append(cells, l.T("docs.roles.yes"))
			} else {
				cells = append(cells, l.T("docs.roles.no"))
			}
		}
		row(cells)
	}
	return b.String()
}
