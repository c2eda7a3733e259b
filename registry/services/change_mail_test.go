package services

import (
	"strings"
	"testing"

	registryamqp "schakel/registry/amqp"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
)

// Who changes the queue or the certificates of a party, a broker, the numbers of a partner or its keys is told to the managers of the partner and the
// administrators, and who changes a setting to the administrators, with what was and is; secrets are not told, and what changed nothing is not.
func TestChangesAreMailed(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		all := []string{"admin@example.nl", "anna@noord.example"}
		told := func(to []string, words ...string) {
			t.Helper()
			for _, email := range to {
				mails := w.mailsTo(t, email)
				if len(mails) == 0 {
					t.Fatalf("%s got no mail", email)
				}
				text := mails[0].Subject + "\n" + mails[0].Body
				for _, word := range words {
					if !strings.Contains(text, word) {
						t.Errorf("%s was mailed %q, without %q", email, text, word)
					}
				}
				if strings.Contains(text, "hush") {
					t.Errorf("a secret was mailed: %s", text)
				}
			}
		}
		b := w.broker(t)
		told(all[:1], "Broker "+b.Name+" was changed", "Address: none → "+b.URL, "Password: replaced")
		in := goodBroker()
		in.URL, in.Password = "amqps://elsewhere.example:5671", "hush-hush"
		_, err := w.AMQP.UpdateBroker(ctx, w.admin, b.ID, in)
		must(t, err)
		told(all[:1], "Address: "+b.URL+" → amqps://elsewhere.example:5671", "Password: replaced", "/admin/amqp/brokers/"+b.ID)

		party, err := w.AMQP.CreateCounterpart(ctx, anna, w.amqpEndpoint(t, anna).ID, healthParty(b.ID, 200))
		must(t, err)
		told(all, "AMQP party Legekontor of Scholengroep Noord was changed", "Asynchronous queue: none → 200_async", "HER-id: none → 200")
		moved := healthParty(b.ID, 200)
		moved.AsyncQueue = "200_elsewhere"
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, moved)
		must(t, err)
		told(all, "Asynchronous queue: 200_async → 200_elsewhere", "/amqp/parties/"+party.ID)
		cert, _ := pemPair(t, "recipient", encryptUsage, 1)
		_, err = w.AMQP.AddCertificates(ctx, anna, party.ID, cert, "")
		must(t, err)
		told(all, "Certificates: none → CN=recipient")
		own, err := w.AMQP.CreateOwnParty(ctx, w.admin, healthParty(b.ID, 100))
		must(t, err)
		dialogue := registryamqp.ProcessInput{OwnPartyID: own.ID, Name: "Dialogue", Subject: "DIALOG_INNBYGGER_EKONTAKT", Mode: store.AMQPAsync, Sends: "no.example.sent"}
		process, err := w.AMQP.AddProcess(ctx, w.admin, party.ID, dialogue)
		must(t, err)
		told(all, "AMQP party Legekontor of Scholengroep Noord was changed", "Process Dialogue: none → ", "no.example.sent")
		dialogue.Sends = "no.example.other"
		_, err = w.AMQP.UpdateProcess(ctx, w.admin, party.ID, process.ID, dialogue)
		must(t, err)
		told(all, "no.example.sent", "no.example.other")
		must(t, w.AMQP.RemoveProcess(ctx, w.admin, party.ID, process.ID))
		told(all, "Process Dialogue: ", " → none")

		values := map[string]string{"tokens.client_auth": "client_secret_post", "idempotency.ttl": "200h"}
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: values})
		must(t, err)
		told(all[:1], "The settings of the chain collaboration were changed", "Lifetime of a key: 7 days → 8 d 8 h", "Changed by "+w.admin.Name, "/admin/settings")

		n := len(w.mailsTo(t, all[0]))
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Version: 1, Values: values})
		must(t, err)
		_, err = w.AMQP.UpdateParty(ctx, w.admin, party.ID, moved)
		must(t, err)
		if now := len(w.mailsTo(t, all[0])); now != n {
			t.Errorf("%d mails of a change of nothing", now-n)
		}

		_, plain, err := w.ReadKeys.Create(ctx, w.admin, p.ID, identity.NewReadKey{Name: "Renovate"})
		must(t, err)
		told(all, "Scholengroep Noord has a new read-only key", "Read-only key: none → Renovate")
		if body := w.mailsTo(t, all[1])[0].Body; strings.Contains(body, plain) {
			t.Errorf("the key was mailed: %s", body)
		}
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, partners.Registration{
			Name: p.Name, OIN: "00000003273229730000", Contact: partners.Contact{Name: p.ContactName, Email: p.ContactEmail, Phone: p.ContactPhone},
		}))
		told(all, "The registration of Scholengroep Noord was changed", "OIN: "+goodOIN+" → 00000003273229730000")

		other, _ := w.partner(t, "Leerlingzorg Zuid", "00000003123456780000", "bob@zuid.example")
		route, err := w.Routes.Add(ctx, w.admin, partners.NewRoute{FromPartnerID: p.ID, ToPartnerID: other.ID, EventType: "nl.example.left"})
		must(t, err)
		told(all, "A route from Scholengroep Noord to Leerlingzorg Zuid was changed", "Events of type nl.example.left go from the one to the other: No → Yes")
		must(t, w.Routes.Remove(ctx, w.admin, route.ID))
		told(all, "Yes → No")
	})
}
