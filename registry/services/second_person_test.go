package services

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/templates/i18n"
)

// set gives settings other values, as whoever has the command line.
func (w *world) set(t *testing.T, actor registry.Actor, keysAndValues ...string) error {
	t.Helper()
	state, err := w.Profile.Load(t.Context())
	must(t, err)
	values := state.Values()
	for i := 0; i < len(keysAndValues); i += 2 {
		values[keysAndValues[i]] = keysAndValues[i+1]
	}
	_, _, err = w.Profile.Save(t.Context(), actor, profile.ProfileChange{Version: state.Version, Values: values})
	return err
}

// waitsForSecond gives the id of the action that an error says waits for a second person.
func waitsForSecond(t *testing.T, what string, err error) string {
	t.Helper()
	waits, ok := errors.AsType[*registry.Waits](err)
	if !ok {
		t.Fatalf("%s does not wait for a second person: %v", what, err)
	}
	return waits.ID
}

// second makes a second administrator.
func (w *world) second(t *testing.T) registry.Actor {
	t.Helper()
	account, _, err := w.Accounts.Invite(t.Context(), registry.SystemActor(), identity.NewAccount{Email: "bea@office.example", Name: "Bea", Role: store.RoleAdministrator})
	must(t, err)
	account.Status = store.AccountActive
	must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateAccount(t.Context(), &account) }))
	return registry.AccountActor(account)
}

// Where approvals take two, no administrator alone gives a client of the own organisation more to do or other keys to read with, nor lets another
// issuer speak for a client: whoever took over one account would publish and read by that.
func TestOneAdministratorGrantsNoClient(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea := t.Context(), w.second(t)
		w.configure(t, func(c *registry.Config) { c.TokenIssuers = []string{"other"} })
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval", "tokens.client_auth", "client_secret_post"))
		reader, _, err := w.Clients.Create(ctx, w.admin, "", identity.NewClient{Name: "Reader", AuthMethod: token.ClientSecretBasic, Scopes: []string{identity.ScopeEventsConsume}})
		must(t, err)
		must(t, w.set(t, registry.SystemActor(), "access.two_people_approvals", "on"))

		in := publisher()
		in.Scopes = append(in.Scopes, identity.ScopeEventsConsume, identity.ScopeRegistryRead)
		made, _, err := w.Clients.Create(ctx, w.admin, "", in)
		must(t, err)
		if len(made.Scopes) != 1 || made.Scopes[0] != identity.ScopeRegistryRead || len(made.PublishTypes) > 0 || len(made.PublishSources) > 0 || !made.Waiting() {
			t.Fatalf("one administrator grants a new client %v, %v, %v", made.Scopes, made.PublishTypes, made.PublishSources)
		}
		more := identity.NewClient{Name: "Reader", Scopes: []string{identity.ScopeEventsConsume, identity.ScopeRegistryWrite}}
		changed, err := w.Clients.Update(ctx, w.admin, reader.ID, more)
		if err != nil || changed.Scopes.Contains(identity.ScopeRegistryWrite) || !changed.RequestedScopes.Contains(identity.ScopeRegistryWrite) {
			t.Fatalf("one administrator grants %v, %v", changed.Scopes, err)
		}
		before := changed.SecretHash
		if changed, _, err = w.Clients.RotateSecret(ctx, w.admin, reader.ID); err != nil || changed.SecretHash != before || changed.RequestedKeys == "" {
			t.Fatalf("a secret of one administrator reads at once: %+v, %v", changed, err)
		}

		_, err = w.Clients.Decide(ctx, w.admin, reader.ID, identity.Decision{Approve: true})
		id := waitsForSecond(t, "what a client of ours asks for", err)
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		done, err := w.db.Client(ctx, reader.ID)
		must(t, err)
		if !done.Scopes.Contains(identity.ScopeRegistryWrite) || done.SecretHash == before || done.Waiting() {
			t.Fatalf("confirmed: %+v", done)
		}

		p := store.Partner{Name: "Noord", Status: store.PartnerApproved}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertPartner(ctx, &p) }))
		client := store.Client{PartnerID: p.ID, Name: "Robot", Status: store.ClientActive, AuthMethod: token.PrivateKeyJWT, Scopes: store.Strings{identity.ScopeEventsConsume}}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertClient(ctx, &client) }))
		_, err = w.Clients.SetExternalName(ctx, w.admin, client.ID, identity.ExternalName{Issuer: "other", ID: "mine"})
		id = waitsForSecond(t, "the name of a client at another issuer", err)
		if c, err := w.db.Client(ctx, client.ID); err != nil || c.ExternalID != "" {
			t.Fatalf("named before it is confirmed: %+v, %v", c, err)
		}
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if c, err := w.db.Client(ctx, client.ID); err != nil || c.ExternalID != "mine" || c.ExternalIssuer != "other" {
			t.Fatalf("confirmed: %+v, %v", c, err)
		}
		if _, err = w.Clients.SetExternalName(ctx, w.admin, client.ID, identity.ExternalName{}); err != nil {
			t.Errorf("what takes a name away waits: %v", err)
		}
	})
}

// Where approvals take two, no administrator alone lets new destinations count without one.
func TestOneAdministratorFreesNoDestination(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		bea := w.second(t)
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval"))
		must(t, w.set(t, w.admin, "sending.new_destination", "proof"))
		must(t, w.set(t, w.admin, "sending.new_destination", "approval", "access.two_people_approvals", "on"))
		for _, to := range []string{"at-once", "proof"} {
			id := waitsForSecond(t, "new destinations "+to, w.set(t, w.admin, "sending.new_destination", to))
			must(t, w.Confirmations.Withdraw(t.Context(), w.admin, id))
		}
		id := waitsForSecond(t, "new destinations at once", w.set(t, w.admin, "sending.new_destination", "at-once"))
		must(t, w.Confirmations.Confirm(t.Context(), bea, id))
		must(t, w.set(t, w.admin, "sending.new_destination", "approval"))
	})
}

// Where approvals take two, no administrator alone sends messages of a party to another queue, lets others read them, or chooses the first destination
// of a subscription that was approved. What goes nowhere else counts at once.
func TestOneAdministratorMovesNoQueue(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea, b := t.Context(), w.second(t), w.broker(t)
		p, anna := w.partner(t, "Legekontor", goodOIN, "anna@noord.example")
		e, fresh := w.amqpEndpoint(t, anna), w.amqpEndpoint(t, anna)
		party, err := w.AMQP.CreateCounterpart(ctx, w.admin, e.ID, healthParty(b.ID, 200))
		must(t, err)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			for _, endpoint := range []string{e.ID, fresh.ID} {
				sub := store.Subscription{PartnerID: p.ID, EndpointID: endpoint, Status: store.SubscriptionApproved}
				if err := tx.InsertSubscription(ctx, &sub); err != nil {
					return err
				}
			}
			return nil
		}))
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval", "access.two_people_approvals", "on"))
		now := func() store.AMQPParty {
			found, err := w.db.AMQPParty(ctx, party.ID)
			must(t, err)
			return found
		}

		in := registryamqp.InputOfParty(party)
		in.Name = "Legekontor Nord"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		wantCode(t, "another name", "", err)
		in.AsyncQueue = "elsewhere_async"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		id := waitsForSecond(t, "another queue", err)
		if row, err := w.Confirmations.Get(ctx, bea, id); err != nil || now().AsyncQueue != "200_async" || !slices.ContainsFunc(row.Changes, func(s string) bool {
			return strings.Contains(i18n.Message(s).String(), "200_async → elsewhere_async")
		}) {
			t.Fatalf("asked: %+v, %v", row.Changes, err)
		}
		wantCode(t, "one's own", registry.CodeForbidden, w.Confirmations.Confirm(ctx, w.admin, id))
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if now().AsyncQueue != "elsewhere_async" {
			t.Fatalf("confirmed: %+v", now())
		}
		in.BrokerID = "amb_none"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		wantField(t, "brokerId", err)

		certificate, _ := pemPair(t, "reader", encryptUsage, 0)
		_, err = w.AMQP.AddCertificates(ctx, w.admin, party.ID, certificate, "")
		id = waitsForSecond(t, "another certificate", err)
		if there, err := w.db.AMQPCertificates(ctx, party.ID); err != nil || len(there) > 0 {
			t.Fatalf("a certificate of one administrator counts: %v, %v", there, err)
		}
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if there, err := w.db.AMQPCertificates(ctx, party.ID); err != nil || len(there) != 1 {
			t.Fatalf("confirmed: %v, %v", there, err)
		}
		_, err = w.AMQP.TakeImport(ctx, w.admin, []byte(communicationJSON(200, "from_the_document")), 200)
		id = waitsForSecond(t, "queues of a document", err)
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if now().AsyncQueue != "host/ns/from_the_document" {
			t.Fatalf("taken over: %+v", now())
		}
		_, err = w.AMQP.CreateCounterpart(ctx, w.admin, fresh.ID, healthParty(b.ID, 300))
		id = waitsForSecond(t, "the first destination of what was approved", err)
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if made, err := w.db.AMQPPartyByEndpoint(ctx, fresh.ID); err != nil || made.HerID != 300 {
			t.Fatalf("confirmed: %+v, %v", made, err)
		}
		_, err = w.AMQP.UpdateParty(ctx, anna, party.ID, in)
		if _, waits := errors.AsType[*registry.Waits](err); waits {
			t.Error("a change by a partner waits for a second administrator")
		}
	})
}

// Where approvals take two, no administrator alone gives a partner that was approved other numbers: by them certificates and logins of providers are taken
// for the partner's. A contact person is corrected at once.
func TestOneAdministratorRenumbersNoPartner(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea := t.Context(), w.second(t)
		p, _ := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		waiting := w.register(t, "Leerlingzorg Zuid", "00000003123456780000", "bob@zuid.example")
		must(t, w.set(t, registry.SystemActor(), "access.two_people_approvals", "on"))
		number := func() string {
			found, err := w.db.Partner(ctx, p.ID)
			must(t, err)
			return found.OIN
		}
		in := registration(p.Name, goodOIN, "anna@noord.example")
		in.Contact.Name = "Anna Bakker"
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, in))
		in.OIN = "00000003876543210000"
		id := waitsForSecond(t, "another OIN", w.Partners.Correct(ctx, w.admin, p.ID, in))
		row, err := w.Confirmations.Get(ctx, bea, id)
		if err != nil || number() != goodOIN || !slices.ContainsFunc(row.Changes, func(s string) bool { return strings.Contains(i18n.Message(s).String(), goodOIN+" → "+in.OIN) }) {
			t.Fatalf("asked: %+v, %s, %v", row.Changes, number(), err)
		}
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		if number() != in.OIN {
			t.Errorf("confirmed: %s", number())
		}
		must(t, w.Partners.Correct(ctx, w.admin, waiting.ID, registration(waiting.Name, "00000003111222330000", waiting.ContactEmail))) // its approval shows them
	})
}

// Where approvals take two, no administrator alone has messages go by another broker, or proves us otherwise there. The secrets of what waits are sealed.
func TestOneAdministratorMovesNoBroker(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea, b := t.Context(), w.second(t), w.broker(t)
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval", "access.two_people_approvals", "on"))
		in := registryamqp.InputOfBroker(b)
		in.Name = "Exchange"
		_, err := w.AMQP.UpdateBroker(ctx, w.admin, b.ID, in)
		wantCode(t, "another name", "", err)
		in.URL, in.Password = "amqps://elsewhere.example", "another secret"
		_, err = w.AMQP.UpdateBroker(ctx, w.admin, b.ID, in)
		id := waitsForSecond(t, "another broker", err)
		row, err := w.Confirmations.Get(ctx, bea, id)
		told := func(words string) bool {
			return slices.ContainsFunc(row.Changes, func(s string) bool { return strings.Contains(i18n.Message(s).String(), words) })
		}
		if err != nil || strings.Contains(row.Args, "another secret") || !told(b.URL+" → "+in.URL) || !told("Password: replaced") {
			t.Fatalf("asked: %+v, %q, %v", row.Changes, row.Args, err)
		}
		stored, err := w.db.AMQPBroker(ctx, b.ID)
		if err != nil || stored.URL != b.URL || stored.Name != "Exchange" {
			t.Fatalf("before it is confirmed: %+v, %v", stored, err)
		}
		must(t, w.Confirmations.Confirm(ctx, bea, id))
		stored, err = w.db.AMQPBroker(ctx, b.ID)
		must(t, err)
		if password, _, _, err := w.AMQP.BrokerSecrets(ctx, stored); err != nil || password != "another secret" || stored.URL != in.URL {
			t.Errorf("confirmed: %+v, %q, %v", stored, password, err)
		}
		in.URL = ""
		_, err = w.AMQP.UpdateBroker(ctx, w.admin, b.ID, in)
		wantField(t, "url", err)
	})
}

// tells reports whether an action that waits tells a second person some words.
func (w *world) tells(t *testing.T, actor registry.Actor, id, words string) bool {
	t.Helper()
	row, err := w.Confirmations.Get(t.Context(), actor, id)
	must(t, err)
	return slices.ContainsFunc(row.Changes, func(s string) bool { return strings.Contains(i18n.Message(s).String(), words) })
}

// A second person is told the address of the broker by which messages would go: its name is chosen by whoever asks.
func TestSecondPersonSeesTheBroker(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx, bea, b := t.Context(), w.second(t), w.broker(t)
		p, anna := w.partner(t, "Legekontor", goodOIN, "anna@noord.example")
		e := w.amqpEndpoint(t, anna)
		sub := store.Subscription{PartnerID: p.ID, EndpointID: e.ID, Status: store.SubscriptionRequested}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertSubscription(ctx, &sub) }))
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval", "access.two_people_approvals", "on"))
		other := goodBroker()
		other.Name, other.URL = b.Name+" 2", "amqps://evil.example"
		evil, err := w.AMQP.CreateBroker(ctx, w.admin, other)
		must(t, err)
		party, err := w.AMQP.CreateCounterpart(ctx, w.admin, e.ID, healthParty(evil.ID, 200))
		must(t, err)
		id := waitsForSecond(t, "a subscription", w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		if !w.tells(t, bea, id, other.URL) || !w.tells(t, bea, id, party.AsyncQueue) {
			t.Error("who confirms a subscription is not told by which broker it goes")
		}

		must(t, w.Confirmations.Confirm(ctx, bea, id))
		in := registryamqp.InputOfParty(party)
		in.BrokerID = b.ID
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, in)
		if id = waitsForSecond(t, "another broker", err); !w.tells(t, bea, id, other.URL) || !w.tells(t, bea, id, b.URL) {
			t.Error("who confirms a change of a party is not told by which broker it goes")
		}
	})
}
