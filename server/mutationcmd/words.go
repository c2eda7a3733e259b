package mutationcmd

import (
	"schakel/delivery/mutation/archive"
	"schakel/server/cli"
)

// countsText writes the number of groups and of their mutations by kind.
func countsText(k archive.Counts) string {
	return cli.Plural(k.Groups, "group", "groups") + ": " + cli.Plural(k.Adds, "add", "adds") + ", " + cli.Plural(k.Changes, "change", "changes") + ", " +
		cli.Plural(k.Deletes, "delete", "deletes")
}

// areIn writes how many groups are in.
func areIn(groups int64) string { return cli.Plural(groups, "group is", "groups are") + " in" }
