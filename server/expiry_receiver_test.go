package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/delivery/outbound"
	"schakel/registry/installation"
	"schakel/store"
)

// The last key of a set that data is encrypted with and the TLS certificate that a receiver showed are among what ends, for the managers of its
// partner; a set with a key that has no end is not, nor is a receiver that was not connected to.
func TestEndsOfReceivers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	until := time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "receiver"}, DNSNames: []string{"localhost"}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	client := outbound.New(outbound.Config{RootCAs: roots, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)

	jwk, err := jose.JSONWebKey{Key: private.Public(), KeyID: "theirs"}.MarshalJSON()
	must(t, err)
	var set bytes.Buffer
	for i, exp := range []time.Time{until.AddDate(0, 0, -5), until} {
		one := map[string]json.RawMessage{}
		must(t, json.Unmarshal(jwk, &one))
		one["exp"] = json.RawMessage(strconv.FormatInt(exp.Unix(), 10))
		text, err := json.Marshal(one)
		must(t, err)
		set.WriteString([]string{`{"keys":[`, `,`}[i])
		set.Write(text)
	}
	set.WriteString("]}")
	partner := store.Partner{Name: "Vavo", Status: store.PartnerApproved}
	machine := store.Client{Name: "LAS", Status: store.ClientActive, JWKSURI: address + "/jwks"}
	asking := store.Endpoint{Name: "There", Kind: store.EndpointWebhook, URL: "https://elsewhere.example/events", TokenURL: address + "/token", Status: store.EndpointActive}
	endpoint := store.Endpoint{Name: "Here", TokenURL: address + "/token", Kind: store.EndpointWebhook, URL: address + "/events", Status: store.EndpointActive}
	ending := store.Subscription{Status: store.SubscriptionApproved, Encrypt: set.String()}
	endless := store.Subscription{Status: store.SubscriptionApproved, Encrypt: `{"keys":[` + string(jwk) + `,` + strings.TrimPrefix(set.String(), `{"keys":[`)}
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		must(t, tx.InsertPartner(ctx, &partner))
		endpoint.PartnerID, asking.PartnerID, machine.PartnerID = partner.ID, partner.ID, partner.ID
		must(t, tx.InsertEndpoint(ctx, &endpoint))
		must(t, tx.InsertEndpoint(ctx, &asking))
		must(t, tx.InsertClient(ctx, &machine))
		for _, s := range []*store.Subscription{&ending, &endless} {
			s.PartnerID, s.EndpointID = partner.ID, endpoint.ID
			must(t, tx.InsertSubscription(ctx, s))
		}
		return nil
	}))
	e := &examiner{db: p.db, client: client, encrypter: p.encrypter}
	want := func(items ...string) {
		t.Helper()
		got := e.receiverEnds(ctx)
		if len(got) != len(items) {
			t.Fatalf("%+v, want %q", got, items)
		}
		for i, one := range got {
			if one.Item() != items[i] || !one.Until.Equal(until) || one.PartnerID != partner.ID || !strings.HasSuffix(one.PartnerHref, one.ID) {
				t.Errorf("%+v, want %s until %s", one, items[i], until)
			}
		}
	}
	key := installation.ExpiryRecipient + " " + ending.ID
	want(key)
	answer, err := client.HTTPClient().Get(address)
	must(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	must(t, err)
	must(t, answer.Body.Close())
	want(key, installation.ExpiryReceiver+" "+endpoint.ID, installation.ExpiryToken+" "+asking.ID, installation.ExpiryKeyHost+" "+machine.ID)
}
