package static

import "net/http"

// BrandingPrefix is the path under which a Branding serves.
const BrandingPrefix = "/branding/"

// Branding holds the files with which an organisation makes the portal its own: a style sheet that comes after ours, and a logo. They are
// served as ours are.
type Branding struct{ files assets }

// NewBranding holds these files by name; the end of a name gives its type: .css, .svg or .png.
func NewBranding(files map[string][]byte) *Branding {
	b := &Branding{assets{prefix: BrandingPrefix, byName: map[string]*asset{}}}
	for name, content := range files {
		b.files.add(name, func() []byte { return content })
	}
	return b
}

// Path gives the hashed address of a file, empty when there is none. A nil Branding has no files.
func (b *Branding) Path(name string) string {
	if b == nil {
		return ""
	}
	return b.files.path(name)
}

// ServeHTTP answers GET and HEAD under BrandingPrefix.
func (b *Branding) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.files.ServeHTTP(w, r) }
