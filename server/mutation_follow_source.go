package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"schakel/delivery/mutation/follow"
)

// FollowSourceFlags say what is followed, and as whom.
type FollowSourceFlags struct {
	MutationCredentials
	URL          string   `name:"url" placeholder:"URL" help:"Dataset at a download API, as https://host/mutations/v1/datasets/bgt."`
	From         string   `placeholder:"PATH" help:"Folder with zips and their manifests, one zip, or - for a zip on standard input."`
	Kind         string   `enum:"auto,schakel,pdok" default:"auto" help:"How the API speaks: schakel, pdok, or auto to find out."`
	Subscription string   `placeholder:"ID" help:"Schakel: which subscription to follow, for who has several to the dataset. Default: the oldest."`
	FeatureTypes []string `name:"featuretypes" placeholder:"TYPE" help:"PDOK: feature types to ask for. Default: all that the source tells."`
	Geofilter    string   `placeholder:"WKT" help:"PDOK: polygon to ask for, in EPSG:28992. What comes is a little more, of which the copy keeps what lies in the polygon, or in --area, and what has no geometry."`
	Predefined   string   `placeholder:"NAME" help:"PDOK: predefined download to take, as dkk-gml-nl, in place of custom ones."`
}

// Validate checks what flags cannot say one by one.
func (f *FollowSourceFlags) Validate() error {
	if (f.URL == "") == (f.From == "") {
		return errors.New("give either --url or --from")
	}
	if f.Predefined != "" && (f.Geofilter != "" || len(f.FeatureTypes) > 0) {
		return errors.New("--predefined is everything: it does not go with --geofilter or --featuretypes")
	}
	if f.URL == "" {
		return nil
	}
	if err := checkPublishURL(f.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

// open makes the source.
func (f *FollowSourceFlags) open(ctx context.Context, stdin io.Reader, log *slog.Logger) (follow.Source, error) {
	switch {
	case f.From == "-":
		return follow.NewStream(stdin), nil
	case f.From != "":
		return follow.NewFolder(f.From)
	}
	token, err := f.tokens("follow", f.URL, "mutations.read")
	if err != nil {
		return nil, err
	}
	return follow.NewRemote(ctx, follow.RemoteOptions{
		URL: f.URL, Kind: follow.Kind(f.Kind), Token: token, Agent: "schakel-follow/" + version,
		Subscription: f.Subscription, FeatureTypes: f.FeatureTypes, GeoFilter: f.Geofilter, Predefined: f.Predefined, Now: clock, Log: log,
	})
}
