package main

import (
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/server/cli/clitest"
	"schakel/store"
)

// TestDownloadsAreWrittenWhenTheProgramStops: who fetched what waits some seconds to be written, and not longer than the
// program runs.
func TestDownloadsAreWrittenWhenTheProgramStops(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	admin := registry.SystemActor()
	_, err = p.registry.Contracts.Create(ctx, admin, contracts.ContractInput{ID: "schools", Kind: "openapi", Title: "Schools", Visibility: store.VisibilityPublic})
	must(t, err)
	draft, err := p.registry.Contracts.Upload(ctx, admin, "schools", contracts.Upload{Content: []byte(clitest.GoodContract)})
	must(t, err)
	_, err = p.registry.Contracts.Publish(ctx, admin, "schools", "1.0.0", contracts.PublishInput{Digest: draft.Digest})
	must(t, err)
	v, err := p.db.ContractVersion(ctx, "schools", "1.0.0")
	must(t, err)
	service := &downloads{noted: p.registry.Downloads, log: quiet()}
	must(t, service.Start(ctx))
	p.registry.Downloads.Note(v, contracts.Downloader{})
	must(t, service.Stop(ctx))
	n, err := p.db.AnonymousDownloads(ctx, v.ID, v.PublishedAt)
	if err != nil || n != 1 {
		t.Errorf("%d downloads are written, %v", n, err)
	}
}
