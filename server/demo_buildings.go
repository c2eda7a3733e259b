package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"schakel/registry/identity"
	"schakel/server/cli"
	"schakel/server/demo"
	"schakel/server/mutationcmd"
)

// How the demonstration of a dataset goes: something happens to a building every few seconds, a delta goes out each
// minute, and the copy is brought up to date a little less often, so that it is now and then behind.
const (
	buildingsPace  = 15 * time.Second
	buildingsFetch = 100 * time.Second
	buildingsRetry = 3 * time.Second
)

// buildings shows a dataset that changes and a copy that follows a part of it, and prints where to look.
func (d *demonstration) buildings(ctx context.Context, out io.Writer, log *slog.Logger) {
	feed := &demo.BuildingsFeed{
		System: &demo.Trickle{Base: d.a.base, Client: d.made.Buildings.Publisher, Scope: identity.ScopeMutationsPublish, Now: cli.Clock, Log: log},
		Every:  buildingsPace,
	}
	err := feed.Load(ctx)
	if err == nil {
		err = d.chainA.Datasets.AskSnapshot(ctx, d.chainA.Admin, demo.BuildingsID)
	}
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(out, "The dataset is not shown: %.400s\n", err.Error())
		}
		return
	}
	go feed.Run(ctx)
	copyAt := filepath.Join(d.dir, demo.BuildingsID+"-copy.db")
	who := d.made.Buildings.Follower
	fmt.Fprintf(out, "A dataset changes, and a partner's copy of its area follows: see %s/admin/datasets/%s. Follow it too with:\n"+
		"  SCHAKEL_CLIENT_SECRET=%s schakel mutations follow --url %s --client-id %s --database sqlite:copy.db\n",
		d.a.base, demo.BuildingsID, who.Secret, d.buildingsURL(), who.ID)
	d.follow(ctx, copyAt, log)
}

func (d *demonstration) buildingsURL() string {
	return d.a.base + "/mutations/v1/datasets/" + demo.BuildingsID
}

// follow keeps a copy as the partner would, with the command for that, until the context ends.
func (d *demonstration) follow(ctx context.Context, copyAt string, log *slog.Logger) {
	cmd := mutationcmd.Follow{
		CopyFlags: mutationcmd.CopyFlags{Database: "sqlite:" + copyAt},
		FollowSourceFlags: mutationcmd.FollowSourceFlags{
			URL: d.buildingsURL(), Kind: "auto",
			Credentials: mutationcmd.Credentials{ClientCredentials: cli.ClientCredentials{ClientID: d.made.Buildings.Follower.ID, ClientSecret: d.made.Buildings.Follower.Secret}},
		},
		FollowCopyFlags: mutationcmd.FollowCopyFlags{Match: "id", Verify: "off"},
		FollowAreaFlags: mutationcmd.FollowAreaFlags{CRS: 28992, GeometryElement: []string{"geometrie"}, OnReenter: "accept"},
	}
	for ctx.Err() == nil {
		pause := buildingsFetch
		if err := cmd.Run(ctx, cli.Streams{Out: io.Discard, Err: io.Discard}, slog.New(slog.DiscardHandler)); err != nil {
			log.DebugContext(ctx, "the copy of the demonstration waits", "error", err)
			pause = buildingsRetry
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
