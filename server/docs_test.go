package main

import (
	"path"
	"slices"
	"strings"
	"testing"

	"schakel/templates/docs"
	"schakel/web/site"
)

// TestDocs holds the guides that are served against the repository: every guide that lies beside a feature is served, each is
// the file that it names, and a link to another one or to a heading leads somewhere.
func TestDocs(t *testing.T) {
	t.Parallel()
	served := map[string]site.Doc{}
	ids := map[string][]string{} // of headings, by file
	links := map[string][]string{}
	for _, d := range guidesServed() {
		served[d.File] = d
		guide, err := docs.Read(d.Markdown, func(to string) (string, bool) {
			links[d.File] = append(links[d.File], to)
			return "", false
		})
		if err != nil {
			t.Errorf("%s: %v", d.File, err)
		}
		for _, h := range guide.Contents {
			ids[d.File] = append(ids[d.File], h.ID)
		}
	}
	walk(t, func(file string, text []byte) {
		if d, ok := served[file]; ok && d.Markdown != string(text) {
			t.Errorf("/docs/%s is not %s", d.Name, file)
		} else if !ok && strings.HasSuffix(file, ".md") && file[0] != '.' && path.Base(file) != "README.md" && !strings.HasPrefix(file, "static/") {
			t.Errorf("%s is not served: add it to guidesServed", file)
		}
	})
	for from, list := range links {
		for _, to := range list {
			if strings.Contains(to, "://") || strings.HasPrefix(to, "/") {
				continue
			}
			name, id, _ := strings.Cut(to, "#")
			file := from
			if name != "" {
				file = path.Join(path.Dir(from), name)
			}
			if _, ok := served[file]; ok && id != "" && !slices.Contains(ids[file], id) {
				t.Errorf("%s links to %s, which has no heading %s", from, file, id)
			}
		}
	}
}
