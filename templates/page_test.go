package templates

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGallery renders every component into one document and checks the rules
// that hold for all pages. SCHAKEL_GALLERY names a folder that keeps the
// documents, to look at them in a browser.
func TestGallery(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"gallery.html": gallery(t),
		"error.html":   render(t, errorDocument()),
		"visitor.html": render(t, with(Layout(Page{Title: "Log in"}), Text("Welcome."))),
	}
	dir := os.Getenv("SCHAKEL_GALLERY")
	if dir == "" {
		dir = t.TempDir()
	}
	for name, doc := range documents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, doc))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
		})
	}
}
