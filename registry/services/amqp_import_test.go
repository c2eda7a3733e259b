package services

import (
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	"schakel/store/needs"
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
		if len(read.Parties) != 2 || !slices.Contains(read.Findings, "What it says of HER-id 93252 was valid until 2017-02-05: ask for a newer document.") {
			t.Fatalf("%d parties, %q", len(read.Parties), read.Findings)
		}
		for _, one := range read.Parties {
			told := strings.Join(one.Asides, " ")
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
