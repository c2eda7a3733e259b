package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
	"schakel/server/demo"
)

// startRegister starts a Schakel and gives the flags with which its maintainer
// calls it.
func startRegister(t *testing.T) (flags []string) {
	t.Helper()
	cfg := inDir(t.TempDir())
	cfg.MaxDocumentBytes = 16 << 20
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context(), cli.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	must(t, (&demo.Chain{Services: p.registry}).ChangeSettings(t.Context(), map[string]string{"register.spec_versions": registry.PolicyAccept}))
	id, keyFile := keyClient(t, p, identity.ScopeRegistryRead, identity.ScopeRegistryWrite)
	return []string{"--url", "http://" + p.public.Addr(), "--client-id", id, "--client-key-file", keyFile, "--token-audience", p.base + "/oauth/token"}
}

// TestContractPipeline does the work of a build pipeline against a whole Schakel.
//
// Rules: EDU-06b, EDU-06e.
func TestContractPipeline(t *testing.T) {
	t.Parallel()
	flags := startRegister(t)
	breaking := strings.Replace(strings.Replace(clitest.GoodContract, "required: [name, town]", "required: [name]", 1), "version: 1.0.0", "version: 1.1.0", 1)
	at := clitest.WriteFiles(t, map[string]string{
		"one.yaml": clitest.GoodContract, "broken.yaml": clitest.BrokenContract, "breaking.yaml": breaking,
		"other.yaml": strings.Replace(clitest.GoodContract, "The schools.", "All schools.", 1),
	})
	run := func(code int, want string, args ...string) {
		t.Helper()
		args = append(append([]string{"contract"}, args...), flags...)
		got, out, errs := commandWith(t, "", args...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Fatalf("%q: exit code %d, want %d with %q\nout: %s\nerr: %s", args[:3], got, code, want, out, errs)
		}
	}
	run(2, "status 404", "publish", at("one.yaml"), "--id", "schools")
	run(1, "error ", "publish", at("broken.yaml"), "--id", "schools", "--create")
	run(0, "is kept as a draft", "publish", at("one.yaml"), "--id", "schools", "--create", "--draft")
	run(0, "schools@1.0.0 published (sha256:", "publish", at("one.yaml"), "--id", "schools")
	run(0, "was published before", "publish", at("one.yaml"), "--id", "schools")
	run(1, "can never change", "publish", at("other.yaml"), "--id", "schools")
	run(1, "::error file=", "publish", at("broken.yaml"), "--id", "schools", "--format", "github")

	run(1, "schools@1.0.0 → ", "diff", "schools@1.0.0", at("breaking.yaml"))
	run(0, "no changes", "diff", "schools@latest", at("one.yaml"))
	run(1, "breaking-change", "publish", at("breaking.yaml"), "--id", "schools", "--format", "json")
	run(0, "schools@1.1.0 published", "publish", at("breaking.yaml"), "--id", "schools", "--reason", "nobody uses it yet")

	run(1, "is not schools@1.0.0", "pull", "schools@1.0.0", "-o", at("pulled.yaml"), "--check")
	run(0, "written, schools@1.0.0", "pull", "schools@1.0.0", "-o", at("pulled.yaml"))
	run(0, "unchanged, schools@1.0.0", "pull", "schools@1.0.0", "-o", at("pulled.yaml"), "--check")
	run(1, "is not schools@1.1.0", "pull", "schools", "-o", at("pulled.yaml"), "--check")
	run(0, `"openapi": "3.2.0"`, "pull", "schools@1.0.0", "-o", "-", "--as", "json")
	run(1, "is not what --digest asks", "pull", "schools", "-o", at("pulled.yaml"), "--digest", "sha256:"+strings.Repeat("0", 64))
	run(0, "written", "pull", "schools@1.0.0", "-o", at("again.yaml"), "--digest", fmt.Sprintf("%x", sha256.Sum256([]byte(clitest.GoodContract))))
	for _, name := range []string{"pulled.yaml", "again.yaml"} {
		if got, err := os.ReadFile(at(name)); err != nil || string(got) != clitest.GoodContract {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	run(2, "status 404", "pull", "schools@9.0.0", "-o", at("pulled.yaml"))
	flags = slices.Replace(flags, len(flags)-1, len(flags), "wrong")
	run(2, "status 401", "pull", "schools", "-o", at("pulled.yaml"))
}

// TestContractPullChecksDigest: bytes that were changed on the way are not kept.
func TestContractPullChecksDigest(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(clitest.GoodContract))
	right := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	for name, tt := range map[string]struct {
		digest, body string
		code         int
	}{
		"right":     {right, clitest.GoodContract, 0},
		"also more": {"sha-512=:AAAA:, " + right, clitest.GoodContract, 0},
		"changed":   {right, clitest.GoodContract + "#", 2},
		"none":      {"", clitest.GoodContract, 2},
		"other":     {"sha-512=:AAAA:", clitest.GoodContract, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer key" || r.URL.Path != "/registry/v1/contracts/schools/versions/1.0.0/original" {
					t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
				w.Header().Set("Repr-Digest", tt.digest)
				_, _ = io.WriteString(w, tt.body)
			}))
			t.Cleanup(server.Close)
			path := clitest.WriteFiles(t, nil)("out.yaml")
			code, out, errs := commandWith(t, "", "contract", "pull", "schools@1.0.0", "-o", path, "--url", server.URL, "--token", "key")
			if _, err := os.Stat(path); code != tt.code || (err == nil) != (code == 0) {
				t.Errorf("exit code %d, file: %v\n%s%s", code, err, out, errs)
			}
		})
	}
}

// TestContractPublishNamesItsBytes: the command publishes the bytes of its file, and fails when the draft was replaced between
// its upload and its publication, or when the register kept other bytes than it was sent.
func TestContractPublishNamesItsBytes(t *testing.T) {
	t.Parallel()
	tag := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(clitest.GoodContract)))
	for name, tt := range map[string]struct {
		kept string // the digest that the register answers to the upload
		code int
		want string
	}{
		"replaced meanwhile": {tag, 1, "its draft was replaced"},
		"other bytes kept":   {"sha256:0", 2, "not the " + tag + " that was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/publication") {
					w.WriteHeader(http.StatusCreated)
					fmt.Fprintf(w, `{"version":"1.0.0","status":"draft","digest":%q}`, tt.kept)
					return
				}
				if got := r.Header.Get("If-Match"); got != `"`+tag+`"` {
					t.Errorf("If-Match %s", got)
				}
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusPreconditionFailed)
				_, _ = io.WriteString(w, `{"code":"draft-changed","detail":"Version 1.0.0 was not published: its draft was replaced since you looked at it."}`)
			}))
			t.Cleanup(server.Close)
			at := clitest.WriteFiles(t, map[string]string{"one.yaml": clitest.GoodContract})
			code, out, errs := commandWith(t, "", "contract", "publish", at("one.yaml"), "--id", "schools", "--url", server.URL, "--token", "key")
			if code != tt.code || !strings.Contains(out+errs, tt.want) {
				t.Errorf("exit code %d, want %d with %q\n%s%s", code, tt.code, tt.want, out, errs)
			}
		})
	}
}

// TestContractBundle: a document that refers to an address becomes a zip that can be published, whatever becomes of the
// address; bundling again changes nothing, and a private address is refused unless it is allowed.
//
// Rules: EDU-21
func TestContractBundle(t *testing.T) {
	t.Parallel()
	towns := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/school.yaml":
			_, _ = io.WriteString(w, "type: object\nproperties: {town: {$ref: 'town.json'}}\n")
		case "/town.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type": "string"}`)
		case "/openapi.yaml":
			fmt.Fprint(w, bundleDocument("school.yaml"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(towns.Close)
	at := clitest.WriteFiles(t, map[string]string{"one.yaml": bundleDocument(towns.URL + "/school.yaml"), "gone.yaml": bundleDocument(towns.URL + "/gone.yaml")})
	loopback := []string{"--plain-http-loopback", "--allow-outbound=127.0.0.0/8"}
	run := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := commandWith(t, "", append([]string{"contract"}, args...)...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Fatalf("%q: exit code %d, want %d with %q\nout: %s\nerr: %s", args, got, code, want, out, errs)
		}
	}
	bundle := func(code int, want, source, output string, more ...string) {
		t.Helper()
		run(code, want, append([]string{"bundle", source, "-o", at(output)}, more...)...)
	}
	bundle(1, "could not be fetched", at("one.yaml"), "one.zip")
	bundle(1, "gone.yaml:", at("gone.yaml"), "gone.zip", loopback...)
	bundle(1, "answers 404", at("gone.yaml"), "gone.zip", loopback...)
	if _, err := os.Stat(at("gone.zip")); err == nil {
		t.Error("a bundle without what it refers to was written")
	}
	bundle(0, "written, 2 fetched", at("one.yaml"), "one.zip", loopback...)
	before, err := os.ReadFile(at("one.zip"))
	if err != nil {
		t.Fatal(err)
	}
	bundle(0, "unchanged, 2 fetched", at("one.yaml"), "one.zip", loopback...)
	bundle(0, "written, 2 fetched", towns.URL+"/openapi.yaml", "two.zip", loopback...)
	towns.Close()
	bundle(0, "unchanged, 0 fetched", at("one.zip"), "one.zip")
	if after, err := os.ReadFile(at("one.zip")); err != nil || string(after) != string(before) {
		t.Errorf("the bundle changed: %v", err)
	}
	run(0, "", "validate", at("one.zip"))
	flags := startRegister(t)
	run(0, "schools@1.0.0 published", append([]string{"publish", at("one.zip"), "--id", "schools", "--create"}, flags...)...)
	run(0, "was published before", append([]string{"publish", at("one.zip"), "--id", "schools"}, flags...)...)
	run(0, `"type": "string"`, append([]string{"pull", "schools", "-o", "-", "--as", "json"}, flags...)...)
}

// bundleDocument is a document that refers to an address.
func bundleDocument(ref string) string {
	return "openapi: 3.1.0\ninfo: {title: Schools, version: 1.0.0}\nservers: [{url: https://schools.example/v1}]\npaths: {}\ncomponents:\n  schemas:\n    school: {$ref: '" + ref + "'}\n"
}
