package mutationcmd

import (
	"context"
	"net/http"

	"schakel/server/cli"
)

// Credentials identify the caller of an API of mutation files.
type Credentials struct {
	cli.ClientCredentials
	Token     string `placeholder:"TOKEN" help:"Access token, in place of --client-id; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it."`
	TokenFile string `placeholder:"FILE" help:"File that holds the token. Refused when others can read it: mode 0600."`
}

// tokenSource fetches access tokens; renew asks for another than the last.
type tokenSource func(ctx context.Context, renew bool) (string, error)

// tokens returns a source of access tokens with a scope for the host of an address; nil when none is sent.
func (f *Credentials) tokens(agent, address, scope string) (tokenSource, error) {
	fixed := f.Token
	var err error
	if f.TokenFile != "" {
		if fixed, err = cli.ReadSecretFile(f.TokenFile); err != nil {
			return nil, err
		}
	}
	if fixed != "" {
		return func(context.Context, bool) (string, error) { return fixed, nil }, nil
	}
	if f.ClientID == "" {
		return nil, nil
	}
	m, err := f.Machine(agent, cli.HostOf(address), scope)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, renew bool) (string, error) {
		if m.Token != "" && !renew {
			return m.Token, nil
		}
		a, err := m.FetchToken(ctx)
		if err == nil && a.Status != http.StatusOK {
			err = cli.RefusedToken(a)
		}
		return m.Token, err
	}, nil
}
