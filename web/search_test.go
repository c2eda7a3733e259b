package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui/uitest"
	"schakel/web/site"
)

// find asks a question.
func (b *browser) find(question string) *http.Response {
	return b.get("/search?" + url.Values{"q": {question}}.Encode())
}

// leads reports where a search leads straight to; "" when it shows a page.
func leads(answer *http.Response) string {
	if answer.StatusCode != http.StatusSeeOther {
		return ""
	}
	return answer.Header.Get("Location")
}

// An id leads straight to what has it, for who may open that; others find nothing (guarantee G7).
func TestSearchByID(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataJSON, `{}`)
	d := w.deliver(e, w.first)
	for _, tt := range []struct {
		text           string
		admin, partner string
	}{
		{d.ID, "/admin/deliveries/" + d.ID, "/partner/deliveries/" + d.ID},
		{"  " + d.ID + " ", "/admin/deliveries/" + d.ID, "/partner/deliveries/" + d.ID},
		{e.ID, "/admin/events/" + e.ID, "/partner/deliveries/" + d.ID},
		{e.CEID, "/admin/events/" + e.ID, "/partner/deliveries/" + d.ID},
		{w.first.endpoint, "/admin/endpoints/" + w.first.endpoint, "/partner/endpoints/" + w.first.endpoint},
		{w.first.subscription, "/admin/subscriptions/" + w.first.subscription, "/partner/subscriptions/" + w.first.subscription},
		{w.first.id, "/admin/partners/" + w.first.id, "/partner/organisation"},
		{"dlv_00000000000000000000000000", "", ""},
	} {
		if got := leads(w.admin.find(tt.text)); got != tt.admin {
			t.Errorf("%s leads an administrator to %q, not %q", tt.text, got, tt.admin)
		}
		if tt.admin != "" {
			wantStatus(t, w.admin.get(tt.admin), http.StatusOK)
		}
		if got := leads(w.first.browser.find(tt.text)); got != tt.partner {
			t.Errorf("%s leads its partner to %q, not %q", tt.text, got, tt.partner)
		}
		if tt.partner != "" {
			wantStatus(t, w.first.browser.get(tt.partner), http.StatusOK)
		}
		for _, b := range []*browser{w.other.browser, w.browser()} {
			wantPage(t, b.find(tt.text), http.StatusOK, "Nothing was found")
		}
	}
}

// A word finds what has it with another ending, in another language, or what begins alike when nothing has it.
func TestSearchByOtherForms(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.write(func(tx *store.Tx) error {
		c := store.Contract{ID: "dialoog", Kind: "asyncapi", Title: "Dialoogberichten", Visibility: store.VisibilityPublic}
		v := store.ContractVersion{ContractID: c.ID, Version: "1.0.0", SortKey: "1", Status: store.VersionPublished, Original: []byte("{}")}
		if err := errors.Join(tx.InsertContract(t.Context(), &c), tx.InsertContractVersion(t.Context(), &v)); err != nil {
			return err
		}
		return tx.ReplaceEventTypes(t.Context(), v.ID, []store.EventType{{
			Name: "nl.x.bericht.v1", ContractID: c.ID, ContractVersion: v.Version, Title: "Message sent", Titles: `{"nl":"Bericht verstuurd","nb":"Melding sendt"}`,
			Status: v.Status, Visibility: c.Visibility,
		}})
	})
	b := w.first.browser
	for question, words := range map[string][]string{
		"meldinger": {"nl.x.bericht.v1", "Message sent"}, "verstuurd": {"nl.x.bericht.v1"}, "messages": {"nl.x.bericht.v1"}, "Dialoogbericht": {"Dialoogberichten"},
		"dialogmeldingen": {"Nothing has “dialogmeldingen”. This begins alike.", "Dialoogberichten"},
	} {
		page := shows(t, b.find(question), http.StatusOK, words...)
		if question != "dialogmeldingen" {
			lacks(t, page, "begins alike")
		}
	}
	shows(t, b.find("zebra"), http.StatusOK, "Nothing was found")
	shows(t, b.in(t, i18n.Norwegian, "/event-types/nl.x.bericht.v1"), http.StatusOK, "Melding sendt")
	shows(t, b.in(t, i18n.Dutch, "/event-types?q=meldingen"), http.StatusOK, "Bericht verstuurd")
}

// Words and subjects find things of every kind, each with a link that opens.
func TestSearchByWords(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t, func(cfg *site.PortalConfig) { cfg.Docs = sampleDocs() })
	own := must(w.db.OwnPartner(t.Context()))(t)
	w.write(func(tx *store.Tx) error {
		e := store.Event{ID: tx.NewID("evt"), PartnerID: own.ID, ClientID: "cli_x", CEID: "a-1", CESource: "urn:x", CEType: queueType, CESubject: "pupil/42", Attributes: []byte(`{}`), AcceptedAt: tx.Now}
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		if err != nil {
			return err
		}
		client := store.Client{PartnerID: w.first.id, Name: "Nightly loader", AuthMethod: "private_key_jwt", Status: "active"}
		if err := tx.InsertClient(t.Context(), &client); err != nil {
			return err
		}
		return tx.InsertDeliveries(t.Context(), []store.Delivery{{ID: tx.NewID("dlv"), EventID: e.ID, SubscriptionID: w.first.subscription, EndpointID: w.first.endpoint, PartnerID: w.first.id, EventType: queueType, Status: store.DeliveryPending, KeyExpiresAt: tx.Now, DueAt: tx.Now}})
	})
	partner := must(w.db.Partner(t.Context(), w.first.id))(t)
	for _, tt := range []struct {
		text, group           string
		admin, partner, guest bool
	}{
		{partner.Name, "Partners", true, false, false},
		{"hook first", "Endpoints", true, true, false},
		{"nightly", "Clients", true, true, false},
		{"pupil/42", "With this subject", true, true, false},
		{"idempotency.require_key", "Settings", true, false, false},
		{"copies", "Documentation", true, true, true},
	} {
		for name, reader := range map[string]struct {
			*browser
			finds bool
		}{"administrator": {w.admin, tt.admin}, "partner": {w.first.browser, tt.partner}, "other": {w.other.browser, tt.guest}, "visitor": {w.browser(), tt.guest}} {
			page := text(reader.find(tt.text))
			uitest.CheckPage(t, page)
			if found := strings.Contains(page, ">"+tt.group+"</h2>"); found != reader.finds {
				t.Errorf("%s finds %s for %q: %v, want %v", name, tt.group, tt.text, found, reader.finds)
			}
		}
	}
	wantWords(t, text(w.admin.find(`<script>alert(1)</script>`)), "Nothing was found", `value="&lt;script&gt;`)
	title := registryTitle(i18n.Dutch, "profile.idempotency-require-key.title")
	if page := text(w.admin.in(t, i18n.Dutch, "/search?"+url.Values{"q": {title}}.Encode())); !strings.Contains(page, "/admin/settings/edit#idempotency.require_key") {
		t.Errorf("%q does not find its setting in Dutch", title)
	}
	wantWords(t, text(w.browser().find("")), "What you can search for")
}

func registryTitle(l i18n.Lang, key i18n.Message) string {
	return key.In(i18n.With(httptest.NewRequest(http.MethodGet, "/", nil).Context(), i18n.NewLocale(l, nil)))
}

// What stands in contracts is found by whoever sees them, from the moment it is published.
func TestSearchInContracts(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	wantPage(t, o.admin.find("student"), http.StatusOK, ">Contracts</h2>", "/contracts/student-events")
	o.setVisibility(t, "student-events", store.VisibilityInternal)
	wantLink := "/contracts/student-events/versions/1.0.0/reading?"
	page := text(o.admin.find(officeType))
	wantWords(t, page, ">Event types</h2>", "/event-types/"+officeType)
	wantWords(t, page, ">In contracts</h2>", wantLink)
	for _, b := range []*browser{o.asPartner(t), o.browser()} {
		lacks(t, text(b.find(officeType)), "/contracts/student-events", "/event-types/"+officeType)
	}
	o.setVisibility(t, "student-events", store.VisibilityPublic)
	wantWords(t, text(o.browser().find(officeType)), wantLink)
}

// An AMQP message is found by each of its ids, by its partner and no other.
func TestSearchAMQP(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	m := w.message(t, "mid-1", func(m *store.AMQPMessage) { m.MsgID, m.CorrelationID, m.ConversationID = "msg-1", "cor-1", "con-1" })
	for _, id := range []string{"mid-1", "msg-1", "cor-1", "con-1", m.ID} {
		if got := leads(w.admin.find(id)); got != "/admin/amqp/messages/"+m.ID {
			t.Errorf("%s leads to %q", id, got)
		}
		if got := leads(w.staff.find(id)); got != "/partner/amqp/messages/"+m.ID {
			t.Errorf("%s leads its partner to %q", id, got)
		}
	}
}

// Mandates are found and named where they are off, with how to switch them on, in the language of the reader.
func TestMandatesAreFound(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t, func(cfg *site.PortalConfig) {
		cfg.Docs = []site.Doc{{Name: "mandates", File: "mandates.md", Audience: "For operators", Answers: "How.", Markdown: "# Mandates\n\nAsk the OSR.\n", Translations: map[i18n.Lang]string{i18n.Dutch: "# Mandaten\n\nVraag het een serviceregister.\n"}}}
	})
	wantPage(t, w.admin.get("/admin/installation"), http.StatusOK, `id="mandates"`, "--mandates", `href="/docs/mandates"`, "Off: nobody asks")
	for lang, question := range map[i18n.Lang]string{i18n.English: "mandates", i18n.Dutch: "mandaten", i18n.Norwegian: "fullmakter"} {
		wantWords(t, text(w.admin.in(t, lang, "/search?q="+question)), "/admin/installation#mandates")
	}
	wantWords(t, text(w.admin.in(t, i18n.English, "/search?q=osr")), "/admin/installation#mandates", "/docs/mandates")
	wantWords(t, text(w.first.browser.in(t, i18n.Dutch, "/search?q=serviceregister")), "/docs/mandates", "Mandaten")
	lacks(t, text(w.first.browser.in(t, i18n.English, "/search?q=mandates")), "/admin/installation")
}
