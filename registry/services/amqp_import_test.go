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
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

// importDocument reads a document of another register.
func importDocument(t *testing.T, name string) []byte {
	t.Helper()
	return needs.File(t, "amqp", "cpa", name)
}

// A CPA gives the queues, certificates and processes of both its parties; of ours no certificate is taken, for it would lack
// its key. What is here already is no change any more.
// Rules: AMQP-09, AMQP-27, AMQP-28, AMQP-31, AMQP-33.
func TestImportOfAnAgreement(t *testing.T) {
	document := importDocument(t, "CPA_93252.xml")
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, broker := t.Context(), w.broker(t)
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(broker.ID, 93238))
		must(t, err)
		_, staff := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		e := w.amqpEndpoint(t, staff)
		theirs, err := w.AMQP.CreateCounterpart(ctx, w.admin, e.ID, healthParty(broker.ID, 93252))
		must(t, err)
		process, err := w.AMQP.AddProcess(ctx, w.admin, theirs.ID, registryamqp.ProcessInput{
			OwnPartyID: own.ID, Name: "Dialogue", Subject: "DIALOG_INNBYGGER_EKONTAKT", Mode: "async", Sends: "no.example.dialogue",
		})
		must(t, err)
		read, err := w.AMQP.ReadImport(ctx, w.admin, document)
		must(t, err)
		if len(read.Parties) != 2 || !slices.Contains(english(read.Findings), "What it says of HER-id 93252 was valid until 2017-02-05: ask for a newer document.") {
			t.Fatalf("%d parties, %q", len(read.Parties), read.Findings)
		}
		for _, one := range read.Parties {
			told := strings.Join(english(one.Asides), " ")
			seen := map[string]bool{process.Subject: true}
			for _, open := range one.Open {
				if seen[open.Subject] {
					t.Errorf("%s is offered twice, or agreed already", open.Subject)
				}
				seen[open.Subject] = true
			}
			if mine := one.Party.ID == own.ID; mine != strings.Contains(told, "is ours: add it with its private key") || mine != (len(one.Open) == 0) {
				t.Errorf("%s: %v, %v", one.Details.Name, one.Asides, one.Open)
			}
		}
		_, err = w.AMQP.TakeImport(ctx, w.admin, document, 93252)
		must(t, err)
		row, err := w.AMQP.Party(ctx, registry.Scope{All: true}, theirs.ID)
		must(t, err)
		if row.AsyncQueue != "sb.test.nhn.no/DigitalDialog/93252_async" || row.Source != store.AMQPFromCPA {
			t.Errorf("party %+v", row)
		}
		processes, err := w.AMQP.Processes(ctx, registry.Scope{All: true}, theirs.ID)
		must(t, err)
		i := slices.IndexFunc(processes, func(p store.AMQPProcess) bool { return p.ID == process.ID })
		if now := processes[i]; now.CPAID != "9333f3de-e85c-4c26-9066-6800055b1b8e" || now.ToRole != "DIALOG_INNBYGGER_EKONTAKTreceiver" || now.FromRole != "DIALOG_INNBYGGER_EKONTAKTsender" || now.Service == "" || now.Sends != process.Sends {
			t.Errorf("process %+v", now)
		}
		read, err = w.AMQP.ReadImport(ctx, w.admin, document)
		must(t, err)
		for _, one := range read.Parties {
			if one.Party.ID == theirs.ID && len(one.Changes) > 0 {
				t.Errorf("what was taken over is a change still: %v", one.Changes)
			}
		}
		_, err = w.AMQP.TakeImport(ctx, w.admin, document, 93252)
		wantCode(t, "import", registry.CodeConflict, err)
		_, err = w.AMQP.TakeImport(ctx, w.admin, document, 1)
		wantCode(t, "import", registry.CodeNotFound, err)
	})
}

// english writes messages in English.
func english(list []i18n.Message) []string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = one.String()
	}
	return texts
}

// Communication details of the address registry are read in both their forms; of a HER-id that nobody has here nothing is taken.
func TestImportOfCommunicationDetails(t *testing.T) {
	documents := map[int64][]byte{
		93238: importDocument(t, "CommunicationDetails_93238.xml"), 8141705: importDocument(t, "CommunicationDetailsRest_8141705.json"),
	}
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, broker := t.Context(), w.broker(t)
		_, staff := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		for her, document := range documents {
			read, err := w.AMQP.ReadImport(ctx, w.admin, document)
			must(t, err)
			if len(read.Parties) != 1 || read.Parties[0].Party != nil || int64(read.Parties[0].Details.HerID) != her {
				t.Fatalf("%d: %+v", her, read.Parties)
			}
			_, err = w.AMQP.TakeImport(ctx, w.admin, document, her)
			wantCode(t, "a party that is not here", registry.CodeNotFound, err)
			theirs, err := w.AMQP.CreateCounterpart(ctx, w.admin, w.amqpEndpoint(t, staff).ID, healthParty(broker.ID, her))
			must(t, err)
			_, err = w.AMQP.TakeImport(ctx, w.admin, document, her)
			must(t, err)
			row, err := w.AMQP.Party(ctx, registry.Scope{All: true}, theirs.ID)
			must(t, err)
			if row.Source != store.AMQPRegistry || row.RefreshedAt.IsZero() || row.ParentHerID == 0 {
				t.Errorf("%d: %+v", her, row)
			}
		}
	})
}

// Only an administrator imports, and only what can be read.
func TestImportIsRefused(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, staff := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		_, err := w.AMQP.ReadImport(t.Context(), staff, []byte("<x/>"))
		wantCode(t, "import", registry.CodeForbidden, err)
		_, err = w.AMQP.TakeImport(t.Context(), staff, []byte("<x/>"), 1)
		wantCode(t, "import", registry.CodeForbidden, err)
		for _, bad := range []string{"", "<x/>", "{}", "PDF"} {
			if _, err := w.AMQP.ReadImport(t.Context(), w.admin, []byte(bad)); err == nil {
				t.Errorf("%q is read", bad)
			}
		}
	})
}

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

type counted struct {
	registryamqp.AddressRegistry

	calls *int
}

// Address implements AddressRegistry.
func (c counted) Address(ctx context.Context, herID int64) (registryamqp.Address, error) {
	*c.calls++
	return c.AddressRegistry.Address(ctx, herID)
}
