package cli

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
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
	if f.ClientID != "" && f.ClientKeyFile == "" && f.ClientSecret == "" && f.ClientSecretFile == "" {
		return errors.New("--client-key-file is missing: give the file with the private key of the client; of a client with a secret, that in SCHAKEL_CLIENT_SECRET or --client-secret-file")
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

// ReadSecretFile reads a secret of one line; an empty path is an empty secret. A file that others can read is refused.
func ReadSecretFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if err := registry.CheckSecretFile(path); err != nil {
		return "", fmt.Errorf("read secret file: %w", err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret file: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// OutboundFlags bound where the program itself may connect to.
type OutboundFlags struct {
	AllowOutbound []netip.Prefix  `placeholder:"CIDR" help:"Private or special range to which deliveries may go (repeatable). Default: none, only public addresses."`
	OutboundHosts []outbound.Host `placeholder:"HOST" help:"The only hosts that deliveries and all other requests go to, and brokers: api.example.nl, an address, or *.example.nl for all names below (repeatable). Default: none, every host."`
	PlainHTTP     bool            `name:"plain-http-loopback" help:"Also deliver over http:// to this machine itself: for measurements and demonstrations, never for real data."`
	CAFile        string          `name:"ca-file" placeholder:"FILE" help:"PEM file with the roots that partners' certificates are checked against. Default: those of the system."`

	// Servers, where it is set, remembers the certificates that the servers show to all clients.
	Servers *outbound.Servers `kong:"-"`
}

// Client makes the one guarded client that every outgoing request passes, but for those of mirrors. A request may take as long as
// an endpoint may say.
func (f OutboundFlags) Client() (*outbound.Client, error) {
	return f.Guard(outbound.Config{ResponseTimeout: partners.LongestTimeout})
}

// MirrorHTTP makes the guarded client that fetches from registers of others: to the same addresses as all others, but for
// answers of the size of a contract, or of a list of them.
func (f OutboundFlags) MirrorHTTP(document int64) (*http.Client, error) {
	guard, err := f.Guard(outbound.Config{MaxResponseBytes: max(document, 8<<20) + 1, ResponseTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	return guard.HTTPClient(), nil
}

// PublicHTTP makes the guarded client that fetches what documents of partners refer to: from public addresses alone, since
// their owners read the answers.
func (f OutboundFlags) PublicHTTP(document int64) (*http.Client, error) {
	f.AllowOutbound, f.PlainHTTP = nil, false
	return f.MirrorHTTP(document)
}

// RevocationHTTP makes the guarded client that asks issuers about their certificates; they answer over plain HTTP, signed.
func (f OutboundFlags) RevocationHTTP() (*http.Client, error) {
	guard, err := f.Guard(outbound.Config{MaxResponseBytes: 16<<20 + 1, AllowUnsigned: true})
	if err != nil {
		return nil, err
	}
	return guard.HTTPClient(), nil
}

// MaxAnswerBytes bounds the answer to a question that came by AMQP; no broker takes a longer message.
const MaxAnswerBytes = 16 << 20

// Asking makes the guarded client that asks endpoints of ours, whose answers go on to who asked.
func (f OutboundFlags) Asking() (*outbound.Client, error) {
	return f.Guard(outbound.Config{MaxResponseBytes: MaxAnswerBytes})
}

// Guard makes a guarded client by the flags.
func (f OutboundFlags) Guard(cfg outbound.Config) (*outbound.Client, error) {
	cfg.AllowPrefixes, cfg.Hosts, cfg.AllowPlainHTTP, cfg.Servers = f.AllowOutbound, f.OutboundHosts, f.PlainHTTP, f.Servers
	var err error
	if cfg.RootCAs, err = f.Roots(); err != nil {
		return nil, err
	}
	return outbound.New(cfg), nil
}

// Roots reads the roots of --ca-file; nil, those of the system, without the flag.
func (f OutboundFlags) Roots() (*x509.CertPool, error) { return ReadRoots(f.CAFile) }

// ReadRoots reads a PEM file of roots; nil, those of the system, for an empty path.
func ReadRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %s holds no PEM certificate", path)
	}
	return roots, nil
}
