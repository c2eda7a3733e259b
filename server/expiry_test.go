package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/installation"
	"schakel/store"
)

// People are told of an end once a threshold, by whichever node, also after a restart: administrators of ours and of a partner's, its managers of
// theirs alone. One that is renewed is over, and begins anew.
func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	partner := store.Partner{Name: "Vavo", Status: store.PartnerApproved}
	client := store.Client{Name: "LAS", AuthMethod: "tls_client_auth", Status: store.ClientActive}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		must(t, tx.InsertPartner(ctx, &partner))
		client.PartnerID = partner.ID
		must(t, tx.InsertClient(ctx, &client))
		for _, a := range []store.Account{
			{Email: "anna@example.nl", Name: "Anna", Role: store.RoleAdministrator},
			{Email: "max@vavo.example", Name: "Max", Role: store.RoleManager, PartnerID: partner.ID},
			{Email: "rik@vavo.example", Name: "Rik", Role: store.RoleReader, PartnerID: partner.ID},
		} {
			a.Status = store.AccountActive
			must(t, tx.InsertAccount(ctx, &a))
		}
		return nil
	}))
	var told []event.Event
	now := p.db.Now()
	node := func() *alerts {
		a := p.alerts(AlertFlags{AlertAfter: 5 * time.Minute}, quiet())
		a.now = func() time.Time { return now }
		a.accept = func(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
			if s.Audience != store.OnlyFor() || !s.FromOwn {
				t.Errorf("told to %q", s.Audience)
			}
			told = append(told, s.Events...)
			return outbox.Receipt{}, nil
		}
		return a
	}
	mails := func() (all []string) {
		rows, _, err := p.db.Mails(ctx, store.Page{Size: 100})
		must(t, err)
		for _, m := range rows {
			opened, err := p.registry.Mails.Get(ctx, registry.SystemActor(), m.ID)
			must(t, err)
			link := strings.Fields(opened.Body)
			link = slices.DeleteFunc(link, func(w string) bool { return !strings.HasPrefix(w, p.base) })
			all = append(all, m.Recipient+": "+m.Subject+" "+strings.Join(link, " "))
		}
		slices.Sort(all)
		return all
	}
	end := now.Add(90 * 24 * time.Hour)
	showClient := func(until time.Time) {
		must(t, p.db.Write(ctx, func(tx *store.Tx) error { return tx.NoteClientCertificate(ctx, client.ID, "CN=las", store.At(until)) }))
	}
	ours := installation.Surroundings{TLS: &installation.Certificate{Path: "/tls.pem", From: now.Add(-300 * 24 * time.Hour), Expires: end, Level: "good"}}
	at := func(days int) {
		t.Helper()
		now = end.Add(-time.Duration(days)*24*time.Hour + time.Minute)
		for range 3 { // three nodes, each of which just started
			facts := installation.Facts{}
			must(t, installation.Gather(ctx, p.db, &facts))
			facts.Surroundings = ours
			must(t, node().ends(ctx, facts.Expiries()))
		}
	}
	showClient(end)
	want := func(days, more int) {
		t.Helper()
		before := len(mails())
		at(days)
		if got := mails(); len(got) != before+more {
			t.Errorf("%d days ahead %d mails, want %d: %q", days, len(got)-before, more, got)
		}
	}
	want(61, 0)
	want(60, 2) // one to the administrator about both, one to the manager
	want(45, 0)
	want(30, 2)
	want(7, 2)
	want(1, 2)
	want(0, 2)
	want(-3, 0)
	all := mails()
	for _, one := range all {
		switch {
		case strings.HasPrefix(one, "anna@example.nl: 2 certificates and keys expire soon or have expired") && strings.HasSuffix(one, p.base+"/admin/installation"):
		case strings.HasPrefix(one, "max@vavo.example: The certificate of client LAS of Vavo expire") && strings.HasSuffix(one, p.base+"/partner/clients/"+client.ID):
		default:
			t.Errorf("mail %q", one)
		}
	}
	kinds := func() map[string]int {
		n, ids := map[string]int{}, map[string]bool{}
		for _, e := range told {
			var data alertData
			must(t, json.Unmarshal(e.Data, &data))
			if data.Text == "" || data.Remedy == "" || data.Ends.IsZero() || data.Since.IsZero() || data.Code != e.Subject {
				t.Errorf("event %s: %s", e.ID, e.Data)
			}
			if !ids[e.ID] { // the engine takes an id once
				n[strings.TrimPrefix(e.Type, "nl.schakel.alert.")+" "+data.Code]++
			}
			ids[e.ID] = true
		}
		return n
	}
	if got := kinds(); got["raised.v1 certificate-soon"] != 8 || got["raised.v1 certificate-expired"] != 2 || len(got) != 2 {
		t.Errorf("events %v", got)
	}

	showClient(end.Add(400 * 24 * time.Hour))
	want(-4, 0)
	if got := kinds(); got["ended.v1 certificate-expired"] != 1 {
		t.Errorf("after it was renewed: %v", got)
	}
	end = end.Add(400 * 24 * time.Hour) // of the client alone: the other stays as it was told
	want(60, 2)
}

// A certificate in a file of a flag is among what ends, with its authorities, in the check and in the metric.
func TestEndsOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert, key := writeCertificate(t, dir, private, 1)
	text, err := os.ReadFile(cert)
	must(t, err)
	block, _ := pem.Decode(text)
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	trust := filepath.Join(dir, "roots.pem")
	must(t, os.WriteFile(trust, slices.Concat(text, []byte("not PEM\n"), text), 0o600))
	chained := filepath.Join(dir, "chained.pem")
	must(t, os.WriteFile(chained, append(bytes.Clone(text), text...), 0o600))
	var flags InstallationFlags
	flags.TLSCert, flags.TLSKey, flags.CAFile, flags.ClientCA = chained, key, trust, []string{trust, filepath.Join(dir, "away.pem")}
	flags.SMTPCertificate = cert
	flags.Database = "postgres://db.example/schakel?sslcert=" + url.QueryEscape(cert) + "&sslrootcert=system&sslmode=verify-full"
	now := func() time.Time { return leaf.NotAfter.Add(-time.Hour) }
	facts := installation.Facts{Now: now(), Surroundings: installation.Surroundings{TLS: tlsFact(flags.HTTPFlags, now), Files: fileFacts(flags)}}
	kinds := map[string]int{}
	for _, e := range facts.Expiries() {
		kinds[e.Kind]++
		if !e.Until.Equal(leaf.NotAfter) {
			t.Errorf("%s ends %s, want %s", e.Item(), e.Until, leaf.NotAfter)
		}
	}
	if kinds[installation.ExpiryTLS] != 1 || kinds[installation.ExpiryChain] != 1 || kinds[installation.ExpiryTrust] != 2 || kinds[installation.ExpiryDatabase] != 1 || kinds[installation.ExpiryMail] != 1 {
		t.Errorf("%v", kinds)
	}
	watch := &installationWatch{ends: facts.Expiries(), now: now}
	reg := prometheus.NewPedanticRegistry()
	must(t, reg.Register(watch))
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "schakel_expiry_seconds" || len(families[0].GetMetric()) != 5 { // a root twice in a file is one
		t.Fatalf("%v, %v", families, err)
	}
	for _, m := range families[0].GetMetric() {
		if m.GetGauge().GetValue() != time.Hour.Seconds() {
			t.Errorf("%v", m)
		}
	}
}
