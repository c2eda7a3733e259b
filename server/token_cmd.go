package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"schakel/registry/identity"
	"schakel/server/cli"
)

// TokenCmd gets an access token, for use with curl and the like (SEC-01, SEC-02).
type TokenCmd struct {
	cli.ClientCredentials
	URL    string   `name:"url" required:"" placeholder:"URL" help:"Base address of the Schakel, as https://events.example.nl."`
	Scopes []string `name:"scope" help:"Scope that the token must have (repeatable). Default: all that the client has."`
}

// Help implements kong.HelpProvider.
func (c *TokenCmd) Help() string {
	return "Prints the token alone, so that TOKEN=$(schakel token …) works. The scopes are " + strings.Join(identity.AllScopes(), ", ") + "."
}

// CheckFlags checks what flags cannot say one by one.
func (c *TokenCmd) CheckFlags() error {
	if err := cli.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if c.ClientID == "" {
		return errors.New("--client-id is missing")
	}
	return nil
}

// Run prints the token.
func (c *TokenCmd) Run(ctx context.Context, streams cli.Streams) error {
	m, err := c.Machine("token", cli.HostOf(c.URL), strings.Join(c.Scopes, " "))
	if err != nil {
		return err
	}
	a, err := m.FetchToken(ctx)
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return cli.RefusedToken(a)
	}
	fmt.Fprintln(streams.Out, m.Token)
	return nil
}
