package templates

import (
	"os"
	"path/filepath"
	"testing"

	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

// TestGallery renders every component into one document and checks the rules
// that hold for all pages. SCHAKEL_GALLERY names a folder that keeps the
// documents, to look at them in a browser.
func TestGallery(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"gallery.html": gallery(t),
		"error.html":   uitest.Render(t, errorDocument()),
		"visitor.html": uitest.Render(t, uitest.With(ui.Layout(ui.Page{Title: "Log in"}), ui.Text("Welcome."))),
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
			all := uitest.Elements(uitest.Parse(t, doc))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
		})
	}
}
