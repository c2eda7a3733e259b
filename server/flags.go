package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/oinregister"
	"schakel/server/cli"
	"schakel/store/backup"
)

// DatabaseFlags locate the data.
type DatabaseFlags struct {
	cli.ConfigFlags
	Database      string `default:"sqlite:./data/schakel.db" help:"sqlite:PATH, or postgres://… when several nodes share the work."`
	SecretKeyFile string `default:"./data/schakel.key" help:"Key that encrypts secrets at rest; made when there is none. Keep a copy: without it stored secrets are lost."`
	KeyVariable   string `placeholder:"NAME" help:"Variable of the environment that holds that key, in place of a file."`
	KeyCommand    string `placeholder:"COMMAND" help:"Program, with its arguments, that prints that key, in place of a file: such as one that asks a key management service. No shell reads it."`
}

// keys returns the source of the keys of the vault.
func (f DatabaseFlags) keys() registry.KeySource {
	return registry.KeySource{File: f.SecretKeyFile, Variable: f.KeyVariable, Command: f.KeyCommand}
}

// CheckFlags checks what flags cannot say one by one.
func (f DatabaseFlags) CheckFlags() error {
	if f.KeyVariable != "" && f.KeyCommand != "" {
		return errors.New("give --key-variable or --key-command, not both")
	}
	if f.KeyCommand != "" && strings.TrimSpace(f.KeyCommand) == "" {
		return errors.New("--key-command must name a program")
	}
	return nil
}

// BackupFlags say for whom backups are encrypted. They are of schakel backup, and of serve for the sake of the file of --config.
type BackupFlags struct {
	BackupRecipients []string `name:"backup-recipient" placeholder:"AGE1…|FILE" help:"Encrypt what schakel backup writes for this age recipient, or for those of a file (repeatable). Default: backups are not encrypted."`
}

// CheckFlags checks what flags cannot say one by one.
func (f BackupFlags) CheckFlags() error {
	if _, err := backup.Recipients(f.BackupRecipients); err != nil {
		return fmt.Errorf("--backup-recipient: %w", err)
	}
	return nil
}

// OrganisationFlags identify the organisation that runs this Schakel.
type OrganisationFlags struct {
	Organisation    string   `default:"This organisation" help:"Name of the organisation that runs this Schakel, as partners read it."`
	OIN             string   `name:"oin" placeholder:"DIGITS" help:"Its OIN, 20 digits."`
	OINRegister     string   `name:"oin-register" placeholder:"FILE|URL" help:"List of organisations by OIN, CSV or JSON, that names of registrations are held against; read again each hour. Default: none."`
	Logo            string   `placeholder:"FILE" help:"Its logo for the header of pages: SVG or PNG, 256 kB at most. Default: that of Schakel. Read at the start."`
	ThemeCSS        string   `name:"theme-css" placeholder:"FILE" help:"Style sheet that pages load after ours, 256 kB at most; the variables to set are listed in /docs. Read at the start."`
	Language        string   `enum:"en,nl,nb" default:"en" help:"Language of pages and mails for whoever chose none and whose browser asks for none of ours: en (English), nl (Dutch) or nb (Norwegian bokmål)."`
	SecurityContact []string `placeholder:"ADDRESS" help:"Where a vulnerability of this installation is reported: an e-mail address, or an address with https: or tel: (repeatable, the preferred one first). Served at /.well-known/security.txt. Default: none, and no such file."`
	SecurityPolicy  string   `placeholder:"URL" help:"https address of what reporters of a vulnerability may expect, for /.well-known/security.txt."`
	TimeZone        string   `default:"UTC" placeholder:"ZONE" help:"IANA time zone of times on pages and in mails for whoever's is not known, as Europe/Amsterdam."`
}

// HTTPFlags set the addresses on which the program listens and at which it is reached.
type HTTPFlags struct {
	Addr           string         `default:":8080" help:"Where the portal and the APIs listen."`
	AdminAddr      string         `default:"127.0.0.1:8090" help:"Where /livez, /readyz, /metrics and the profiles of /debug/pprof/ listen; they have no login, so keep this private."`
	AdminTLSCert   string         `name:"admin-tls-cert" placeholder:"FILE" help:"PEM certificate chain for --admin-addr. Read again when it changes. Default: plain HTTP there."`
	AdminTLSKey    string         `name:"admin-tls-key" placeholder:"FILE" help:"PEM private key of --admin-tls-cert. Refused when others can read it, as --tls-key."`
	BaseURL        string         `placeholder:"URL" help:"Address at which others reach the portal, as https://events.example.nl. Default: http://localhost and the port of --addr."`
	TLSCert        string         `placeholder:"FILE" help:"PEM certificate chain. Read again when it changes."`
	TLSKey         string         `placeholder:"FILE" help:"PEM private key of --tls-cert. Refused when others can read it: mode 0600, or 0640 for a file of root and the group of this program."`
	HSTSSubdomains bool           `name:"hsts-subdomains" help:"Have browsers use https for all hosts below that of --base-url too (Strict-Transport-Security with includeSubDomains)."`
	TrustedProxy   []netip.Prefix `placeholder:"CIDR" help:"Proxy whose X-Forwarded-For is believed (repeatable). Default: none, the address of the connection counts."`

	ClientCertificateProxy []netip.Prefix `placeholder:"CIDR" help:"Trusted proxy that checks the certificates of callers and hands them on in Client-Cert (RFC 9440); it must take that header and Client-Cert-Chain away from what callers send (repeatable). Default: none, these headers are ignored."`
}

// MailFlags configure the mail server.
type MailFlags struct {
	SMTPHost         string `name:"smtp-host" placeholder:"HOST" help:"Mail server. Default: none, mails are kept but not sent; administrators read them in the portal and hand links over."`
	SMTPPort         int    `name:"smtp-port" default:"587" help:"Port of the mail server."`
	SMTPTLS          string `name:"smtp-tls" enum:"starttls,implicit,none" default:"starttls" help:"starttls, implicit (TLS from the first byte) or none (a server on this machine)."`
	SMTPUser         string `name:"smtp-user" placeholder:"NAME" help:"User name at the mail server."`
	SMTPPasswordFile string `name:"smtp-password-file" placeholder:"FILE" help:"File that holds the password. Refused when others can read it, as --tls-key."`
	SMTPCertificate  string `name:"smtp-certificate" placeholder:"FILE" help:"PEM certificate that the mail server is shown when it asks who sends, with its intermediates. Read again when it changes."`
	SMTPKey          string `name:"smtp-key" placeholder:"FILE" help:"PEM private key of --smtp-certificate. Refused when others can read it, as --tls-key."`
	SMTPCA           string `name:"smtp-ca" placeholder:"FILE" help:"PEM file with the roots that the certificate of the mail server is checked against. Default: those of the system."`
	SMTPFrom         string `name:"smtp-from" placeholder:"ADDRESS" help:"Sender of the mails. Required with --smtp-host."`
}

// OIDCFlags configure login with OpenID Connect beside the local accounts.
type OIDCFlags struct {
	OIDCIssuer           string   `name:"oidc-issuer" placeholder:"URL" help:"Issuer of the OpenID provider. Default: none, local accounts only."`
	OIDCClientID         string   `name:"oidc-client-id" placeholder:"ID" help:"Our client id at the provider."`
	OIDCClientSecretFile string   `name:"oidc-client-secret-file" placeholder:"FILE" help:"File that holds our client secret at the provider. Refused when others can read it, as --tls-key."`
	OIDCLabel            string   `name:"oidc-label" default:"single sign-on" help:"What the login button calls the provider."`
	OIDCScopes           []string `name:"oidc-scope" default:"openid,email,profile" help:"Scopes to ask for."`
	OIDCAdminEmails      []string `name:"oidc-admin-email" placeholder:"ADDRESS" help:"Verified e-mail address that becomes administrator at its first login (repeatable)."`
	OIDCAdminClaim       string   `name:"oidc-admin-claim" placeholder:"CLAIM=VALUE" help:"Claim that makes someone administrator at the first login, as groups=schakel-admins."`
	OIDCProviders        []string `name:"oidc-provider" placeholder:"FILE" help:"YAML file that describes an OpenID provider where people log in too (repeatable); /docs/logins lists what it holds."`
	LocalAccounts        string   `enum:"on,administrators,off" default:"on" help:"Who logs in with a password: everybody (on), administrators alone, or nobody (off) but the break-glass account."`
	ExactCodes           bool     `help:"Take a code of an authenticator app in its own 30 seconds alone (ASVS 6.5.5). Default: 30 seconds early or late too, for phones whose clock is off."`
	BreakGlass           string   `name:"break-glass-account" placeholder:"ADDRESS" help:"E-mail address of the one account that logs in with a password also with --local-accounts=off; the administrators are alerted when it does."`
}

// LimitFlags bound what one request may carry.
type LimitFlags struct {
	MaxEventBytes    int64 `default:"65536" help:"Unless the settings in the portal say otherwise: largest event, in bytes. Below 65536 is refused: receivers must take that much."`
	MaxBatchBytes    int64 `default:"1048576" help:"Unless the settings in the portal say otherwise: largest batch of events, in bytes."`
	MaxBatchEvents   int   `default:"100" help:"Unless the settings in the portal say otherwise: most events in a batch."`
	MaxDocumentBytes int64 `default:"16777216" help:"Largest contract document, in bytes."`
	MaxCustomBytes   int64 `default:"21474836480" help:"Most bytes kept of the mutation downloads that a partner asked for: of each request its manifest, its geofilter and 4096 besides, and each file once; the oldest make room."`
}

// CheckFlags checks what flags cannot say one by one.
func (f HTTPFlags) CheckFlags() error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	if (f.AdminTLSCert == "") != (f.AdminTLSKey == "") {
		return errors.New("--admin-tls-cert and --admin-tls-key go together")
	}
	for _, p := range f.ClientCertificateProxy {
		if !slices.ContainsFunc(f.TrustedProxy, func(t netip.Prefix) bool { return t.Bits() <= p.Bits() && t.Contains(p.Addr()) }) {
			return fmt.Errorf("--client-certificate-proxy %s: name it with --trusted-proxy too", p)
		}
	}
	if f.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(f.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("--base-url must be an http or https address, as https://events.example.nl")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("--base-url must have no path, query, fragment or user name")
	}
	return nil
}

// baseURL returns the address others use, without a slash at the end.
func (f HTTPFlags) baseURL() (*url.URL, error) {
	if f.BaseURL != "" {
		u, err := url.Parse(strings.TrimRight(f.BaseURL, "/"))
		if err != nil {
			return nil, fmt.Errorf("base URL: %w", err)
		}
		return u, nil
	}
	_, port, err := net.SplitHostPort(f.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	scheme := "http"
	if f.TLSCert != "" {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort("localhost", port)}, nil
}

// CheckFlags checks what flags cannot say one by one.
func (f OrganisationFlags) CheckFlags() error {
	if _, err := f.branding(); err != nil {
		return err
	}
	if err := f.checkRegister(); err != nil {
		return err
	}
	if _, err := f.security(); err != nil {
		return err
	}
	_, err := f.zone()
	return err
}

// checkRegister refuses a file of OINs that cannot be read. What an address gives is known when it is needed.
func (f OrganisationFlags) checkRegister() error {
	if f.OINRegister == "" || oinregister.IsAddress(f.OINRegister) {
		return nil
	}
	content, err := os.ReadFile(f.OINRegister)
	if err == nil {
		_, err = oinregister.Parse(content)
	}
	if err != nil {
		return fmt.Errorf("--oin-register: %w", err)
	}
	return nil
}

// zone is the time zone of the organisation.
func (f OrganisationFlags) zone() (*time.Location, error) {
	if f.TimeZone == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(f.TimeZone)
	if err != nil || f.TimeZone == "Local" {
		return nil, fmt.Errorf("--time-zone: there is no time zone %q; name one of the IANA database, as Europe/Amsterdam", f.TimeZone)
	}
	return zone, nil
}

// CheckFlags checks what flags cannot say one by one.
func (f LimitFlags) CheckFlags() error {
	if f.MaxEventBytes < 65536 {
		return errors.New("--max-event-bytes must be at least 65536")
	}
	if f.MaxBatchBytes < f.MaxEventBytes {
		return errors.New("--max-batch-bytes must be at least --max-event-bytes")
	}
	if f.MaxDocumentBytes < 65536 {
		return errors.New("--max-document-bytes must be at least 65536")
	}
	if f.MaxCustomBytes < 1<<20 {
		return errors.New("--max-custom-bytes must be at least 1048576")
	}
	return nil
}
