package main

import (
	"schakel/delivery/mutation/archive"
	"schakel/templates/ui"
)

// plural writes a number with its noun, as the portal does.
func plural(n int64, one, many string) string { return ui.Plural(int(n), one, many) }

// countsText is how many groups there are, and of what.
func countsText(k archive.Counts) string {
	return plural(k.Groups, "group", "groups") + ": " + plural(k.Adds, "add", "adds") + ", " + plural(k.Changes, "change", "changes") + ", " +
		plural(k.Deletes, "delete", "deletes")
}

// areIn says how many groups are in.
func areIn(groups int64) string { return plural(groups, "group is", "groups are") + " in" }
