package mutationcmd

import (
	"schakel/delivery/mutation/archive"
	"schakel/server/cli"
)

// countsText is how many groups there are, and of what.
func countsText(k archive.Counts) string {
	return cli.Plural(k.Groups, "group", "groups") + ": " + cli.Plural(k.Adds, "add", "adds") + ", " + cli.Plural(k.Changes, "change", "changes") + ", " +
		cli.Plural(k.Deletes, "delete", "deletes")
}

// areIn says how many groups are in.
func areIn(groups int64) string { return cli.Plural(groups, "group is", "groups are") + " in" }
