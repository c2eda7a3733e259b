package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"schakel/delivery/mutation/follow"
)

// MutationCredentials say as whom an API of mutation files is called.
type MutationCredentials struct {
	Token            string `placeholder:"TOKEN" help:"Access token; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it."`
	TokenFile        string `placeholder:"FILE" help:"File that holds the token."`
	ClientID         string `placeholder:"ID" help:"Client to get an access token for, in place of --token."`
	ClientSecret     string `placeholder:"SECRET" help:"Its secret; better in SCHAKEL_CLIENT_SECRET or --client-secret-file."`
	ClientSecretFile string `placeholder:"FILE" help:"File that holds the secret."`
	TokenURL         string `name:"token-url" placeholder:"URL" help:"Token endpoint. Default: /oauth/token at the host of --url."`
}

// Validate checks what flags cannot say one by one.
func (f *MutationCredentials) Validate() error {
	if f.TokenURL == "" {
		return nil
	}
	if err := checkPublishURL(f.TokenURL); err != nil {
		return fmt.Errorf("--token-url: %w", err)
	}
	return nil
}

// tokenSource fetches access tokens; renew asks for another than the last.
type tokenSource func(ctx context.Context, renew bool) (string, error)

// tokenRefused is the status with which a token endpoint gave no token.
type tokenRefused int

// Error implements error.
func (s tokenRefused) Error() string {
	text := fmt.Sprintf("the token endpoint answers with status %d", int(s))
	switch {
	case temporary(int(s)):
	case s == http.StatusBadRequest || s == http.StatusUnauthorized || s == http.StatusForbidden:
		text += ": look at the id and the secret of the client, and whether it may have this scope"
	default:
		text += ": look at --token-url, or leave the client out where no token is asked"
	}
	return text
}

// Is tells a follower that asking again makes no difference.
func (s tokenRefused) Is(target error) bool { return target == follow.ErrAccess && !temporary(int(s)) }

// tokens gives what fetches access tokens with a scope for the host of an address; nil when none is sent.
func (f *MutationCredentials) tokens(agent, address, scope string) (tokenSource, error) {
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
	m := newMachine(agent, hostOf(address), f.TokenURL)
	m.id, m.secret, m.scope = f.ClientID, f.ClientSecret, scope
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
			err = tokenRefused(a.status)
		}
		return m.token, err
	}, nil
}

// noToken tells whether an error is that there will be no token, however often it is asked for.
func noToken(err error) bool {
	status, ok := errors.AsType[tokenRefused](err)
	return ok && !temporary(int(status))
}

// hostOf is an address without its path.
func hostOf(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
