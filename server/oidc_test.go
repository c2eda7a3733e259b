package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
)

// A file of a provider is read whole, and an error names what is wrong in it.
func TestProviderFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	const head = "id: chain\nissuer: https://login.example\nclient-id: schakel\n"
	const partners = "partners: {claim: org, by: oin, map: {noord: '1'}, only: ['1'], when: [{claim: roles, value: user}]}\n"
	write := func(text string) OIDCFlags {
		path := filepath.Join(dir, "provider.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return OIDCFlags{OIDCProviders: []string{path}, LocalAccounts: registry.LocalOff, BreakGlass: "anna@example.nl"}
	}
	good := write(head + "client-secret-file: " + secret + "\nrequire: [{claim: acr, value: high}]\nadministrators: [{claim: a.b, value: c}]\n" + partners)
	must(t, good.CheckFlags())
	list, err := good.oidc(http.DefaultClient)
	if err != nil || len(list) != 1 || list[0].ClientSecret != "s3cret" || list[0].Label == "" || list[0].Partner.Map["noord"] != "1" ||
		len(list[0].Require) != 1 || list[0].Administrators[0].Claim != "a.b" || list[0].Partner.When[0].Value != "user" || len(list[0].Scopes) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if got := good.issuers(); len(got) != 1 || got[0] != "https://login.example" {
		t.Errorf("issuers %v", got)
	}
	for text, want := range map[string]string{
		"":                                      "id is missing",
		head:                                    "nobody can log in",
		head + "colour: red\n":                  "colour",
		head + "partners: {claim: org}\n":       "one of oin",
		head + "administrators: [{claim: a}]\n": "a rule needs",
		"id: x\nissuer: nowhere\n":              "issuer",
	} {
		if err := write(text).CheckFlags(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	twice := write(head + partners)
	twice.OIDCProviders = append(twice.OIDCProviders, twice.OIDCProviders[0])
	for _, wrong := range []OIDCFlags{twice, {LocalAccounts: registry.LocalOff}, {LocalAccounts: registry.LocalOn, BreakGlass: "anna"}} {
		if wrong.CheckFlags() == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
