// Package search draws the page of the search that every page has in its header.
package search
