package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"schakel/registry/identity/token"
)

// ClientCredentials name the machine client of a Schakel as which a command acts.
type ClientCredentials struct {
	ClientID         string `placeholder:"ID" help:"Machine client to get an access token for."`
	ClientKeyFile    string `placeholder:"FILE" help:"File that holds its private key (JWK or PEM), for private_key_jwt. Refused when others can read it: mode 0600."`
	ClientSecret     string `placeholder:"SECRET" help:"Its secret, where the Schakel allows secrets; better in SCHAKEL_CLIENT_SECRET or --client-secret-file, where other users cannot see it."`
	ClientSecretFile string `placeholder:"FILE" help:"File that holds the secret. Refused when others can read it: mode 0600."`
	TokenURL         string `name:"token-url" placeholder:"URL" help:"Token endpoint. Default: /oauth/token at the host of --url."`
	TokenAudience    string `name:"token-audience" placeholder:"URL" help:"Token endpoint as the Schakel itself names it, for which the key signs. Default: --token-url. Give it when the Schakel is called by another address than its base URL."`
}

// CheckFlags checks what flags cannot say one by one.
func (f *ClientCredentials) CheckFlags() error {
	if f.ClientKeyFile != "" && (f.ClientSecret != "" || f.ClientSecretFile != "") {
		return errors.New("a client has a key or a secret: give --client-key-file or a secret, not both")
	}
	if (f.ClientKeyFile != "" || f.ClientSecret != "" || f.ClientSecretFile != "") && f.ClientID == "" {
		return errors.New("--client-id is missing: say which client has this key or secret")
	}
	if f.TokenURL == "" {
		return nil
	}
	if err := CheckURL(f.TokenURL); err != nil {
		return fmt.Errorf("--token-url: %w", err)
	}
	return nil
}

// Machine makes a machine that calls a Schakel as this client with a scope. base is the address of the Schakel without a path.
func (f *ClientCredentials) Machine(agent, base, scope string) (*Machine, error) {
	m := NewMachine(agent, base, f.TokenURL)
	m.ID, m.secret, m.scope, m.audience = f.ClientID, f.ClientSecret, scope, cmp.Or(f.TokenAudience, m.tokenURL)
	var err error
	if f.ClientSecretFile != "" {
		m.secret, err = ReadSecretFile(f.ClientSecretFile)
	}
	if f.ClientKeyFile != "" {
		m.key, err = ReadClientKey(f.ClientKeyFile)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ReadClientKey reads the private key of a client. A file that others can read is refused.
func ReadClientKey(path string) (*token.ClientKey, error) {
	text, err := ReadSecretFile(path)
	if err != nil {
		return nil, err
	}
	key, err := token.ReadClientKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &key, nil
}

// WriteKeyFile writes a private key that only the owner may read. It never replaces a file.
func WriteKeyFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write private key: %w", err)
	}
	_, err = file.WriteString(text + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write private key: %w", err)
	}
	return nil
}
