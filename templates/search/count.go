package search

import (
	"context"

	"schakel/templates/i18n"
)

// count writes how many were found, with a plus sign when there are more.
func (g Group) count(ctx context.Context) string {
	if g.More != "" {
		return i18n.Count(ctx, len(g.Hits)) + "+"
	}
	return i18n.Count(ctx, len(g.Hits))
}
