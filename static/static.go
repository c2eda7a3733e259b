// Package static holds the style sheets, scripts and images of the portal,
// embedded in the program, and serves them under addresses that carry a hash
// of their content.
//
// A hashed address never changes its bytes, so browsers may keep it for ever;
// the plain address /static/{name} works too and is checked again each time.
// Vendored files stand unchanged under vendor/, each folder with its licence
// and an ORIGIN.md. The package imports nothing else of the product.
package static

import (
	"embed"
	"net/http"
	"sync"
)

// Prefix is the path under which Handler serves.
const Prefix = "/static/"

// ContentSecurityPolicy is the header value that the pages of the portal are
// written for: nothing inline, nothing from elsewhere.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

//go:embed css js img vendor
var files embed.FS

// load builds the assets once; the embedded files cannot change afterwards.
var load = sync.OnceValue(func() *assets { return build(files) })

// Path gives the hashed address of a file, such as
// "/static/4f1c…/schakel.css". It panics for a name that does not exist: that
// is a mistake in a template, seen the first time the page is drawn.
func Path(name string) string {
	a, ok := load().byName[name]
	if !ok {
		panic("static: no file " + name)
	}
	return Prefix + a.hash + "/" + a.name
}

// Handler serves all files under Prefix, for GET and HEAD.
func Handler() http.Handler {
	return load()
}
