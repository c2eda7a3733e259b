package mutationcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"

	"schakel/delivery/mutation/replica"
	"schakel/server/cli"
	"schakel/server/release"
)

// formatName matches the names of formats at PDOK's APIs.
var formatName = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]{0,39}$`)

// FollowSourceFlags name the source that is followed, and the client that reads it.
type FollowSourceFlags struct {
	Credentials
	URL          string   `name:"url" placeholder:"URL" help:"Dataset at a download API, as https://host/mutations/v1/datasets/bgt."`
	From         string   `placeholder:"PATH" help:"Folder with zips and their manifests, one zip, or - for a zip on standard input."`
	Kind         string   `enum:"auto,schakel,pdok" default:"auto" help:"How the API speaks: schakel, pdok, or auto to find out."`
	Subscription string   `placeholder:"ID" help:"Schakel: which subscription to follow, for who has several to the dataset. Default: the oldest."`
	Format       string   `placeholder:"NAME" help:"PDOK: format to ask for, such as citygml, gmllight, stufgeo or gml. Default: that of the copy, or for a new one what the source describes in its openapi.json, or else the first of citygml, gml, gmllight and stufgeo that it takes."`
	FeatureTypes []string `name:"featuretypes" placeholder:"TYPE" help:"PDOK: feature types to ask for. Default: those of the copy, or for a new one all that the source has."`
	Geofilter    string   `placeholder:"WKT" help:"PDOK: polygon to ask for, in EPSG:28992. What comes is a little more, of which the copy keeps what lies in the polygon, or in --area, and what has no geometry."`
	Predefined   string   `placeholder:"NAME" help:"PDOK: predefined download to take, as bgt-citygml-nl-delta, in place of custom ones."`
}

// CheckFlags checks what flags cannot say one by one.
func (f *FollowSourceFlags) CheckFlags() error {
	if (f.URL == "") == (f.From == "") {
		return errors.New("give either --url or --from")
	}
	if f.Predefined != "" && (f.Geofilter != "" || len(f.FeatureTypes) > 0) {
		return errors.New("--predefined is everything: it does not go with --geofilter or --featuretypes")
	}
	if f.Predefined != "" && f.Format != "" {
		return errors.New("--predefined names a file, which has its format: it does not go with --format")
	}
	if f.Format != "" && !formatName.MatchString(f.Format) {
		return fmt.Errorf("--format: %.40q is no name of a format, such as citygml", f.Format)
	}
	if f.URL == "" {
		return nil
	}
	if err := cli.CheckURL(f.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

// open makes the source.
func (f *FollowSourceFlags) open(ctx context.Context, stdin io.Reader, log *slog.Logger) (replica.Source, error) {
	switch {
	case f.From == "-":
		return replica.NewStream(stdin), nil
	case f.From != "":
		return replica.NewFolder(f.From)
	}
	token, err := f.tokens("follow", f.URL, "mutations.read")
	if err != nil {
		return nil, err
	}
	return replica.NewRemote(ctx, replica.RemoteOptions{
		URL: f.URL, Kind: replica.Kind(f.Kind), Token: token, Agent: "schakel-follow/" + release.Current().Version,
		Subscription: f.Subscription, Format: f.Format, FeatureTypes: f.FeatureTypes, GeoFilter: f.Geofilter, Predefined: f.Predefined, Now: cli.Clock, Log: log,
	})
}
