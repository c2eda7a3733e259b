package main

import (
	"context"
	"net/http"
	"strings"
)

// MutationCredentials say as whom an API of mutation files is called.
type MutationCredentials struct {
	ClientCredentials
	Token     string `placeholder:"TOKEN" help:"Access token, in place of --client-id; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it."`
	TokenFile string `placeholder:"FILE" help:"File that holds the token. Refused when others can read it: mode 0600."`
}

// tokenSource fetches access tokens; renew asks for another than the last.
type tokenSource func(ctx context.Context, renew bool) (string, error)

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
	m, err := f.machine(agent, hostOf(address), scope)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, renew bool) (string, error) {
		if m.token != "" && !renew {
			return m.token, nil
		}
		a, err := m.fetchToken(ctx)
		if err == nil && a.status != http.StatusOK {
			err = refusedToken(a)
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
