package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.yaml.in/yaml/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/cli"
)

// TokenIssuerFlags name other issuers of access tokens that our APIs take.
type TokenIssuerFlags struct {
	TokenIssuers []string `name:"token-issuer" placeholder:"FILE" help:"YAML file that describes another issuer whose access tokens the APIs take (repeatable); /docs/tokens lists what it holds. Default: none, tokens of this Schakel alone."`
}

// issuerFile is a file that describes a token issuer.
type issuerFile struct {
	ID               string   `yaml:"id"`
	Issuer           string   `yaml:"issuer"`
	Audience         []string `yaml:"audience"`
	AudienceOptional bool     `yaml:"audience-optional"`
	Types            []string `yaml:"types"`
	Algorithms       []string `yaml:"algorithms"`
	JWKSURI          string   `yaml:"jwks-uri"`
	Clients          struct {
		Claim []string `yaml:"claim"`
	} `yaml:"clients"`
	Scopes struct {
		Claim      string              `yaml:"claim"`
		Map        map[string][]string `yaml:"map"`
		FromClient bool                `yaml:"from-client"`
	} `yaml:"scopes"`
	Introspection *struct {
		Endpoint         string        `yaml:"endpoint"`
		Opaque           bool          `yaml:"opaque"`
		ClientID         string        `yaml:"client-id"`
		ClientSecretFile string        `yaml:"client-secret-file"`
		Cache            time.Duration `yaml:"cache"`
	} `yaml:"introspection"`
}

// readIssuer reads the file of a token issuer, and checks it. ours is the issuer of our own tokens, plain allows addresses without TLS.
func readIssuer(path, ours string, plain bool) (token.External, error) {
	x, err := parseIssuer(path)
	if err == nil {
		err = x.Check(ours, plain)
	}
	if err != nil {
		return x, fmt.Errorf("--token-issuer %s: %w", path, err)
	}
	return x, nil
}

func parseIssuer(path string) (x token.External, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return x, err
	}
	var f issuerFile
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return x, err
	}
	if f.ID == "" || len(f.ID) > 60 || !registry.AllOf(f.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") {
		return x, errors.New("id is missing, is longer than 60 characters, or has other characters than a to z, digits and dashes")
	}
	for _, from := range slices.Sorted(maps.Keys(f.Scopes.Map)) {
		for _, s := range f.Scopes.Map[from] {
			if !slices.Contains(identity.AllScopes(), s) {
				return x, fmt.Errorf("scopes: map: %s: there is no scope %q; there are %v", from, s, identity.AllScopes())
			}
		}
	}
	x = token.External{
		ID: f.ID, Issuer: f.Issuer, Audiences: f.Audience, AudienceOptional: f.AudienceOptional, Types: f.Types, JWKSURI: f.JWKSURI,
		ClientClaims: f.Clients.Claim, ScopeClaim: f.Scopes.Claim, Scopes: f.Scopes.Map, ClientScopes: f.Scopes.FromClient,
	}
	for _, alg := range f.Algorithms {
		x.Algorithms = append(x.Algorithms, jose.SignatureAlgorithm(alg))
	}
	if in := f.Introspection; in != nil {
		x.Introspection = &token.Introspection{Endpoint: in.Endpoint, Opaque: in.Opaque, ClientID: in.ClientID, Cache: in.Cache}
		if x.Introspection.ClientSecret, err = cli.ReadSecretFile(in.ClientSecretFile); err != nil {
			return x, fmt.Errorf("introspection: client-secret-file: %w", err)
		}
	}
	return x, nil
}

// externals reads all files.
func (f TokenIssuerFlags) externals(ours string, plain bool) (list []token.External, err error) {
	for _, path := range f.TokenIssuers {
		x, err := readIssuer(path, ours, plain)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(other token.External) bool { return other.ID == x.ID || other.Issuer == x.Issuer }) {
			return nil, fmt.Errorf("--token-issuer %s: another file has the same id or issuer", path)
		}
		list = append(list, x)
	}
	return list, nil
}

// issuerIDs names the issuers.
func (f TokenIssuerFlags) issuerIDs(ours string) (ids []string, err error) {
	list, err := f.externals(ours, true)
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return ids, err
}

// CheckFlags checks what flags cannot say one by one. Whether addresses may be without TLS is known when the program starts.
func (f TokenIssuerFlags) CheckFlags() error {
	_, err := f.externals("", true)
	return err
}

// issuerService says in /readyz which other token issuers cannot be asked; their tokens may be refused.
func issuerService(issuer *token.Issuer) Service {
	return funcService{name: "token-issuers", ready: func(ctx context.Context) error {
		if list := issuer.Troubles(ctx); len(list) > 0 {
			return warning(errors.Join(list...).Error())
		}
		return nil
	}}
}
