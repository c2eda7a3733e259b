package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file of a token issuer is read whole, and an error names the file and what is wrong in it.
func TestTokenIssuerFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	write := func(text string) TokenIssuerFlags {
		path := filepath.Join(dir, "issuer.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return TokenIssuerFlags{TokenIssuers: []string{path}}
	}
	const head = "id: chain\nissuer: https://login.example\n"
	good := write(head + "audience: [a, b]\nalgorithms: [PS256]\ntypes: [at+jwt, JWT]\nclients: {claim: [azp]}\nscopes: {claim: roles, map: {x: [events.publish]}}\n" +
		"introspection: {opaque: true, client-id: schakel, client-secret-file: " + secret + ", cache: 5s}\n")
	must(t, good.CheckFlags())
	list, err := good.externals("https://schakel.example", false)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	x := list[0]
	if x.Audiences[1] != "b" || x.Algorithms[0] != "PS256" || x.Types[1] != "jwt" || x.ClientClaims[0] != "azp" || x.ScopeClaim != "roles" || x.Scopes["x"][0] != "events.publish" ||
		!x.Introspection.Opaque || x.Introspection.ClientSecret != "s3cret" || x.Introspection.Cache != 5*time.Second {
		t.Errorf("%+v %+v", x, x.Introspection)
	}
	if list, err = write(head).externals("https://schakel.example", false); err != nil || list[0].Audiences[0] != "https://schakel.example" || list[0].Types[0] != "at+jwt" {
		t.Errorf("defaults: %+v, %v", list, err)
	}
	for text, want := range map[string]string{
		"":                     "id is missing",
		"id: A b\n":            "id is missing",
		"id: x\n":              "issuer is missing",
		head + "colour: red\n": "colour",
		head + "scopes: {map: {a: [events.eat]}}\n":                        "scopes: map: a",
		head + "algorithms: [HS256]\n":                                     "HS256",
		head + "introspection: {}\n":                                       "client-id",
		head + "introspection: {client-id: a, cache: 1h}\n":                "cache",
		head + "introspection: {client-id: a, client-secret-file: nope}\n": "client-secret-file",
	} {
		if err := write(text).CheckFlags(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "issuer.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
	plain := write("id: x\nissuer: http://login.example\n")
	if _, err := plain.externals("", false); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("without TLS: %v", err)
	}
	plain.TokenIssuers = append(plain.TokenIssuers, plain.TokenIssuers[0])
	if err := plain.CheckFlags(); err == nil {
		t.Error("one issuer twice is taken")
	}
}
