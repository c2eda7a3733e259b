package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
)

// A read-only key reads contracts as its partner, and opens nothing else.
//
// Rules: EDU-06e, EDU-N06.
func TestReadKeyReads(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "partners")
	partner := h.newPartner(t, "Reader")
	key, plain, err := h.reg.ReadKeys.Create(t.Context(), registry.SystemActor(), partner.ID, identity.NewReadKey{Name: "Renovate"})
	noError(t, err)
	for name, authorization := range map[string]string{"bearer": "Bearer " + plain, "basic": basicAuth("anyone", plain)} {
		for _, path := range []string{contractTarget, contractTarget + "/releases", contractTarget + "/versions/latest/original"} {
			if answer := h.anyone().do(t, http.MethodGet, path, "", "Authorization", authorization); answer.status != 200 {
				t.Errorf("%s: GET %s: %d %s", name, path, answer.status, answer.body)
			}
		}
		h.anyone().do(t, http.MethodPost, "/registry/v1/validations", sampleContract, "Authorization", authorization, "Content-Type", "text/yaml").want(t, 200)
	}
	h.anyone().get(t, contractTarget).problem(t, 404, "not-found")
	bearer := []string{"Authorization", "Bearer " + plain, "Content-Type", "application/json"}
	for path, method := range map[string]string{
		"/registry/v1/contracts": http.MethodPost, contractTarget: http.MethodPatch, contractTarget + "/versions/1.0.0/withdrawal": http.MethodPost,
		"/events/v1/events": http.MethodPost, "/events/v1/subscriptions": http.MethodGet, "/events/v1/event-types": http.MethodGet,
	} {
		h.anyone().do(t, method, path, "{}", bearer...).problem(t, 401, "token-invalid")
	}
	h.anyone().do(t, http.MethodGet, contractTarget, "", "Authorization", "Bearer "+plain+"x").problem(t, 401, "token-invalid")
	noError(t, h.reg.ReadKeys.Revoke(t.Context(), registry.SystemActor(), key.ID, "it leaked"))
	h.anyone().do(t, http.MethodGet, contractTarget, "", "Authorization", "Bearer "+plain).problem(t, 401, "token-invalid")
}

func TestReadKeyPages(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner/keys")), "There are no keys yet", "hostRules")
	answer := b.post("/partner/keys", url.Values{"name": {"R"}, "expires": {"soon"}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	answer = b.post("/partner/keys", url.Values{"name": {"Renovate"}, "expires": {""}})
	wantStatus(t, answer, http.StatusOK)
	page := text(answer)
	plain := match(t, `schr_[\w-]+`, page)
	wantWords(t, page, "cannot be shown again", "Renovate", "until revoked", "never")
	if strings.Contains(text(b.get("/partner/keys")), plain) {
		t.Fatal("the key is shown twice")
	}
	keys, err := h.db.ReadKeys(t.Context(), pat.PartnerID)
	noError(t, err)
	revoke := "/partner/keys/" + keys[0].ID + "/revoke"
	other, _ := h.at(t, "sam@example.nl")
	wantStatus(t, other.post(revoke, url.Values{"reason": {"not mine"}}), http.StatusNotFound)
	wantStatus(t, b.post(revoke, url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	wantRedirect(t, b.post(revoke, url.Values{"reason": {"it leaked"}}), "/partner/keys")
	wantWords(t, text(b.get("/partner/keys")), "it leaked")
}
