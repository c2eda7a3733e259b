package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The logo and the style sheet are read before anything starts, and what is none is refused by its flag.
func TestBrandingFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	svg, css := write("logo.svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`), write("theme.css", ".schakel-theme { --s-accent: #a00 }")
	branding, err := OrganisationFlags{Logo: svg, ThemeCSS: css}.branding()
	if err != nil || branding.Path("logo.svg") == "" || branding.Path("theme.css") == "" || branding.Path("logo.png") != "" {
		t.Errorf("branding %v, %v", branding, err)
	}
	if branding, err := (OrganisationFlags{}).branding(); err != nil || branding != nil || branding.Path("theme.css") != "" {
		t.Errorf("without flags: %v, %v", branding, err)
	}
	for want, f := range map[string]OrganisationFlags{
		"--logo: stat":               {Logo: filepath.Join(dir, "none.svg")},
		"--logo: " + css:             {Logo: css},
		"no SVG or PNG":              {Logo: write("fake.png", "GIF89a")},
		"bytes":                      {ThemeCSS: write("large.css", strings.Repeat("a", maxBrandingFile+1))},
		"--theme-css: " + dir + "/e": {ThemeCSS: write("e.css", "")},
		"UTF-8":                      {ThemeCSS: write("latin.css", "\xe9")},
	} {
		if err := f.CheckFlags(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", f, err, want)
		}
	}
	if got := (OrganisationFlags{Organisation: "Gemeente X"}).portalName() + (OrganisationFlags{Organisation: "This organisation"}).portalName(); got != "Gemeente X" {
		t.Errorf("names %q", got)
	}
}
