// Package search draws the page of the search that every page has in its header: what was found, by kind, or what can be looked for.
// It shows what it is given: web/search leaves out what the reader may not see.
package search
