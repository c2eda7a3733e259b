package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// noticesHead begins the notices. glibc is no module: the linker takes it from the machine that builds a release.
const noticesHead = `# Third-party notices

Schakel contains the software of others below, each under its licence. ` + "`make notices`" + ` writes this file from the modules of the build.

Programs of a release are linked with the GNU C Library of the machine that builds them (LGPL-2.1-or-later). Whoever wants another one
builds the program anew from its source with ` + "`make release`" + `. SQLite is in the public domain.

| software | version | licence |
|---|---|---|
`

// writeNotices writes the notices of all parts as Markdown: a table, and each text once with those it is of.
func writeNotices(ctx context.Context, out io.Writer) error {
	all, err := parts(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, notices(all))
	return err
}

// shared is a text, and who uses it with which owners.
type shared struct {
	body  string
	users []string
}

func notices(all []part) string {
	var b strings.Builder
	b.WriteString(noticesHead)
	var texts []*shared
	for _, p := range all {
		version := p.Version
		if p.Name == "Go standard library" {
			version = "of the Go that built it"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, version, p.Licence)
		for _, text := range p.Texts {
			owners, body := split(text)
			i := slices.IndexFunc(texts, func(t *shared) bool { return squeezed(t.body) == squeezed(body) })
			if i < 0 {
				i, texts = len(texts), append(texts, &shared{body: body})
			}
			user := p.Name
			if len(owners) > 0 {
				user += ": " + strings.Join(owners, " ")
			}
			if !slices.Contains(texts[i].users, user) {
				texts[i].users = append(texts[i].users, user)
			}
		}
	}
	for i, t := range texts {
		fmt.Fprintf(&b, "\n## Text %d\n\n", i+1)
		for _, user := range t.users {
			fmt.Fprintf(&b, "- %s\n", strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(user))
		}
		fmt.Fprintf(&b, "\n~~~~text\n%s\n~~~~\n", t.body)
	}
	return b.String()
}
