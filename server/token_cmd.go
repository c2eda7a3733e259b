package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"schakel/registry"
)

// TokenCmd gets an access token, for use with curl and the like (SEC-01, SEC-02).
type TokenCmd struct {
	ClientCredentials
	URL    string   `name:"url" required:"" placeholder:"URL" help:"Base address of the Schakel, as https://events.example.nl."`
	Scopes []string `name:"scope" help:"Scope that the token must have (repeatable). Default: all that the client has."`
}

// Help is what --help adds.
func (c *TokenCmd) Help() string {
	return "Prints the token alone, so that TOKEN=$(schakel token …) works. The scopes are " + strings.Join(registry.AllScopes(), ", ") + "."
}

// Validate checks what flags cannot say one by one.
func (c *TokenCmd) Validate() error {
	if err := checkPublishURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if c.ClientID == "" {
		return errors.New("--client-id is missing")
	}
	return nil
}

// Run prints the token.
func (c *TokenCmd) Run(ctx context.Context, streams Streams) error {
	m, err := c.machine("token", hostOf(c.URL), strings.Join(c.Scopes, " "))
	if err != nil {
		return err
	}
	a, err := m.fetchToken(ctx)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return refusedToken(a)
	}
	fmt.Fprintln(streams.Out, m.token)
	return nil
}
