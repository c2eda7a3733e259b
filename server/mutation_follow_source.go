package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"schakel/delivery/mutation/follow"
)

// FollowSourceFlags say what is followed, and as whom.
type FollowSourceFlags struct {
	URL              string   `name:"url" placeholder:"URL" help:"Dataset at a download API, as https://host/mutations/v1/datasets/bgt."`
	From             string   `placeholder:"PATH" help:"Folder with zips and their manifests, one zip, or - for a zip on standard input."`
	Kind             string   `enum:"auto,schakel,pdok" default:"auto" help:"How the API speaks: schakel, pdok, or auto to find out."`
	Token            string   `placeholder:"TOKEN" help:"Access token; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it."`
	TokenFile        string   `placeholder:"FILE" help:"File that holds the token."`
	ClientID         string   `placeholder:"ID" help:"Client to get an access token for, in place of --token."`
	ClientSecret     string   `placeholder:"SECRET" help:"Its secret; better in SCHAKEL_CLIENT_SECRET or --client-secret-file."`
	ClientSecretFile string   `placeholder:"FILE" help:"File that holds the secret."`
	TokenURL         string   `name:"token-url" placeholder:"URL" help:"Token endpoint. Default: /oauth/token at the host of --url."`
	FeatureTypes     []string `name:"featuretypes" placeholder:"TYPE" help:"PDOK: feature types to ask for. Default: all that the source tells."`
	Geofilter        string   `placeholder:"WKT" help:"PDOK: polygon to ask for, in EPSG:28992. What comes is a little more; --area keeps it exact."`
	Predefined       string   `placeholder:"NAME" help:"PDOK: predefined download to take, as dkk-gml-nl, in place of custom ones."`
}

// Validate checks what flags cannot say one by one.
func (f *FollowSourceFlags) Validate() error {
	if (f.URL == "") == (f.From == "") {
		return errors.New("give either --url or --from")
	}
	for name, raw := range map[string]string{"--url": f.URL, "--token-url": f.TokenURL} {
		if raw == "" {
			continue
		}
		if err := checkPublishURL(raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
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
	token, err := f.tokens()
	if err != nil {
		return nil, err
	}
	return follow.NewRemote(ctx, follow.RemoteOptions{
		URL: f.URL, Kind: follow.Kind(f.Kind), Token: token, Agent: "schakel-follow/" + version,
		FeatureTypes: f.FeatureTypes, GeoFilter: f.Geofilter, Predefined: f.Predefined, Now: clock, Log: log,
	})
}

// tokens gives what fetches access tokens; nil when none is sent.
func (f *FollowSourceFlags) tokens() (func(ctx context.Context, renew bool) (string, error), error) {
	fixed := f.Token
	var err error
	if f.TokenFile != "" {
		if fixed, err = readSecretFile(f.TokenFile); err != nil {
			return nil, err
		}
	}
	if fixed != "" {
		return func(context.Context, bool) (string, error) { return fixed, nil }, nil
	}
	if f.ClientID == "" {
		return nil, nil
	}
	m := newMachine("follow", hostOf(f.URL), f.TokenURL)
	m.id, m.secret, m.scope = f.ClientID, f.ClientSecret, "mutations.read"
	if f.ClientSecretFile != "" {
		if m.secret, err = readSecretFile(f.ClientSecretFile); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, renew bool) (string, error) {
		if m.token != "" && !renew {
			return m.token, nil
		}
		a, err := m.fetchToken(ctx)
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("the token endpoint answers with status %d", a.status)
		}
		return m.token, err
	}, nil
}

// hostOf is an address without its path.
func hostOf(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
