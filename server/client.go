package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/services"
	"schakel/server/cli"
	"schakel/store"
)

// ClientCmd holds the commands for machine clients. They write to the database
// directly, also while the program runs.
type ClientCmd struct {
	Add    ClientAddCmd    `cmd:"" help:"Make a client and print its id and, this once, its private key or secret."`
	List   ClientListCmd   `cmd:"" help:"List the clients of the own organisation, or of a partner."`
	Revoke ClientRevokeCmd `cmd:"" help:"End a client for good; its tokens stop working within seconds."`
	NewKey ClientNewKeyCmd `cmd:"" help:"Sign access tokens with a new key, or our client assertions with one that has a certificate. What was signed before stays valid until it ends."`
}

// RegistryFlags locate the data for commands that use the register.
type RegistryFlags struct {
	DatabaseFlags
	BaseURL string `default:"http://localhost:8080" help:"Address at which others reach the portal."`
}

// withRegistry opens the register for one command, as the program itself.
func (f RegistryFlags) withRegistry(ctx context.Context, log *slog.Logger, do func(*services.Services) error) error {
	db, err := openStore(ctx, f.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	own, err := db.OwnPartner(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return errors.New("this database does not know the own organisation yet: start schakel serve once")
	}
	if err != nil {
		return fmt.Errorf("find own organisation: %w", err)
	}
	accounts, err := identity.NewAccounts(db, cli.Clock)
	if err != nil {
		return err
	}
	flags := registryFlags{keys: f.keys(), baseURL: f.BaseURL, organisation: own.Name}
	cfg, err := registryConfig(ctx, db, outbound.New(outbound.Config{}), flags, log)
	if err != nil {
		return err
	}
	cfg.Certificates, cfg.ClientTLS = true, true // whether serve asks for them is not known here
	services, err := services.New(cfg, accounts)
	if err != nil {
		return err
	}
	return do(services)
}

// ClientAddCmd makes a client.
type ClientAddCmd struct {
	RegistryFlags
	Name       string   `arg:"" help:"Name that people know it by."`
	Partner    string   `placeholder:"ID" help:"Partner it belongs to. Default: the own organisation."`
	Scopes     []string `name:"scope" default:"events.publish" help:"What it may do (repeatable)."`
	Types      []string `name:"publish-type" placeholder:"TYPE" help:"Event type it may publish, or a prefix as nl.example.* (repeatable)."`
	Sources    []string `name:"publish-source" placeholder:"URI" help:"Source it may publish from, or a prefix as urn:example:* (repeatable)."`
	Reason     string   `help:"Why it may publish from a source with the OIN of another organisation; it stands in the audit trail."`
	AuthMethod string   `enum:"client_secret_basic,client_secret_post,private_key_jwt,tls_client_auth" default:"private_key_jwt" help:"How it authenticates: private_key_jwt, tls_client_auth where serve has --client-ca, or client_secret_basic or client_secret_post where the settings allow secrets."`
	JWKSFile   string   `name:"jwks-file" placeholder:"FILE" help:"Its public keys (JWK Set), with private_key_jwt. Default: a new key pair."`
	Subject    string   `name:"certificate-subject" placeholder:"DN" help:"Subject that its certificates must have, as CN=…,O=…,C=NL. Default: any with the OIN of its organisation as serialNumber."`
	Bound      bool     `name:"certificate-bound" help:"Its access tokens work with its certificate alone."`
	DPoP       bool     `name:"dpop-bound" help:"Its access tokens work with a proof of its key alone (DPoP, RFC 9449)."`
	ByChain    bool     `name:"certificate-keys" help:"With private_key_jwt: a key counts that comes with a certificate of its organisation in the assertion (x5c), so that it can renew keys by itself."`
	KeyFile    string   `name:"key-file" placeholder:"FILE" help:"Where the private key of a new key pair is written, as JWK, or as PEM when the name ends in .pem. Default: printed, this once."`
}

// CheckFlags checks what flags cannot say one by one.
func (c *ClientAddCmd) CheckFlags() error {
	if c.AuthMethod != token.PrivateKeyJWT && (c.JWKSFile != "" || c.KeyFile != "") {
		return errors.New("--jwks-file and --key-file go with --auth-method private_key_jwt")
	}
	if c.JWKSFile != "" && c.KeyFile != "" {
		return errors.New("--jwks-file brings your own public keys, --key-file asks for a new key pair: give one of them")
	}
	return nil
}

// Run makes the client. Its secret or private key is printed here, or written to the file that was named, and nowhere else.
func (c *ClientAddCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	in := identity.NewClient{
		Name: c.Name, AuthMethod: c.AuthMethod, Scopes: c.Scopes, PublishTypes: c.Types, PublishSources: c.Sources, SourceReason: c.Reason,
		CertificateSubject: c.Subject, CertificateBound: c.Bound, DPoPBound: c.DPoP, CertificateKeys: c.ByChain,
	}
	pair, err := c.keys(&in)
	if err != nil {
		return err
	}
	return c.withRegistry(ctx, log, func(s *services.Services) error {
		client, secret, err := s.Clients.Create(ctx, registry.SystemActor(), c.Partner, in)
		if err != nil {
			if c.KeyFile != "" {
				_ = os.Remove(c.KeyFile) // a key without a client is of no use
			}
			return withFields(err)
		}
		fmt.Fprintf(streams.Out, "client id: %s\n", client.ID)
		switch {
		case secret != "":
			fmt.Fprintf(streams.Out, "client secret: %s\n", secret)
		case c.KeyFile != "":
			fmt.Fprintf(streams.Out, "private key: in %s; it is stored nowhere else\n", c.KeyFile)
		case pair.Private != "":
			fmt.Fprintf(streams.Out, "private key, shown this once:\n%s\n", pair.Private)
		}
		return nil
	})
}

// keys puts the public keys into what is asked: those of a file, or of a new key pair, which it answers.
func (c *ClientAddCmd) keys(in *identity.NewClient) (pair token.KeyPair, err error) {
	switch {
	case c.JWKSFile != "":
		var keys []byte
		if keys, err = os.ReadFile(c.JWKSFile); err != nil {
			return pair, fmt.Errorf("read public keys: %w", err)
		}
		in.JWKS = string(keys)
	case c.AuthMethod == token.PrivateKeyJWT && (!c.ByChain || c.KeyFile != ""):
		if pair, err = token.NewKeyPair(); err != nil {
			return pair, err
		}
		in.JWKS = pair.Public
	}
	if c.KeyFile == "" {
		return pair, nil
	}
	text := pair.Private
	if strings.HasSuffix(c.KeyFile, ".pem") {
		text = strings.TrimSpace(pair.PEM)
	}
	return pair, cli.WriteKeyFile(c.KeyFile, text)
}

// ClientListCmd lists clients.
type ClientListCmd struct {
	RegistryFlags
	Partner string `placeholder:"ID" help:"Partner whose clients to list. Default: the own organisation."`
}

// Run prints a line a client.
func (c *ClientListCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withRegistry(ctx, log, func(s *services.Services) error {
		all, err := s.Clients.List(ctx, registry.SystemActor().Scope(), c.Partner)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tSTATUS\tSCOPES\tTYPES\tSOURCES")
		for _, k := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Status,
				strings.Join(k.Scopes, " "), strings.Join(k.PublishTypes, " "), strings.Join(k.PublishSources, " "))
		}
		return w.Flush()
	})
}

// ClientRevokeCmd ends a client.
type ClientRevokeCmd struct {
	RegistryFlags
	ID     string `arg:"" help:"Id of the client."`
	Reason string `default:"Revoked from the command line." help:"Reason, for the audit trail."`
}

// Run revokes the client.
func (c *ClientRevokeCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withRegistry(ctx, log, func(s *services.Services) error {
		if err := s.Clients.Revoke(ctx, registry.SystemActor(), c.ID, c.Reason); err != nil {
			return err
		}
		fmt.Fprintln(streams.Out, c.ID, "revoked")
		return nil
	})
}

// ClientNewKeyCmd makes another key sign the tokens of all clients.
type ClientNewKeyCmd struct {
	RegistryFlags
	Certificate string        `placeholder:"FILE" help:"PEM certificate of --key, with its chain: that key signs our own client assertions, with the certificate in x5c and in /oauth/jwks. Keys of access tokens stay as they are."`
	Key         string        `placeholder:"FILE" help:"PEM private key of --certificate, ECDSA on P-256 or RSA. Stored encrypted. Refused when others can read it: mode 0600."`
	After       time.Duration `help:"How long the key is published before it signs, so that receivers can learn it first; the one before signs until then."`
	Drop        bool          `name:"drop-certificate" env:"-" help:"Sign client assertions with the key of access tokens again."`
}

// CheckFlags checks what flags cannot say one by one.
func (c *ClientNewKeyCmd) CheckFlags() error {
	switch {
	case (c.Certificate == "") != (c.Key == ""):
		return errors.New("--certificate and --key go together")
	case c.Certificate != "" && c.Drop:
		return errors.New("--certificate gives a key, --drop-certificate takes it away: give one of them")
	case c.Certificate == "" && c.After != 0:
		return errors.New("--after goes with --certificate")
	}
	return nil
}

// Run makes the key (SEC-05). Nodes that run see it within seconds, and the earlier one stays in the key set for as long as
// its last token is valid.
func (c *ClientNewKeyCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withRegistry(ctx, log, func(s *services.Services) error {
		switch {
		case c.Drop:
			if err := s.SigningKeys.DropAssertionKeys(ctx, registry.SystemActor()); err != nil {
				return err
			}
			fmt.Fprintln(streams.Out, "Our client assertions are signed with the key of access tokens from now on.")
			return nil
		case c.Certificate != "":
			return c.addCertified(ctx, streams, s)
		}
		if err := s.SigningKeys.RotateSigningKey(ctx, registry.SystemActor()); err != nil {
			return err
		}
		fmt.Fprintln(streams.Out, "Access tokens are signed with a new key from now on.")
		return nil
	})
}

func (c *ClientNewKeyCmd) addCertified(ctx context.Context, streams cli.Streams, s *services.Services) error {
	if err := registry.CheckSecretFile(c.Key); err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return fmt.Errorf("read certificate and key: %w", err)
	}
	kid, err := s.SigningKeys.AddAssertionKey(ctx, registry.SystemActor(), pair, c.After)
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "Key %s is published at /oauth/jwks with its certificate, and signs our client assertions", kid)
	if c.After > 0 {
		fmt.Fprintf(streams.Out, " in %s", c.After)
	}
	fmt.Fprintln(streams.Out, ".")
	return nil
}

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
