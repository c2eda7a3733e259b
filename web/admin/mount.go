// Package admin serves the pages of administrators about this Schakel itself: the overview, accounts, mails, routes between
// partners, the settings of the chain collaboration and the audit trail.
//
// All of it is behind the role of administrator, but for the mailbox of a demonstration. It changes nothing by itself: every
// change is a call of one method of the registry, which checks it and writes its audit entry.
package admin

import (
	"context"

	"schakel/templates/ui"
	"schakel/web/site"
)

// pages serves the pages; the tiles of the overview that another feature counts are given.
type pages struct {
	*site.Portal
	failedDownloads, failingDatasets func(context.Context) ([]ui.Tile, error)
}

// Mount registers the pages. The functions count the failed downloads and the failing datasets for the overview.
func Mount(p *site.Portal, failedDownloads, failingDatasets func(context.Context) ([]ui.Tile, error)) {
	(&pages{p, failedDownloads, failingDatasets}).mountAdmin()
}
