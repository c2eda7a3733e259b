package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

var whsec = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)

func signingForm(scheme, algorithm, hours string) url.Values {
	return url.Values{"scheme": {scheme}, "algorithm": {algorithm}, "overlapHours": {hours}}
}

// A partner has its requests signed, sees the secret once, and changes keys with an overlap, of which people are mailed. Nobody else sees or
// changes any of it.
func TestEndpointSigning(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	keys := func(at time.Time) []partners.SignKey {
		return must(h.reg.Endpoints.SignKeys(must(h.db.Endpoint(t.Context(), idOf(here)))(t), at))(t)
	}
	wantWords(t, text(b.get(here)), "No signature", here+"/signing")
	wantPage(t, b.get(here+"/signing"), http.StatusOK, "Requests are not signed", "No signature")
	wantRedirect(t, b.post(here+"/signing/rotate", nil), here+"/signing")
	wantPage(t, b.post(here+"/signing", signingForm("other", "rsa", "9999")), http.StatusUnprocessableEntity, `href="#scheme"`, `href="#algorithm"`, "overlapHours")

	page := wantPage(t, b.post(here+"/signing", signingForm(store.SignStandard, store.SignHMAC, "48")), http.StatusOK, "Secret to verify signatures with")
	first := whsec.FindString(page)
	if first == "" {
		t.Fatal("no secret is shown")
	}
	lacks(t, text(b.get(here+"/signing")), first)
	e := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	if strings.Contains(e.SignKeys, strings.TrimPrefix(first, "whsec_")) {
		t.Error("the secret is stored as it is")
	}
	second := whsec.FindString(wantPage(t, b.post(here+"/signing/rotate", nil), http.StatusOK, "Signs until"))
	now := h.clock.Now()
	if got := keys(now); len(got) != 2 || second == "" || second == first || got[1].RetiresAt.Sub(now).Round(time.Hour) != 48*time.Hour {
		t.Errorf("%+v", got)
	}
	if got := keys(now.Add(49 * time.Hour)); len(got) != 1 || got[0].ID != keys(now)[0].ID {
		t.Errorf("after the overlap: %+v", got)
	}
	// A third key ends the first at once.
	wantStatus(t, b.post(here+"/signing/rotate", nil), http.StatusOK)
	if got := keys(now); len(got) != 2 {
		t.Errorf("%d keys", len(got))
	}
	// What Standard Webhooks cannot sign is not sent.
	wantPage(t, b.post(here, endpointForm("contentMode", "binary")), http.StatusUnprocessableEntity, "Standard Webhooks, which this endpoint has")

	wantPage(t, b.post(here+"/signing", signingForm(store.SignMessage, store.SignEd25519, "0")), http.StatusOK, "whpk_")
	if got := keys(now); len(got) != 1 || got[0].Algorithm != store.SignEd25519 {
		t.Errorf("%+v", got)
	}
	wantWords(t, text(b.get(here)), "HTTP Message Signatures")
	mails, _, err := h.db.Mails(t.Context(), store.Page{Number: 1, Size: 100})
	noError(t, err)
	told := ""
	for _, m := range mails {
		told += must(h.reg.Mails.Get(t.Context(), registry.SystemActor(), m.ID))(t).Body
	}
	wantWords(t, told, "Form of the signature", "Key that signs requests")
	lacks(t, told, first, second)
	wantPage(t, h.browser().login(t, testEmail).get("/admin/audit"), http.StatusOK, "changed the signatures of endpoint Records")

	other, _ := h.at(t, "other@example.nl")
	wantStatus(t, other.get(here+"/signing"), http.StatusNotFound)
	wantStatus(t, other.post(here+"/signing", signingForm("", "", "0")), http.StatusNotFound)
	wantStatus(t, other.post(here+"/signing/rotate", nil), http.StatusNotFound)
	wantRedirect(t, b.post(here+"/signing", signingForm("", store.SignHMAC, "48")), here+"/signing")
	if got := keys(now); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A machine reads how its endpoint is signed, and makes another key where none of it is secret.
func TestEndpointSigningAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	p := h.newPartner(t, "Signed")
	e, c := h.newEndpoint(t, p.ID), h.consumer(t, p.ID)
	at := "/events/v1/endpoints/" + e.ID + "/signing"
	if scheme := c.get(t, at).want(t, http.StatusOK).member(t, "scheme"); scheme != "" {
		t.Errorf("scheme %v", scheme)
	}
	c.postJSON(t, at+"/keys", "").want(t, http.StatusConflict)
	_, _, err := h.reg.Endpoints.SetSigning(t.Context(), registry.SystemActor(), e.ID, partners.SigningInput{Scheme: store.SignMessage, Algorithm: store.SignHMAC, OverlapHours: 1})
	noError(t, err)
	c.postJSON(t, at+"/keys", "").want(t, http.StatusConflict) // its secret would be kept with the answer
	_, _, err = h.reg.Endpoints.SetSigning(t.Context(), registry.SystemActor(), e.ID, partners.SigningInput{Scheme: store.SignMessage, Algorithm: store.SignEd25519})
	noError(t, err)
	_, _, err = h.reg.Endpoints.SetSigning(t.Context(), registry.SystemActor(), e.ID, partners.SigningInput{Scheme: store.SignMessage, Algorithm: store.SignEd25519, OverlapHours: 1})
	noError(t, err)
	made := string(c.postJSON(t, at+"/keys", "").want(t, http.StatusCreated).body)
	if strings.Contains(made, "whsec_") || strings.Count(made, "whpk_") != 2 {
		t.Errorf("made %s", made)
	}
	if again := string(c.get(t, at).want(t, http.StatusOK).body); strings.Count(again, "whk_") != 2 {
		t.Errorf("read %s", again)
	}
}
