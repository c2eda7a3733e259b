package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file of a register of mandates is read whole, and an error names the file and what is wrong in it.
func TestMandateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "key")
	must(t, os.WriteFile(secret, []byte("k3y\n"), 0o600))
	write := func(text string) MandateFlags {
		path := filepath.Join(dir, "mandates.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return MandateFlags{path}
	}
	const head = "url: https://osr.example/api/v2\n"
	const services = "services: [{types: ['nl.example.*', nl.other.thing], namespace: 'http://x.example/1'}]\n"
	good := write(head + services + "key-file: " + secret + "\nrecipient-attribute: recipient\n")
	must(t, good.CheckFlags())
	m, key, err := good.read()
	if err != nil || key != "k3y" || m.KeyHeader != "X-Api-Key" || m.Fresh != time.Hour || m.Unknown != unknownRefuse || m.Services[0].Types[1] != "nl.other.thing" {
		t.Errorf("%+v, %q, %v", m, key, err)
	}
	must(t, MandateFlags{}.CheckFlags())
	for text, want := range map[string]string{
		"":                                      "url",
		"url: osr\n" + services:                 "url",
		head:                                    "services is missing",
		head + "colour: red\n":                  "colour",
		head + services + "fresh: 1s\n":         "fresh",
		head + services + "unknown: maybe\n":    "unknown must be",
		head + services + "key-header: 'a b'\n": "key-header",
		head + services + "recipient-attribute: Rec-ipient\n": "recipient-attribute",
		head + services + "key-file: nope\n":                  "key-file",
		head + "services: [{types: [a]}]\n":                   "services: 1",
		head + "services: [{types: ['*'], namespace: x}]\n":   "no event type",
	} {
		if err := write(text).CheckFlags(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mandates.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
