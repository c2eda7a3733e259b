// Package docs holds the pages of the documentation: the index of guides, and a guide.
//
// Read turns a guide from Markdown into HTML once, when the program starts. Guides come from the repository, not from
// strangers; HTML in one is shown as text all the same, and a link that the caller does not resolve becomes its text.
package docs
