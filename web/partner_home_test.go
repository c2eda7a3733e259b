package web

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
	webpartners "schakel/web/partners"
)

func TestPartnerHome(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner")), "Next steps", "No delivery is failing now", `href="/partner/endpoints/new"`)
	endpoint := newEndpoint(t, b)
	answer := b.post(endpoint+"/test", nil)
	id := idOf(answer.Header.Get("Location"))
	ctx := t.Context()
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Delivery(ctx, id)
		if err != nil {
			return err
		}
		row.ID, row.Status, row.Detail = "dlv_dead", store.DeliveryDead, "The endpoint answered 500.\nSecond line."
		return tx.InsertDeliveries(ctx, []store.Delivery{row})
	}))
	wantWords(t, text(b.get("/partner")), "1 endpoint", "/partner/deliveries/dlv_dead", "Dead letters", "sent a test event to endpoint Records")
	wantWords(t, text(b.get("/partner/audit")), "added endpoint Records at roc.example.nl")
	wantWords(t, text(b.get("/partner/audit?until=2001-01-01")), "Nothing was changed in this period")
}

// A partner finds the entries that concern it by what was done, by whom, to what and when, keeps the filter, and takes what it finds
// along; those of another are not there, whatever it asks for.
func TestPartnerAuditFilters(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	newEndpoint(t, b)
	other, _ := h.at(t, "kim@example.nl")
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertAudit(t.Context(), store.Audit{ActorKind: "account", ActorID: "acc_ada", ActorName: "Ada", Address: "192.0.2.7", Action: "partner.suspended", ObjectKind: "partner", ObjectID: pat.PartnerID, PartnerID: pat.PartnerID, Detail: `{"reason":"=late"}`})
	}))
	added, suspended := "added endpoint Records", "Ada suspended"
	for query, found := range map[string]string{
		"action=endpoint.created": added, "action=partner.suspended": suspended, "actor=" + pat.ID: added, "text=RECORDS": added, "text=ada": suspended,
		"object=" + pat.PartnerID: suspended, "text=100%25": "", "until=2001-01-01": "",
	} {
		page := text(b.get("/partner/audit?" + query))
		file := text(b.get("/partner/audit/export?format=ndjson&" + query))
		for _, sentence := range []string{added, suspended} {
			if want := sentence == found; strings.Contains(page, sentence) != want || strings.Contains(file, sentence) != want {
				t.Errorf("%s: %q on the page %v and in the file %v, want %v", query, sentence, strings.Contains(page, sentence), strings.Contains(file, sentence), want)
			}
		}
	}
	lacks(t, text(other.get("/partner/audit?partner="+pat.PartnerID)), added)
	lacks(t, text(other.get("/partner/audit/export?partner="+pat.PartnerID)), added)
	wantWords(t, text(b.get("/partner/audit")), `href="/partner/audit/export?&amp;format=csv"`, "exported the list “audit log”")
	whole := text(b.get("/partner/audit/export?format=ndjson"))
	wantWords(t, whole, `"address":"192.0.2.1"`)
	lacks(t, whole, `"detail"`, "192.0.2.7") // the address of an administrator
	for _, path := range []string{"/partner/audit?from=never", "/partner/audit/export?from=never"} {
		wantStatus(t, b.get(path), http.StatusUnprocessableEntity)
	}
}

func TestContactPerson(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	good := func(pairs ...string) url.Values {
		return changed(url.Values{"contactName": {"Kim"}, "email": {"kim@example.nl"}, "phone": {""}}, pairs...)
	}
	for _, test := range []struct{ field, value string }{{"contactName", ""}, {"email", "kim"}, {"phone", "mobile"}} {
		answer := b.post("/partner/organisation", good(test.field, test.value))
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d", test.field, test.value, answer.StatusCode)
		}
	}
	wantRedirect(t, b.post("/partner/organisation", good()), "/partner/organisation")
	wantWords(t, text(b.get("/partner/organisation")), `value="kim@example.nl"`, "contact person is saved")
	row := must(h.db.Partner(t.Context(), pat.PartnerID))(t)
	if row.ContactEmail != "kim@example.nl" || row.Status != store.PartnerApproved {
		t.Errorf("partner %+v", row)
	}
}

// TestPartnerPagesOfAnother walks every page and action of a partner with the ids
// of another (guarantee G7).
func TestPartnerPagesOfAnother(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	owner, _ := h.at(t, "owner@example.nl")
	endpoint := newEndpoint(t, owner)
	subscription := newSubscription(t, owner, endpoint)
	_, client := newClient(t, owner, clientForm())
	thief, _ := h.at(t, "thief@example.nl")
	ids := map[string]string{"endpoints": idOf(endpoint), "subscriptions": idOf(subscription), "clients": idOf(client)}
	walked := 0
	for _, route := range h.app.Echo.Routes() {
		rest, ok := strings.CutPrefix(route.Path, "/partner/")
		noun, _, _ := strings.Cut(rest, "/")
		if id := ids[noun]; ok && id != "" && strings.Contains(rest, ":id") {
			walked++
			path := strings.Replace(route.Path, ":id", id, 1)
			answer := thief.do(route.Method, path, "reason=Not+mine&name=x")
			if answer.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: status %d", route.Method, route.Path, answer.StatusCode)
			}
			visitor := h.browser().do(route.Method, path, "")
			if to := visitor.Header.Get("Location"); visitor.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/login") {
				t.Errorf("%s %s as a visitor: status %d to %q", route.Method, route.Path, visitor.StatusCode, to)
			}
		}
	}
	if walked < 15 {
		t.Errorf("only %d routes were walked", walked)
	}
	for _, path := range []string{"/partner/endpoints", "/partner/subscriptions", "/partner/clients", "/partner", "/partner/audit"} {
		page := text(thief.get(path))
		for _, secret := range []string{ids["endpoints"], ids["subscriptions"], ids["clients"], "roc.example.nl", "Enrolments"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s shows %s of another partner", path, secret)
			}
		}
	}
}

// TestSuspendedPartnerOnlyLooks posts every form of a partner that is suspended.
func TestSuspendedPartnerOnlyLooks(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	subscription := newSubscription(t, b, endpoint)
	_, client := newClient(t, b, clientForm())
	noError(t, h.reg.Partners.Suspend(t.Context(), h.admin, pat.PartnerID, "Certificate expired."))
	reason := url.Values{"reason": {"Because."}}
	for path, form := range map[string]url.Values{
		"/partner/endpoints": endpointForm(), endpoint: endpointForm("name", "Changed"), endpoint + "/pause": reason, endpoint + "/end": reason, endpoint + "/test": nil,
		"/partner/clients": clientForm(), client: clientForm("name", "Changed"), client + "/secret": nil, client + "/revoke": reason,
		subscription + "/end":        reason,
		"/partner/subscriptions/new": {"types": {"nl.example.student.left"}, "endpoint": {idOf(endpoint)}, "purpose": {"Our records."}},
	} {
		answer := b.post(path, form)
		if answer.StatusCode != http.StatusSeeOther {
			t.Errorf("POST %s: status %d", path, answer.StatusCode)
		}
	}
	for _, path := range []string{endpoint, client, subscription, "/partner/endpoints"} {
		page := text(b.get(path))
		wantWords(t, page, "suspended")
		if strings.Contains(page, "schakel-danger") || strings.Contains(page, "Changed") {
			t.Errorf("%s still acts", path)
		}
	}
	e := must(h.db.Endpoint(t.Context(), idOf(endpoint)))(t)
	if e.Status != store.EndpointActive || e.Name != "Records" {
		t.Errorf("the endpoint changed: %s %s", e.Name, e.Status)
	}
}

func clientForm(pairs ...string) url.Values {
	return changed(url.Values{
		"name": {"Student records"}, "authMethod": {"client_secret_basic"}, "scopes": {"events.consume", "events.publish"},
		"publishTypes": {"nl.example.student.*\nnl.example.grade.given"}, "publishSources": {"urn:nld:oin:00000003123456780000:*"},
	}, pairs...)
}

// newClient adds a client by its form and gives its page and its address.
func newClient(t *testing.T, b *browser, form url.Values) (page, href string) {
	t.Helper()
	page = wantPage(t, b.post("/partner/clients", form), http.StatusOK)
	return page, strings.TrimSuffix(match(t, `/partner/clients/cli_\w+/edit`, page), "/edit")
}

func TestClientStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	page, here := newClient(t, b, clientForm())
	secret := match(t, `schs_[\w-]+`, page)
	wantWords(t, page, "cannot be shown again", "Asks for", "waits for the administrator", "curl --silent")
	for _, path := range []string{here, here + "/edit", "/partner/clients", "/partner"} {
		if strings.Contains(text(b.get(path)), "schs_") {
			t.Fatalf("the secret is on %s", path)
		}
	}
	client := must(h.db.Client(t.Context(), idOf(here)))(t)
	if client.PartnerID != pat.PartnerID || strings.Join(client.RequestedTypes, " ") != "nl.example.grade.given nl.example.student.*" || len(client.PublishTypes) != 0 {
		t.Errorf("client %+v", client)
	}
	lacks(t, text(b.get(here)), "/events/v1/events")
	must(h.reg.Clients.Decide(t.Context(), h.admin, client.ID, identity.Decision{Approve: true, Reason: "It keeps their records."}))(t)
	wantWords(t, text(b.get(here)), "/events/v1/events", "nl.example.grade.given", "Idempotency-Key")

	answer := b.post(here+"/secret", nil)
	wantStatus(t, answer, http.StatusOK)
	if again := match(t, `schs_[\w-]+`, text(answer)); again == secret {
		t.Error("the new secret is the old one")
	}
	wantRedirect(t, b.post(here, clientForm("name", "Renamed", "publishTypes", "nl.example.grade.given")), here)
	wantWords(t, text(b.get(here)), "Renamed")

	wantPage(t, b.post(here+"/revoke", url.Values{"reason": {"x"}}), http.StatusUnprocessableEntity, `href="#revoke-reason"`)
	wantRedirect(t, b.post(here+"/revoke", url.Values{"reason": {"It has leaked."}}), here)
	page = text(b.get(here))
	wantWords(t, page, "Revoked", "It has leaked.")
	lacks(t, page, "curl")
	wantRedirect(t, b.post(here+"/secret", nil), here)
	wantWords(t, text(b.get("/partner/clients?status=revoked")), "1 client")
	wantWords(t, text(b.get("/partner/clients?status=waiting")), "No client matches")
}

func TestClientWithKeysHasNoSecret(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	form := clientForm("authMethod", "private_key_jwt", "jwksUri", "https://roc.example.nl/jwks", "publishTypes", "", "publishSources", "")
	form["scopes"] = []string{"registry.read"}
	page := text(b.get(redirected(t, b.post("/partner/clients", form))))
	wantWords(t, page, "https://roc.example.nl/jwks", "client_assertion")
	lacks(t, page, "Replace the secret", "schs_")
}

func TestClientRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	tests := []struct{ field, name, value string }{
		{"name", "name", ""},
		{"authMethod", "authMethod", "password"},
		{"jwks", "jwks", "{}"},
		{"scopes", "scopes", "everything"},
		{"publishTypes", "publishTypes", ""},
		{"publishTypes", "publishTypes", "*"},
		{"publishSources", "publishSources", "https://example.nl*"},
	}
	for _, test := range tests {
		answer := b.post("/partner/clients", clientForm(test.name, test.value))
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d, or no error at %s", test.name, test.value, answer.StatusCode, test.field)
		}
	}
}

func TestExamplesStayOneShellWord(t *testing.T) {
	t.Parallel()
	client := store.Client{
		ID: "cli_1", AuthMethod: "client_secret_basic", Scopes: store.Strings{"events.publish"},
		PublishTypes: store.Strings{"nl.example.*"}, PublishSources: store.Strings{"urn:x:'$(reboot)"},
	}
	got := webpartners.PublishExample(client, nil, "https://schakel.example.nl/events/v1/events")
	wantWords(t, got, `urn:x:'\''$(reboot)`, `"type":"nl.example.example"`)
	wantWords(t, webpartners.TokenExample(client, "https://schakel.example.nl"), `--user 'cli_1' \`, "'scope=events.publish'")
	client.AuthMethod = "client_secret_post"
	wantWords(t, webpartners.TokenExample(client, "x"), "read -rs SECRET", "client_secret@-")
}

// TestClientGetsAKeyPair: a client with private_key_jwt and no keys of its own gets a pair, whose private key is shown once
// and stored nowhere, and later another beside it.
//
// Rules: SEC-02.
func TestClientGetsAKeyPair(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	form := clientForm("authMethod", "private_key_jwt", "publishTypes", "", "publishSources", "")
	form["scopes"] = []string{"registry.read"}
	page, here := newClient(t, b, form)
	wantWords(t, page, "Download as JWK", "Download as PEM", "cannot be shown again", "schakel token")
	first := privateKey(t, page)
	answer := b.post(here+"/keys", nil)
	wantStatus(t, answer, http.StatusOK)
	again := text(answer)
	second := privateKey(t, again)
	name := regexp.MustCompile(`cli_[\w-]+\.jwk\.json`)
	was, is := name.FindString(page), name.FindString(again)
	if was == is || strings.Count(page, was) < 3 || strings.Count(again, is) < 3 || strings.Contains(again, was) {
		t.Errorf("the files of two keys are %q and %q, and the commands name others", was, is)
	}
	client := must(h.db.Client(t.Context(), idOf(here)))(t)
	for _, key := range []token.ClientKey{first, second} {
		assertion := must(key.Assertion(client.ID, "https://x.example", h.clock.Now()))(t)
		signed := must(jose.ParseSignedCompact(assertion, []jose.SignatureAlgorithm{jose.ES256}))(t)
		var set jose.JSONWebKeySet
		noError(t, json.Unmarshal([]byte(client.JWKS), &set))
		found := set.Key(signed.Signatures[0].Header.KeyID)
		if len(found) != 1 || !found[0].IsPublic() {
			t.Fatalf("key of the assertion among %s", client.JWKS)
		}
		must(signed.Verify(found[0]))(t)
	}
	for _, path := range []string{here, here + "/edit"} {
		if page := text(b.get(path)); strings.Contains(page, "Download as") || strings.Contains(page, "&#34;d&#34;") {
			t.Errorf("the private key is on %s", path)
		}
	}
	wantStatus(t, b.post(here+"/revoke", url.Values{"reason": {"It has leaked."}}), http.StatusSeeOther)
	wantRedirect(t, b.post(here+"/keys", nil), here)
}

// privateKey reads the key that a page offers to download.
func privateKey(t *testing.T, page string) token.ClientKey {
	t.Helper()
	link := match(t, `data:application/jwk\+json;base64,[\w+/=]+`, html.UnescapeString(page))
	_, encoded, _ := strings.Cut(link, "base64,")
	text := must(base64.StdEncoding.DecodeString(encoded))(t)
	return must(token.ReadClientKey(text))(t)
}

// A health party takes no test event, so its partner is led to its party instead, and a step that cannot be done is not left open.
func TestPartnerHomeOfHealthParty(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t)
	wantWords(t, text(w.staff.get("/partner")), "a queue of a message broker")
	e := must(w.reg.Endpoints.Create(t.Context(), w.portalHarness.admin, w.owner, partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP}))(t)
	page := text(w.staff.get("/partner"))
	wantWords(t, page, "Fill in the party", "/partner/amqp/parties/new?endpoint="+e.ID)
	lacks(t, page, "/partner/endpoints/"+e.ID+"/test", "Send a test event")
	noError(t, w.reg.Endpoints.End(t.Context(), w.portalHarness.admin, e.ID, "Not used."))
	w.filled(t)
	page = text(w.staff.get("/partner"))
	lacks(t, page, "/test\"", "Fill in the party", "Send a test event", e.ID+"/")
	wantWords(t, page, "/partner/subscriptions/new")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		p, err := tx.AMQPParty(t.Context(), w.party)
		if p.Kind = store.AMQPCloudEvents; err == nil {
			err = tx.UpdateAMQPParty(t.Context(), &p)
		}
		return err
	}))
	wantWords(t, text(w.staff.get("/partner")), "/partner/endpoints/"+w.endpoint+"/test")
}
