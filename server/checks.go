package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"schakel/delivery/endpointcheck"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/registry/installation"
	"schakel/registry/services"
	"schakel/server/cli"
	"schakel/store"
	"schakel/templates/i18n"
)

// newChecks makes what checks endpoints for the portal and the API.
func newChecks(db *store.DB, services *services.Services, guard *outbound.Client, encrypter *jwe.Service, certificate func(store.Endpoint) (*outbound.Certificate, time.Time, error), log *slog.Logger) *endpointcheck.Runner {
	return endpointcheck.NewRunner(endpointcheck.RunnerConfig{
		DB: db, Checker: endpointcheck.New(guard, assertionSigner{services.SigningKeys}, cli.Clock), Encrypter: encrypter, Open: services.Endpoints.TokenSecret, Certificate: certificate,
		Signatures: func(_ context.Context, e store.Endpoint) (webhook.Signatures, error) {
			keys, _, err := signKeys(services)(e)
			if err != nil {
				return webhook.Signatures{}, err
			}
			return webhook.NewSignatures(e.SignScheme, keys...)
		}, Now: cli.Clock, Log: log,
	})
}

// signKeys opens the keys that sign requests to an endpoint now, and says until when they do.
func signKeys(services *services.Services) func(store.Endpoint) ([]webhook.SignKey, time.Time, error) {
	return func(e store.Endpoint) (keys []webhook.SignKey, until time.Time, err error) {
		opened, err := services.Endpoints.SignKeys(e, cli.Clock())
		for _, k := range opened {
			keys = append(keys, webhook.SignKey{ID: k.ID, Algorithm: k.Algorithm, Secret: k.Secret})
			if !k.RetiresAt.IsZero() && (until.IsZero() || k.RetiresAt.Before(until)) {
				until = k.RetiresAt.Time
			}
		}
		return keys, until, err
	}
}

// checkService ends the checks that run when the program stops.
func checkService(checks *endpointcheck.Runner) Service {
	return funcService{name: "endpoint checks", stop: func(context.Context) error { checks.Close(); return nil }}
}

// CheckCmd holds a receiver of webhooks against the profile, as the portal does, for who develops one.
type CheckCmd struct {
	TokenURL         string        `name:"token-url" placeholder:"URL" help:"Token endpoint of the receiver. Default: none, and what concerns tokens is not tested."`
	ClientID         string        `placeholder:"ID" help:"Client that the token is asked for."`
	ClientSecretFile string        `placeholder:"FILE" help:"File that holds its secret; SCHAKEL_CLIENT_SECRET works too. Refused when others can read it: mode 0600."`
	ClientSecret     string        `placeholder:"SECRET" help:"The secret, better in SCHAKEL_CLIENT_SECRET or --client-secret-file, where other users cannot see it."`
	ClientKeyFile    string        `placeholder:"FILE" help:"File that holds its private key (JWK or PEM), for private_key_jwt."`
	Scope            string        `placeholder:"SCOPE" help:"Scope of the token."`
	TokenPost        bool          `help:"Send the secret in the body (client_secret_post) instead of the header."`
	Mode             string        `default:"structured" enum:"structured,binary" help:"Mode in which valid events are sent: structured or binary."`
	Batches          bool          `help:"The receiver takes batches, so that refusing one is a fault."`
	Event            string        `placeholder:"FILE" help:"File with an event as JSON that the receiver takes. Default: a test event."`
	Source           string        `default:"urn:schakel:check" placeholder:"URI" help:"Source of the test events."`
	Certificate      string        `placeholder:"FILE" help:"PEM client certificate, with its chain, that is shown to a receiver and token endpoint which ask for one."`
	Key              string        `placeholder:"FILE" help:"PEM private key of --certificate. Refused when others can read it: mode 0600."`
	CAFile           string        `name:"ca-file" placeholder:"FILE" help:"PEM file with the roots that the certificate is checked against. Default: those of the system."`
	Timeout          time.Duration `default:"30s" help:"How long an answer may take."`
	Language         string        `default:"en" enum:"en,nl,nb" help:"Language of the report: en, nl or nb."`
	JSON             bool          `name:"json" help:"Print the report as JSON."`
	URL              string        `arg:"" placeholder:"URL" help:"Address of the receiver. http:// works for this machine, as http://localhost:3000/."`
}

// CheckFlags checks what flags cannot say one by one.
func (c *CheckCmd) CheckFlags() error {
	switch {
	case cli.CheckURL(c.URL) != nil:
		return fmt.Errorf("the address of the receiver: %w", cli.CheckURL(c.URL))
	case (c.Certificate == "") != (c.Key == ""):
		return errors.New("--certificate and --key go together")
	case c.TokenURL == "" && (c.ClientID != "" || c.ClientSecret != "" || c.ClientSecretFile != "" || c.ClientKeyFile != ""):
		return errors.New("--token-url is missing: say where a token is asked")
	case c.TokenURL != "" && c.ClientID == "":
		return errors.New("--client-id is missing: say for which client a token is asked")
	case c.ClientKeyFile != "" && (c.ClientSecret != "" || c.ClientSecretFile != ""):
		return errors.New("a client has a key or a secret: give --client-key-file or a secret, not both")
	}
	return nil
}

// Run checks the receiver and prints the report. The exit code is 1 for a fault, 2 when nothing could be checked.
func (c *CheckCmd) Run(ctx context.Context, streams cli.Streams) error {
	report, err := c.check(ctx)
	if err != nil {
		return cli.PipelineError(err)
	}
	locale := i18n.NewLocale(i18n.Lang(c.Language), time.UTC)
	if c.JSON {
		err = cli.PrintJSON(streams.Out, endpointcheck.Shown(report, locale))
	} else {
		printCheck(streams.Out, report, locale)
	}
	if n := report.Count(endpointcheck.Fault); n > 0 && err == nil {
		err = cli.FoundError(locale.T("check.state.faults", n))
	}
	return cli.PipelineError(err)
}

func (c *CheckCmd) check(ctx context.Context) (endpointcheck.Report, error) {
	guard, err := cli.OutboundFlags{AllowOutbound: nearby(), PlainHTTP: true, CAFile: c.CAFile}.Guard(outbound.Config{UserAgent: "schakel-check/1"})
	if err != nil {
		return endpointcheck.Report{}, err
	}
	target := endpointcheck.Target{URL: c.URL, Mode: c.Mode, Batches: c.Batches, Timeout: c.Timeout, Source: c.Source}
	if c.Event != "" {
		if target.Event, err = os.ReadFile(c.Event); err != nil {
			return endpointcheck.Report{}, fmt.Errorf("read event: %w", err)
		}
	}
	if c.Certificate != "" {
		shown, err := loadCertificate(c.Certificate, c.Key, cli.Clock)
		if err != nil {
			return endpointcheck.Report{}, err
		}
		cert, err := shown.get(nil)
		if err != nil {
			return endpointcheck.Report{}, err
		}
		target.Certificate = &outbound.Certificate{ID: installation.Fingerprint(cert.Leaf), TLS: cert}
	}
	var signer webhook.Signer
	if c.TokenURL != "" {
		if target.Token, signer, err = c.token(); err != nil {
			return endpointcheck.Report{}, err
		}
	}
	if target.Token != nil {
		target.Token.Certificate = target.Certificate // a token may be bound to it
	}
	return endpointcheck.New(guard, signer, cli.Clock).Run(ctx, target)
}

// nearby are the ranges that the command may reach beside public ones: this machine and its network, which its user can reach anyway.
func nearby() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func (c *CheckCmd) token() (*webhook.TokenConfig, webhook.Signer, error) {
	cfg := &webhook.TokenConfig{TokenURL: c.TokenURL, ClientID: c.ClientID, Scope: c.Scope, AuthMethod: webhook.AuthBasic}
	if c.ClientKeyFile != "" {
		cfg.AuthMethod = webhook.AuthPrivateKey
		key, err := cli.ReadClientKey(c.ClientKeyFile)
		if err != nil {
			return nil, nil, err
		}
		var k webhook.SigningKey
		k.KID, k.Alg, k.Private = key.Signing()
		return cfg, fileSigner{k}, nil
	}
	if c.TokenPost {
		cfg.AuthMethod = webhook.AuthPost
	}
	secret, err := cli.ReadSecretFile(c.ClientSecretFile)
	cfg.Secret = webhook.Secret(cmp.Or(secret, c.ClientSecret))
	return cfg, nil, err
}

// fileSigner signs assertions with the key of a file.
type fileSigner struct{ key webhook.SigningKey }

// SigningKey implements webhook.Signer.
func (s fileSigner) SigningKey(context.Context) (webhook.SigningKey, error) { return s.key, nil }

// printCheck writes a report for a terminal.
func printCheck(w io.Writer, r endpointcheck.Report, l *i18n.Locale) {
	for _, f := range endpointcheck.Shown(r, l).Findings {
		level := ""
		if f.Level != "" {
			level = " (" + l.Of("check.level", string(f.Level)) + ")"
		}
		fmt.Fprintf(w, "%-10s %s%s [%s]\n", strings.ToUpper(l.Of("check.result", string(f.Result))), f.Title, level, f.Rule)
		if f.Result == endpointcheck.Pass {
			continue
		}
		fmt.Fprintf(w, "           %s\n", f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(w, "           %s %s\n", l.T("check.page.remedy"), f.Remedy)
		}
		if f.Result == endpointcheck.Untested {
			continue
		}
		for _, text := range []string{f.Sent, f.Received} {
			if text != "" {
				fmt.Fprintf(w, "           | %s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n           | "))
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", l.T("check.state.counts", r.Count(endpointcheck.Pass), r.Count(endpointcheck.Fault), r.Count(endpointcheck.Advice), r.Count(endpointcheck.Untested)))
}
