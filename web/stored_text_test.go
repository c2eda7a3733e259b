package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// What the engine stores of a delivery, an attempt, an endpoint and a subscription is read in the language of its reader,
// and what an older version stored as it stands.
func TestStoredTextsAreOfTheReader(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	d, issue := w.fails(w.first, "status-503")
	verdict := webhook.Verdict(webhook.Outcome{Status: 503}, webhook.Facts{Attempt: 3, Schedule: webhook.Schedule{MaxAttempts: 3}})
	refused := webhook.Verdict(webhook.Outcome{Status: 403}, webhook.Facts{})
	unreachable := webhook.Verdict(webhook.Outcome{Kind: outbound.KindConnect, Detail: "connection refused"}, webhook.Facts{})
	stopped := i18n.M("verdict.circuit-suspended", w.clock.Now(), unreachable.Detail)
	_, pool := w.db.Pools()
	for _, change := range []struct {
		statement, text, id string
	}{
		{`UPDATE delivery SET detail = ? WHERE id = ?`, string(verdict.Detail), d.ID},
		{`UPDATE issue SET detail = ? WHERE id = ?`, string(verdict.Detail), issue.ID},
		{`UPDATE attempt SET error = ? WHERE delivery_id = ?`, "verdict.error.stopped", d.ID},
		{`UPDATE endpoint SET status = 'suspended', status_reason = ? WHERE id = ?`, string(stopped), w.first.endpoint},
		{`UPDATE subscription SET status_reason = ? WHERE id = ?`, string(refused.Detail), w.first.subscription},
	} {
		if _, err := pool.ExecContext(ctx, change.statement, change.text, change.id); err != nil {
			t.Fatal(err)
		}
	}
	w.write(func(tx *store.Tx) error {
		a := store.Audit{
			ActorKind: "system", ActorName: "Schakel", Action: "endpoint.suspended", ObjectKind: "endpoint", ObjectID: w.first.endpoint, ObjectName: "Hook", PartnerID: w.first.id,
			Detail: `{"reason":` + quoted(string(stopped)) + `}`,
		}
		return tx.InsertAudit(ctx, a)
	})
	pages := map[string]map[i18n.Lang]string{
		"/admin/deliveries/" + d.ID:                          {"en": "All attempts are used up. Resend when the receiver works again. The last attempt: The receiver answered 503.", "nl": "Alle pogingen zijn gedaan. Verzend opnieuw als de ontvanger weer werkt. De laatste poging: De ontvanger antwoordde 503.", "nb": "Det siste forsøket: Mottakeren svarte 503."},
		"/partner/deliveries/" + d.ID:                        {"nl": "Het verzoek is aan onze kant gestopt.", "nb": "Forespørselen ble stanset hos oss."},
		"/partner/issues/" + issue.ID:                        {"nl": "De ontvanger antwoordde 503."},
		"/admin/endpoints/" + w.first.endpoint:               {"en": "The receiver could not be reached. (connection refused)", "nl": "De afleveringen zijn geschorst. Herstel de ontvanger en hervat dan het afleverpunt. De ontvanger was niet bereikbaar. (connection refused)"},
		"/partner/endpoints/" + w.first.endpoint:             {"nb": "Leveringene er suspendert."},
		"/partner/subscriptions/" + w.first.subscription:     {"nl": "De ontvanger antwoordde 403. Het afleverpunt is geschorst."},
		"/partner/audit":                                     {"nl": "De afleveringen zijn geschorst."},
		"/admin/audit/export?format=ndjson":                  {"nl": "Its deliveries are suspended."},
		"/partner/deliveries/export?format=csv&status=dead":  {"nl": "Alle pogingen zijn gedaan."},
		"/admin/deliveries/export?format=ndjson&status=dead": {"nb": "Alle forsøk er brukt opp."},
	}
	for path, texts := range pages {
		reader := w.admin
		if strings.HasPrefix(path, "/partner") {
			reader = w.first.browser
		}
		for lang, want := range texts {
			page := text(reader.in(t, lang, path))
			if !strings.Contains(page, want) {
				t.Errorf("%s in %s lacks %q", path, lang, want)
			}
			if strings.Contains(page, "verdict.") || strings.ContainsRune(page, '\x1f') {
				t.Errorf("%s in %s shows a key", path, lang)
			}
		}
	}
	if _, err := pool.ExecContext(ctx, `UPDATE endpoint SET status_reason = ? WHERE id = ?`, "Nothing has arrived, 100% sure.", w.first.endpoint); err != nil {
		t.Fatal(err)
	}
	wantWords(t, text(w.admin.in(t, i18n.Dutch, "/admin/endpoints/"+w.first.endpoint)), "Nothing has arrived, 100% sure.")
}

// What the register and the database settle by themselves, and what a publisher of a dataset got wrong, is told in the language of the reader.
func TestWhatTheProgramSettlesIsToldInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	late := w.deliver(w.event(event.DataNone, ""), w.other)
	_, pool := w.db.Pools()
	must(pool.ExecContext(ctx, `UPDATE delivery SET key_expires_at = 1, due_at = 1 WHERE id = ?`, late.ID))(t)
	w.write(func(tx *store.Tx) error { _, err := tx.ExpireKeys(ctx, 10); return err })
	noError(t, w.reg.Endpoints.End(ctx, w.portalHarness.admin, w.first.endpoint, "It moved."))
	for lang, texts := range map[i18n.Lang][2]string{
		"en": {"The idempotency key expired before the event arrived.", "The endpoint ended."},
		"nl": {"De idempotentiesleutel verliep voordat de gebeurtenis aankwam.", "Het afleverpunt is beëindigd."},
		"nb": {"Idempotensnøkkelen utløp før hendelsen kom fram.", "Endepunktet er avsluttet."},
	} {
		wantWords(t, text(w.other.browser.in(t, lang, "/partner/deliveries/"+late.ID)), texts[0])
		wantWords(t, text(w.first.browser.in(t, lang, "/partner/subscriptions/"+w.first.subscription)), texts[1])
	}

	refused := &ingest.Refused{Problems: []ingest.Problem{
		{File: "a.xml", Line: 1234, Group: 2, Detail: "datasets.problem.group-empty", Remedy: "datasets.remedy.leave-out"}, {Detail: "datasets.problem.neither"},
	}}
	if got, want := refused.Error(), "a.xml, line 1234, group 2: The group has no mutations. Leave it out. (and 1 more)"; got != want {
		t.Errorf("in English %q, want %q", got, want)
	}
	dutch := i18n.With(ctx, i18n.NewLocale(i18n.Dutch, time.UTC))
	if got, want := i18n.Message(string(refused.Text())).In(dutch), "a.xml, regel 1234, groep 2: De groep heeft geen mutaties. Laat de groep weg. (en nog 1)"; got != want {
		t.Errorf("in Dutch %q, want %q", got, want)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
