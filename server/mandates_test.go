package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/mandate"
	"schakel/store"
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

// fakeMandates knows one mandate, and fails while it is down.
type fakeMandates struct {
	registry.Mandates

	sender string
	down   bool
}

func (f *fakeMandates) MaySend(_ context.Context, sender store.Partner, _, source string) error {
	switch {
	case f.down:
		return mandate.ErrUnknown
	case sender.ID != f.sender || source != "urn:nld:oin:00000001823288444000:sis":
		return &registry.Error{Code: registry.CodeForbidden, Message: "identity.mandate-no-oin"}
	}
	return nil
}

func (f *fakeMandates) RecipientAttribute() string { return "recipient" }

func (f *fakeMandates) AudienceOf(_ context.Context, _, recipient string) (store.Audience, error) {
	if f.down {
		return "", mandate.ErrUnknown
	}
	return store.OnlyFor("prt_" + recipient), nil
}

// An event over AMQP needs a mandate as one over HTTP does: without it there is a reason, while the register cannot be asked an error, and one that names its
// recipient goes to those who may have it.
//
// Rules: SEC-14.
func TestMandatesOverAMQP(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), built(t)
	client := store.Client{
		Name: "LAS", AuthMethod: "client_secret_basic", Status: store.ClientActive, Scopes: store.Strings{identity.ScopeEventsPublish},
		PublishTypes: store.Strings{"nl.example.*"}, PublishSources: store.Strings{"urn:nld:oin:*"},
	}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		partner := store.Partner{Name: "Vavo", Status: store.PartnerApproved}
		must(t, tx.InsertPartner(ctx, &partner))
		client.PartnerID = partner.ID
		return tx.InsertClient(ctx, &client)
	}))
	judge := func(eventType, source string) string {
		t.Helper()
		why, err := p.whyNot(ctx, client.ID, eventType, source)
		must(t, err)
		return why
	}
	const kind, school = "nl.example.x", "urn:nld:oin:00000001823288444000:sis"
	if why := judge(kind, school); why != "" {
		t.Errorf("without a register: %s", why)
	}
	ev, err := event.New(map[string]string{"id": "1", "source": school, "type": kind, "recipient": "b"}, nil, event.Limits{})
	must(t, err)
	if only, err := p.audience(ctx, &ev); err != nil || !only.Everyone() {
		t.Errorf("without a register: %q, %v", only, err)
	}
	register := &fakeMandates{sender: client.PartnerID}
	p.registry.Mandates = register
	if why := judge(kind, school); why != "" {
		t.Errorf("with a mandate: %s", why)
	}
	if only, err := p.audience(ctx, &ev); err != nil || only != store.OnlyFor("prt_b") {
		t.Errorf("for b: %q, %v", only, err)
	}
	if judge(kind, "urn:nld:oin:00000001823288444001:sis") == "" || judge("nl.other", school) == "" {
		t.Error("an event without a mandate or right passes")
	}
	register.down = true
	if _, err := p.whyNot(ctx, client.ID, kind, school); !errors.Is(err, mandate.ErrUnknown) {
		t.Errorf("while nobody answers: %v", err)
	}
	if _, err := p.audience(ctx, &ev); !errors.Is(err, mandate.ErrUnknown) {
		t.Errorf("while nobody answers: %v", err)
	}
}
