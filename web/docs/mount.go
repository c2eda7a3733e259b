// Package docs serves the documentation at /docs, to everybody: guides in Markdown, rendered once at the start. It knows the
// content of none; links that lead nowhere are shown as text, and HTML in a guide too.
package docs

import "schakel/web/site"

// pages serves the guides.
type pages struct {
	*site.Portal
	guides guides
}

// Mount renders the guides and registers their pages; its error names the guide that cannot be read.
func Mount(p *site.Portal) error { return (&pages{Portal: p}).mountDocs() }
