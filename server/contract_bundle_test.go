package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"schakel/server/cli/clitest"
)

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
