package services

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
)

// communicationJSON is a document of the address registry about a HER-id.
func communicationJSON(her int64, queue string) string {
	return fmt.Sprintf(`{"herId": %d, "type": "Service", "communicationParty": {"Active": true, "ElectronicAddresses": [
		{"Address": "host/ns/%s", "TypeCodeValue": "E_SB_ASYNC"}, {"Address": "host/ns/%d_error", "TypeCodeValue": "E_SB_ERROR"}]}}`, her, queue, her)
}

// addressFolder writes an address registry with one party.
func addressFolder(t *testing.T, her int64, queue, certificates string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "details.json"), []byte(communicationJSON(her, queue)), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(her, "_sign.pem")), []byte(certificates), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "7.pem"), []byte("of another"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "broken.xml"), []byte("<"), 0o600))
	return dir
}

// Rules: AMQP-57, AMQP-62, AMQP-72.
func TestAddressRegistry(t *testing.T) {
	t.Parallel()
	certificate, _ := pemPair(t, "new", signUsage, 0)
	dir := addressFolder(t, 8141705, "8141705_async", certificate)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/registry/8141705":
			fmt.Fprint(w, communicationJSON(8141705, "8141705_async"))
		case "/registry/8141705/certificates":
			fmt.Fprint(w, certificate)
		case "/registry/5":
			http.Error(w, "", http.StatusInternalServerError)
		case "/registry/6":
			fmt.Fprint(w, strings.Repeat(" ", 4<<20+1))
		case "/registry/7":
			fmt.Fprint(w, communicationJSON(8, "8_async"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/registry")
	must(t, err)
	for name, addresses := range map[string]registryamqp.AddressRegistry{"folder": registryamqp.AddressFolder{Dir: dir}, "url": registryamqp.AddressURL{Base: base, HTTP: server.Client()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := addresses.Address(t.Context(), 8141705)
			if err != nil || got.Queues.Async != "host/ns/8141705_async" || !strings.Contains(got.Certificates, certificate) || strings.Contains(got.Certificates, "another") {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := addresses.Address(t.Context(), 9); !errors.Is(err, registryamqp.ErrNoAddress) {
				t.Errorf("unknown party: %v", err)
			}
		})
	}
	for _, her := range []int64{5, 6, 7} {
		if _, err := (registryamqp.AddressURL{Base: base, HTTP: server.Client()}).Address(t.Context(), her); err == nil || errors.Is(err, registryamqp.ErrNoAddress) {
			t.Errorf("%d: %v", her, err)
		}
	}
	if _, err := (registryamqp.AddressFolder{Dir: filepath.Join(dir, "none")}).Address(t.Context(), 1); err == nil {
		t.Error("a folder that is not there was read")
	}
}

// Rules: AMQP-57, AMQP-62, AMQP-64, AMQP-65.
func TestRefresh(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		old, _ := pemPair(t, "old", signUsage, 0)
		fresh, _ := pemPair(t, "new", signUsage, 1)
		_, actor := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		p, err := w.AMQP.CreateCounterpart(t.Context(), w.admin, w.amqpEndpoint(t, actor).ID, healthParty(w.broker(t).ID, 8141705))
		must(t, err)
		_, err = w.AMQP.AddCertificates(t.Context(), w.admin, p.ID, old, "")
		must(t, err)
		must(t, w.AMQP.Refresh(t.Context(), p.ID)) // there is no address registry: all stays
		calls := 0
		w.AMQP = registryamqp.NewAMQP(w.cfg, w.Profile, counted{registryamqp.AddressFolder{Dir: addressFolder(t, 8141705, "new_async", fresh)}, &calls})
		for range 2 {
			must(t, w.AMQP.Refresh(t.Context(), p.ID))
		}
		got, err := w.db.AMQPParty(t.Context(), p.ID)
		must(t, err)
		certificates, err := w.db.AMQPCertificates(t.Context(), p.ID)
		must(t, err)
		if got.AsyncQueue != "host/ns/new_async" || got.Source != store.AMQPRegistry || got.RefreshedAt.IsZero() || len(certificates) != 2 || calls != 2 {
			t.Errorf("%+v, %d certificates, %d calls", got, len(certificates), calls)
		}
		must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { got.HerID = 1; return tx.UpdateAMQPParty(t.Context(), &got) }))
		must(t, w.AMQP.Refresh(t.Context(), p.ID)) // not known there: all stays
		wantCode(t, "no such party", registry.CodeNotFound, w.AMQP.Refresh(t.Context(), "amp_none"))
	})
}

// counted counts questions.
type counted struct {
	registryamqp.AddressRegistry

	calls *int
}

// Address implements AddressRegistry.
func (c counted) Address(ctx context.Context, herID int64) (registryamqp.Address, error) {
	*c.calls++
	return c.AddressRegistry.Address(ctx, herID)
}
