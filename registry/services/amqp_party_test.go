package services

import (
	"context"
	"crypto/x509"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
)

// Parties get their usual queues, and every field is judged.
// Rules: AMQP-30, AMQP-46, AMQP-117.
func TestAMQPParties(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		b := w.broker(t)
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(b.ID, 100))
		must(t, err)
		want := "100_async 100_sync 100_reply 100_error 100_dl"
		if got := fmt.Sprint(own.AsyncQueue, " ", own.SyncQueue, " ", own.ReplyQueue, " ", own.ErrorQueue, " ", own.DeadQueue); got != want || !own.Own {
			t.Errorf("queues %s, want %s", got, want)
		}
		for _, tc := range []struct {
			field string
			edit  func(*registryamqp.PartyInput)
		}{
			{"name", func(in *registryamqp.PartyInput) { in.Name = "" }},
			{"kind", func(in *registryamqp.PartyInput) { in.Kind = "kafka" }},
			{"kind", func(in *registryamqp.PartyInput) { in.Kind = store.AMQPCloudEvents }},
			{"herId", func(in *registryamqp.PartyInput) { in.HerID = 0 }},
			{"herId", func(in *registryamqp.PartyInput) { in.HerID = 1_000_000_000 }},
			{"herId", func(in *registryamqp.PartyInput) {
				in.HerID, in.AsyncQueue, in.SyncQueue, in.ReplyQueue, in.ErrorQueue, in.DeadQueue = 100, "a", "b", "c", "d", "e"
			}},
			{"parentHerId", func(in *registryamqp.PartyInput) { in.ParentHerID = 101 }},
			{"brokerId", func(in *registryamqp.PartyInput) { in.BrokerID = "amb_none" }},
			{"asyncQueue", func(in *registryamqp.PartyInput) { in.AsyncQueue = "a b" }},
			{"asyncQueue", func(in *registryamqp.PartyInput) { in.AsyncQueue = "host/ns/100_async" }},
			{"errorQueue", func(in *registryamqp.PartyInput) { in.ErrorQueue = "101_async" }},
			{"apprecVersion", func(in *registryamqp.PartyInput) { in.ApprecVersion = "2.0" }},
			{"answerWait", func(in *registryamqp.PartyInput) { in.AnswerWait = time.Second }},
		} {
			in := healthParty(b.ID, 101)
			tc.edit(&in)
			_, err := w.AMQP.CreateOwnParty(ctx, w.admin, in)
			wantField(t, tc.field, err)
		}
		wantCode(t, "remove a broker in use", registry.CodeConflict, w.AMQP.RemoveBroker(ctx, w.admin, b.ID))
		w.checkCounterparts(t, b)
	})
}

// TestServiceBusParties adds own parties on Azure Service Bus: their dead letters are below their own queues, which are nobody else's.
//
// Rules: AMQP-50
func TestServiceBusParties(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		in := goodBroker()
		in.Dialect = store.AMQPServiceBus
		b, err := w.AMQP.CreateBroker(t.Context(), w.admin, in)
		must(t, err)
		for _, her := range []int64{300, 301} {
			p, err := w.AMQP.CreateOwnParty(t.Context(), w.admin, healthParty(b.ID, her))
			must(t, err)
			if want := strconv.FormatInt(her, 10) + "_async/$DeadLetterQueue"; p.DeadQueue != want {
				t.Errorf("dead letters of %d in %s, want %s", her, p.DeadQueue, want)
			}
		}
		taken := healthParty(b.ID, 302)
		taken.DeadQueue = "host/ns/300_async/$DeadLetterQueue"
		_, err = w.AMQP.CreateOwnParty(t.Context(), w.admin, taken)
		wantField(t, "deadQueue", err)
		forwarded := healthParty(b.ID, 302)
		forwarded.DeadQueue = "302_dl"
		p, err := w.AMQP.CreateOwnParty(t.Context(), w.admin, forwarded)
		must(t, err)
		if p.DeadQueue != "302_dl" {
			t.Errorf("the queue that dead letters are forwarded to became %s", p.DeadQueue)
		}
	})
}

func (w *world) checkCounterparts(t *testing.T, b store.AMQPBroker) {
	t.Helper()
	ctx := t.Context()
	p, anna, _, eve := w.twoPartners(t)
	e := w.amqpEndpoint(t, anna)
	for field, edit := range map[string]func(*registryamqp.PartyInput){
		"asyncQueue": func(in *registryamqp.PartyInput) { in.AsyncQueue = "100_async" },
		"inboundQueue": func(in *registryamqp.PartyInput) {
			in.Kind, in.InboundQueue, in.ClientID = store.AMQPCloudEvents, "in", "cli_x"
		},
	} {
		in := healthParty(b.ID, 200)
		edit(&in)
		_, err := w.AMQP.CreateCounterpart(ctx, anna, e.ID, in)
		wantField(t, field, err)
	}
	_, err := w.AMQP.CreateCounterpart(ctx, eve, e.ID, healthParty(b.ID, 200))
	wantCode(t, "another's endpoint", registry.CodeNotFound, err)
	_, err = w.AMQP.CreateCounterpart(ctx, anna, w.endpoint(t, anna).ID, healthParty(b.ID, 200))
	wantCode(t, "a webhook", registry.CodeConflict, err)
	party, err := w.AMQP.CreateCounterpart(ctx, anna, e.ID, healthParty(b.ID, 200))
	must(t, err)
	if party.PartnerID != p.ID || party.Own || party.DeadQueue != "" || party.AsyncQueue != "200_async" {
		t.Errorf("counterpart %+v", party)
	}
	_, err = w.AMQP.CreateOwnParty(ctx, anna, healthParty(b.ID, 300))
	wantCode(t, "own party by a partner", registry.CodeForbidden, err)
	in := registryamqp.InputOfParty(party)
	in.AnswerWait = 4 * time.Hour
	_, err = w.AMQP.UpdateParty(ctx, anna, party.ID, in)
	must(t, err)
	if got := w.lastSentence(t); !strings.Contains(got, "Anna de Vries changed AMQP party Legekontor") {
		t.Error(got)
	}
	w.checkProcesses(t, anna, party)
	w.checkPartyScope(t, eve, party, e)
}

// Rules: AMQP-09, AMQP-21.
func (w *world) checkProcesses(t *testing.T, anna registry.Actor, party store.AMQPParty) {
	t.Helper()
	ctx := t.Context()
	own, err := w.db.AMQPPartyByHerID(ctx, 100)
	must(t, err)
	w.recipient(t, "no.example.came")
	w.recipient(t, "no.example.too")
	good := registryamqp.ProcessInput{OwnPartyID: own.ID, Name: "E-contact", Subject: "DIALOG_INNBYGGER_EKONTAKT", Mode: store.AMQPAsync, Sends: "no.example.sent", Receives: "no.example.came"}
	_, err = w.AMQP.AddProcess(ctx, anna, party.ID, good)
	wantCode(t, "process by a partner", registry.CodeForbidden, err)
	row, err := w.AMQP.AddProcess(ctx, w.admin, party.ID, good)
	must(t, err)
	for _, tc := range []struct {
		field string
		edit  func(*registryamqp.ProcessInput)
	}{
		{"ownPartyId", func(in *registryamqp.ProcessInput) { in.OwnPartyID = party.ID }},
		{"name", func(in *registryamqp.ProcessInput) { in.Name = "" }},
		{"subject", func(in *registryamqp.ProcessInput) { in.Subject = "DIALOG_UNKNOWN" }},
		{"subject", func(in *registryamqp.ProcessInput) { in.Receives = "no.example.too" }},
		{"mode", func(in *registryamqp.ProcessInput) { in.Mode = "later" }},
		{"sends", func(in *registryamqp.ProcessInput) { in.Sends, in.Receives = "", "" }},
		{"sends", func(in *registryamqp.ProcessInput) { in.Sends = "no.example.sent" }},
		{"receives", func(in *registryamqp.ProcessInput) { in.Receives = "no type" }},
		{"handlerId", func(in *registryamqp.ProcessInput) { in.HandlerID = party.EndpointID }},
	} {
		in := good
		in.Sends, in.Receives = "no.example.other", ""
		tc.edit(&in)
		_, err := w.AMQP.AddProcess(ctx, w.admin, party.ID, in)
		wantField(t, tc.field, err)
	}
	changed := registryamqp.InputOfProcess(row)
	changed.CPAID = "51795e2c"
	if row, err = w.AMQP.UpdateProcess(ctx, w.admin, party.ID, row.ID, changed); err != nil || row.CPAID != "51795e2c" {
		t.Errorf("changed %+v, %v", row, err)
	}
	in := registryamqp.InputOfParty(party)
	in.HerID = 201
	_, err = w.AMQP.UpdateParty(ctx, anna, party.ID, in)
	wantField(t, "herId", err)
	must(t, w.AMQP.RemoveProcess(ctx, w.admin, party.ID, row.ID))
	wantCode(t, "removed twice", registry.CodeNotFound, w.AMQP.RemoveProcess(ctx, w.admin, party.ID, row.ID))
}

// G7: what is another partner's is not there.
func (w *world) checkPartyScope(t *testing.T, eve registry.Actor, party store.AMQPParty, e store.Endpoint) {
	t.Helper()
	drop := func(_ any, err error) error { return err }
	for name, try := range map[string]func(context.Context) error{
		"party":        func(ctx context.Context) error { return drop(w.AMQP.Party(ctx, eve.Scope(), party.ID)) },
		"of endpoint":  func(ctx context.Context) error { return drop(w.AMQP.PartyOfEndpoint(ctx, eve.Scope(), e.ID)) },
		"certificates": func(ctx context.Context) error { return drop(w.AMQP.Certificates(ctx, eve.Scope(), party.ID)) },
		"processes":    func(ctx context.Context) error { return drop(w.AMQP.Processes(ctx, eve.Scope(), party.ID)) },
		"update": func(ctx context.Context) error {
			return drop(w.AMQP.UpdateParty(ctx, eve, party.ID, registryamqp.InputOfParty(party)))
		},
		"add":    func(ctx context.Context) error { return drop(w.AMQP.AddCertificates(ctx, eve, party.ID, "", "")) },
		"remove": func(ctx context.Context) error { return w.AMQP.RemoveCertificate(ctx, eve, party.ID, "amc_x") },
	} {
		wantCode(t, name, registry.CodeNotFound, try(t.Context()))
	}
	if rows, err := w.AMQP.Parties(t.Context(), eve.Scope(), ""); err != nil || len(rows) != 0 {
		t.Errorf("lists %v, %v", rows, err)
	}
}

// Certificates serve what their key usage allows, several at a time; a private key is sealed with its certificate.
// Rules: AMQP-59, AMQP-64, AMQP-69, AMQP-70.
func TestAMQPCertificates(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		b := w.broker(t)
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(b.ID, 100))
		must(t, err)
		sign, signKey := pemPair(t, "signer", signUsage, 0)
		newer, _ := pemPair(t, "newer", signUsage|x509.KeyUsageKeyEncipherment, 0, func(c *x509.Certificate) { c.NotBefore = c.NotBefore.AddDate(0, 1, 0) })
		encrypt, encryptKey := pemPair(t, "recipient", encryptUsage, 1)
		login, _ := pemPair(t, "login", x509.KeyUsageDigitalSignature, 0)
		authority, _ := pemPair(t, "root", x509.KeyUsageCertSign, 1, func(c *x509.Certificate) { c.IsCA = true })
		for _, tc := range []struct{ field, certificates, keys string }{
			{"certificates", "", signKey},
			{"certificates", signKey, signKey},
			{"certificates", login, signKey},
			{"certificates", authority, encryptKey},
			{"privateKeys", sign, encryptKey},
			{"privateKeys", sign, ""},
			{"privateKeys", sign, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----"},
		} {
			_, err := w.AMQP.AddCertificates(ctx, w.admin, own.ID, tc.certificates, tc.keys)
			wantField(t, tc.field, err)
		}
		n, err := w.AMQP.AddCertificates(ctx, w.admin, own.ID, sign+authority+newer+encrypt, signKey+encryptKey)
		if err != nil || n != 4 {
			t.Fatalf("added %d, %v", n, err)
		}
		if n, err = w.AMQP.AddCertificates(ctx, w.admin, own.ID, encrypt, encryptKey); err != nil || n != 0 {
			t.Errorf("added %d again, %v", n, err)
		}
		w.checkOwnKeys(t, own)
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		party, err := w.AMQP.CreateCounterpart(ctx, anna, w.amqpEndpoint(t, anna).ID, healthParty(b.ID, 200))
		must(t, err)
		_, err = w.AMQP.AddCertificates(ctx, anna, party.ID, sign, signKey)
		wantField(t, "privateKeys", err)
		if n, err := w.AMQP.AddCertificates(ctx, anna, party.ID, sign, ""); err != nil || n != 1 {
			t.Errorf("added %d, %v", n, err)
		}
	})
}

func (w *world) checkOwnKeys(t *testing.T, own store.AMQPParty) {
	t.Helper()
	ctx := t.Context()
	pairs, err := w.AMQP.OwnKeys(ctx, own.ID)
	if err != nil || len(pairs) != 4 {
		t.Fatalf("%d keys, %v", len(pairs), err)
	}
	var names []string
	for _, p := range pairs {
		names = append(names, p.Purpose+" "+p.Certificate.Subject.CommonName)
		if p.Certificate.Subject.CommonName == "signer" && len(p.Chain) != 1 {
			t.Error("the chain is lost")
		}
	}
	if names[0] != "encrypt newer" && names[0] != "sign newer" {
		t.Errorf("the newest is not first: %v", names)
	}
	rows, err := w.AMQP.Certificates(ctx, w.admin.Scope(), own.ID)
	must(t, err)
	for _, row := range rows {
		if row.PrivateKey != "" {
			t.Error("a private key came out")
		}
	}
	must(t, w.AMQP.RemoveCertificate(ctx, w.admin, own.ID, rows[0].ID))
	if pairs, _ = w.AMQP.OwnKeys(ctx, own.ID); len(pairs) != 3 {
		t.Errorf("%d keys are left", len(pairs))
	}
}

// recipient subscribes an endpoint of the own organisation to an event type.
func (w *world) recipient(t *testing.T, eventType string) store.Subscription {
	t.Helper()
	sub := store.Subscription{Status: store.SubscriptionApproved, Types: []string{eventType}}
	must(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		own, err := tx.OwnPartner(t.Context())
		if err != nil {
			return err
		}
		e := store.Endpoint{PartnerID: own.ID, Name: "Inbox", Kind: store.EndpointPull, Status: store.EndpointActive}
		if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
			return err
		}
		sub.PartnerID, sub.EndpointID = own.ID, e.ID
		return tx.InsertSubscription(t.Context(), &sub)
	}))
	return sub
}

// A process needs a recipient of what it takes in. An administrator cannot agree one without, nor end the last subscription; while
// it is suspended the process is listed.
//
// Rules: AMQP-09, AMQP-16.
func TestProcessNeedsARecipient(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, broker := t.Context(), w.broker(t)
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(broker.ID, 100))
		must(t, err)
		_, staff := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		theirs, err := w.AMQP.CreateCounterpart(ctx, w.admin, w.amqpEndpoint(t, staff).ID, healthParty(broker.ID, 200))
		must(t, err)
		in := registryamqp.ProcessInput{OwnPartyID: own.ID, Name: "Dialogue", Subject: "DIALOG_INNBYGGER_EKONTAKT", Mode: store.AMQPAsync, Receives: "no.example.came"}
		_, err = w.AMQP.AddProcess(ctx, w.admin, theirs.ID, in)
		wantField(t, "receives", err)
		sub := w.recipient(t, "no.example.came")
		process, err := w.AMQP.AddProcess(ctx, w.admin, theirs.ID, in)
		must(t, err)
		orphans := func(want int) {
			t.Helper()
			list, err := w.AMQP.Orphans(ctx, registry.Scope{All: true})
			if err != nil || len(list) != want || want > 0 && (list[0].ID != process.ID || list[0].Party != theirs.Name) {
				t.Errorf("%+v, %v; want %d", list, err, want)
			}
		}
		orphans(0)
		err = w.Subscriptions.End(ctx, w.admin, sub.ID, "not needed")
		wantCode(t, "end of the last", registry.CodeConflict, err)
		if !strings.Contains(err.Error(), "Dialogue") || !strings.Contains(err.Error(), "no.example.came") {
			t.Error(err)
		}
		wantCode(t, "end of its endpoint", registry.CodeConflict, w.Endpoints.End(ctx, w.admin, sub.EndpointID, "not needed"))
		must(t, w.Subscriptions.Suspend(ctx, w.admin, sub.ID, "broken"))
		orphans(1)
		in.Receives = "no.example.other"
		_, err = w.AMQP.UpdateProcess(ctx, w.admin, theirs.ID, process.ID, in)
		wantField(t, "receives", err)
		must(t, w.Subscriptions.Resume(ctx, w.admin, sub.ID))
		other := w.recipient(t, "no.example.came")
		must(t, w.Subscriptions.End(ctx, w.admin, sub.ID, "the other has it"))
		orphans(0)
		wantCode(t, "end of the last", registry.CodeConflict, w.Subscriptions.End(ctx, w.admin, other.ID, "not needed"))
	})
}

// Every field of a broker is judged, and secrets go in and never come out.
func TestAMQPBrokers(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		cert, key := pemPair(t, "schakel", signUsage, 0)
		_, otherKey := pemPair(t, "other", signUsage, 1)
		for _, tc := range []struct {
			field string
			edit  func(*registryamqp.BrokerInput)
		}{
			{"name", func(in *registryamqp.BrokerInput) { in.Name = "x" }},
			{"dialect", func(in *registryamqp.BrokerInput) { in.Dialect = "kafka" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "https://broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqp://broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://me:secret@broker.example" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://broker.example/vhost" }},
			{"url", func(in *registryamqp.BrokerInput) { in.URL = "amqps://broker.example?x=1" }},
			{"namespace", func(in *registryamqp.BrokerInput) { in.Namespace = "a b" }},
			{"sasl", func(in *registryamqp.BrokerInput) { in.SASL = "kerberos" }},
			{"username", func(in *registryamqp.BrokerInput) { in.Username = "" }},
			{"password", func(in *registryamqp.BrokerInput) { in.Password = "" }},
			{"ca", func(in *registryamqp.BrokerInput) { in.CA = "no PEM" }},
			{"ca", func(in *registryamqp.BrokerInput) { in.CA = key }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.SASL = store.AMQPExternal }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.PrivateKey = key }},
			{"certificate", func(in *registryamqp.BrokerInput) { in.Certificate = cert + cert }},
			{"privateKey", func(in *registryamqp.BrokerInput) { in.Certificate = cert }},
			{"privateKey", func(in *registryamqp.BrokerInput) { in.Certificate, in.PrivateKey = cert, otherKey }},
		} {
			in := goodBroker()
			tc.edit(&in)
			_, err := w.AMQP.CreateBroker(ctx, w.admin, in)
			wantField(t, tc.field, err)
		}
		in := goodBroker()
		in.Certificate, in.PrivateKey, in.CA = cert, key, cert
		row, err := w.AMQP.CreateBroker(ctx, w.admin, in)
		must(t, err)
		_, err = w.AMQP.CreateBroker(ctx, w.admin, in)
		wantField(t, "name", err)
		w.checkBrokerSecrets(t, row)
		w.checkBrokerChanges(t, row)
	})
}

func (w *world) checkBrokerSecrets(t *testing.T, row store.AMQPBroker) {
	t.Helper()
	ctx := t.Context()
	if row.Secret != "sealed" || row.PrivateKey != "sealed" {
		t.Errorf("a secret came out: %+v", row)
	}
	stored, err := w.db.AMQPBroker(ctx, row.ID)
	must(t, err)
	if strings.Contains(stored.Secret, "secret") || !strings.HasPrefix(stored.PrivateKey, "v1.") {
		t.Error("a secret is not sealed")
	}
	password, client, ca, err := w.AMQP.BrokerSecrets(ctx, stored)
	if err != nil || password != "top secret" || client == nil || client.Leaf.Subject.CommonName != "schakel" || ca == nil {
		t.Errorf("opened %q %v %v %v", password, client, ca, err)
	}
	stored.Secret = stored.PrivateKey
	if _, _, _, err := w.AMQP.BrokerSecrets(ctx, stored); err == nil {
		t.Error("a key opens as a password")
	}
}

func (w *world) checkBrokerChanges(t *testing.T, row store.AMQPBroker) {
	t.Helper()
	ctx := t.Context()
	in := registryamqp.InputOfBroker(row)
	in.Name = "Exchange"
	if _, err := w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in); err != nil {
		t.Fatal(err)
	}
	stored, err := w.db.AMQPBroker(ctx, row.ID)
	must(t, err)
	if password, client, _, err := w.AMQP.BrokerSecrets(ctx, stored); err != nil || password != "top secret" || client == nil {
		t.Errorf("secrets were lost: %v", err)
	}
	in.URL = "amqps://elsewhere.example"
	_, err = w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in)
	wantField(t, "password", err)
	wantField(t, "privateKey", err)
	in.URL, in.Password, in.PrivateKey, in.Certificate, in.SASL = "amqp://127.0.0.1:5672", "", "", "", store.AMQPAnonymous
	changed, err := w.AMQP.UpdateBroker(ctx, w.admin, row.ID, in)
	if err != nil || changed.Secret != "" || changed.PrivateKey != "" || changed.Certificate != "" {
		t.Errorf("secrets stayed: %+v %v", changed, err)
	}
	must(t, w.AMQP.RemoveBroker(ctx, w.admin, row.ID))
	if got := w.lastSentence(t); !strings.Contains(got, "removed message broker Exchange") {
		t.Error(got)
	}
	_, actor := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
	_, errList := w.AMQP.Brokers(ctx, actor)
	_, errGet := w.AMQP.Broker(ctx, actor, row.ID)
	_, errMake := w.AMQP.CreateBroker(ctx, actor, goodBroker())
	_, errChange := w.AMQP.UpdateBroker(ctx, actor, row.ID, goodBroker())
	for _, err := range []error{errList, errGet, errMake, errChange, w.AMQP.RemoveBroker(ctx, actor, row.ID)} {
		wantCode(t, "by a partner", registry.CodeForbidden, err)
	}
}
