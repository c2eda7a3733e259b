package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
	"schakel/web/site"
)

// providerFile is a file that describes an OpenID provider.
type providerFile struct {
	ID               string      `yaml:"id"`
	Issuer           string      `yaml:"issuer"`
	ClientID         string      `yaml:"client-id"`
	ClientSecretFile string      `yaml:"client-secret-file"`
	Label            string      `yaml:"label"`
	Scopes           []string    `yaml:"scopes"`
	OwnRedirect      bool        `yaml:"own-redirect"`
	UntypedLogout    bool        `yaml:"untyped-logout"`
	Require          []claimRule `yaml:"require"`
	Administrators   []claimRule `yaml:"administrators"`
	Partners         *struct {
		Claim string            `yaml:"claim"`
		By    string            `yaml:"by"`
		Map   map[string]string `yaml:"map"`
		Only  []string          `yaml:"only"`
		When  []claimRule       `yaml:"when"`
	} `yaml:"partners"`
}

type claimRule struct {
	Claim string `yaml:"claim"`
	Value string `yaml:"value"`
}

// readProvider reads the file of a provider, and checks it.
func readProvider(path string) (providerFile, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return providerFile{}, fmt.Errorf("--oidc-provider: %w", err)
	}
	f := providerFile{Label: "single sign-on", Scopes: []string{"openid", "email", "profile"}}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("--oidc-provider %s: %w", path, err)
	}
	if err := f.check(); err != nil {
		return f, fmt.Errorf("--oidc-provider %s: %w", path, err)
	}
	return f, nil
}

func (f providerFile) check() error {
	issuer, err := url.Parse(f.Issuer)
	rules := slices.Concat(f.Require, f.Administrators)
	switch {
	case f.ID == "" || !registry.AllOf(f.ID, "abcdefghijklmnopqrstuvwxyz0123456789-"):
		return errors.New("id is missing, or has other characters than a to z, digits and dashes")
	case err != nil || issuer.Host == "":
		return errors.New("issuer is missing, or no address")
	case f.ClientID == "":
		return errors.New("client-id is missing")
	case f.Partners == nil && len(f.Administrators) == 0:
		return errors.New("nobody can log in: neither administrators nor partners are there")
	}
	if p := f.Partners; p != nil {
		rules = append(rules, p.When...)
		if p.Claim == "" || !slices.Contains(identity.PartnerNumbers(), p.By) {
			return fmt.Errorf("partners needs a claim, and by with one of %s", strings.Join(identity.PartnerNumbers(), ", "))
		}
	}
	for _, r := range rules {
		if r.Claim == "" || r.Value == "" {
			return errors.New("a rule needs a claim and a value")
		}
	}
	return nil
}

func rulesOf(list []claimRule) (rules []site.ClaimRule) {
	for _, r := range list {
		rules = append(rules, site.ClaimRule(r))
	}
	return rules
}

func (f providerFile) config(client *http.Client) (site.OIDCConfig, error) {
	secret, err := cli.ReadSecretFile(f.ClientSecretFile)
	if err != nil {
		return site.OIDCConfig{}, fmt.Errorf("OpenID client secret of %s: %w", f.ID, err)
	}
	cfg := site.OIDCConfig{
		ID: f.ID, Issuer: f.Issuer, ClientID: f.ClientID, ClientSecret: secret, Label: f.Label, Scopes: f.Scopes,
		Require: rulesOf(f.Require), Administrators: rulesOf(f.Administrators), HTTP: client, OwnRedirect: f.OwnRedirect, UntypedLogout: f.UntypedLogout,
	}
	if p := f.Partners; p != nil {
		cfg.Partner = site.PartnerRule{Claim: p.Claim, By: p.By, Map: p.Map, Only: p.Only, When: rulesOf(p.When)}
	}
	return cfg, nil
}

// CheckFlags checks what flags cannot say one by one.
func (f OIDCFlags) CheckFlags() error {
	if f.OIDCIssuer != "" && f.OIDCClientID == "" {
		return errors.New("--oidc-client-id is required with --oidc-issuer")
	}
	if f.OIDCAdminClaim != "" && !strings.Contains(f.OIDCAdminClaim, "=") {
		return errors.New("--oidc-admin-claim must be CLAIM=VALUE")
	}
	ids := map[string]bool{}
	for _, path := range f.OIDCProviders {
		p, err := readProvider(path)
		if err != nil {
			return err
		}
		if ids[p.ID] {
			return fmt.Errorf("--oidc-provider %s: another provider has the id %s", path, p.ID)
		}
		ids[p.ID] = true
	}
	if f.LocalAccounts != registry.LocalOn && f.OIDCIssuer == "" && len(ids) == 0 {
		return errors.New("--local-accounts keeps people out who can log in nowhere else: set --oidc-issuer or --oidc-provider too")
	}
	if f.BreakGlass != "" && !registry.ValidEmail(registry.CleanEmail(f.BreakGlass)) {
		return fmt.Errorf("--break-glass-account: %q is no e-mail address", f.BreakGlass)
	}
	return nil
}

// issuers lists the addresses of the providers.
func (f OIDCFlags) issuers() (list []string) {
	if f.OIDCIssuer != "" {
		list = append(list, f.OIDCIssuer)
	}
	for _, path := range f.OIDCProviders {
		if p, err := readProvider(path); err == nil {
			list = append(list, p.Issuer)
		}
	}
	return list
}

// oidc configures login at providers: that of the flags, and those of files.
func (f OIDCFlags) oidc(client *http.Client) (list []site.OIDCConfig, err error) {
	if f.OIDCIssuer != "" {
		secret, err := cli.ReadSecretFile(f.OIDCClientSecretFile)
		if err != nil {
			return nil, fmt.Errorf("OpenID client secret: %w", err)
		}
		cfg := site.OIDCConfig{
			Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID, ClientSecret: secret, Label: f.OIDCLabel, Scopes: f.OIDCScopes,
			AdminEmails: f.OIDCAdminEmails, HTTP: client,
		}
		if claim, value, ok := strings.Cut(f.OIDCAdminClaim, "="); ok {
			cfg.Administrators = []site.ClaimRule{{Claim: claim, Value: value}}
		}
		list = append(list, cfg)
	}
	for _, path := range f.OIDCProviders {
		file, err := readProvider(path)
		if err != nil {
			return nil, err
		}
		cfg, err := file.config(client)
		if err != nil {
			return nil, err
		}
		list = append(list, cfg)
	}
	return list, nil
}

// breakGlass raises an alert as an event when the break-glass account was logged in to; the mail is queued with the login.
func (a *alerts) breakGlass(ctx context.Context, account store.Account) {
	now := a.now()
	err := a.tell(ctx, installation.AlertChange{What: installation.AlertRaised, Alert: installation.Alert{
		Code: "login-break-glass", Severity: installation.Warning, Text: "installation.break-glass", Remedy: "installation.break-glass-remedy", Since: now, Told: now,
	}})
	if err != nil {
		a.log.WarnContext(ctx, "an alert is not told as an event", "code", "login-break-glass", "account", account.ID, "error", err)
	}
}
