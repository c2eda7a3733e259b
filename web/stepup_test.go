package web

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/web/site"
)

// whereDataGoes finds the resources of APIs that could change where data goes, who may log in, or which keys count.
var whereDataGoes = regexp.MustCompile(`/(endpoints|clients|partners|accounts|people|keys|brokers|parties|processes|routes|settings|issuers)(/|$)`)

// A machine cannot be asked who it is again, so no API changes where data goes, whatever its scopes: whoever adds such a resource decides here how
// that is guarded. Whom data is encrypted for, a member of subscriptions, is refused: see TestSubscriptionEncryptionAPI. A new key for signatures, which an API does make, is mailed to the managers of the partner and to the administrators.
func TestAPIsRedirectNothing(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	decided := map[string]string{
		"POST /events/v1/endpoints/:endpointId/checks":       "sends test events to the address that is there",
		"POST /events/v1/endpoints/:endpointId/signing/keys": "mailed, and both keys sign for the overlap",
	}
	for _, r := range h.app.Echo.Routes() {
		_, api := site.FindAPI(r.Path)
		if !api || slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, "echo_route_not_found"}, r.Method) || !whereDataGoes.MatchString(r.Path) {
			continue
		}
		if name := r.Method + " " + r.Path; decided[name] == "" {
			t.Errorf("%s may change where data goes, and nothing here says how that is guarded", name)
		} else {
			delete(decided, name)
		}
	}
	if len(decided) > 0 {
		t.Errorf("no longer there: %v", decided)
	}

	p := h.newPartner(t, "Signed")
	e, machine := h.newEndpoint(t, p.ID), h.consumer(t, p.ID)
	_, _, err := h.reg.Endpoints.SetSigning(t.Context(), registry.SystemActor(), e.ID, partners.SigningInput{Scheme: store.SignMessage, Algorithm: store.SignEd25519, OverlapHours: 1})
	noError(t, err)
	told := func() (n int) {
		mails, _, err := h.db.Mails(t.Context(), store.Page{Number: 1, Size: 100})
		noError(t, err)
		for _, m := range mails {
			if strings.Contains(m.Subject, "was changed") {
				n++
			}
		}
		return n
	}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertAccount(t.Context(), &store.Account{Email: "ada@office.example", Name: "Ada", Role: store.RoleAdministrator, Status: store.AccountActive})
	}))
	before := told()
	machine.postJSON(t, "/events/v1/endpoints/"+e.ID+"/signing/keys", "").want(t, http.StatusCreated)
	if n := told() - before; n < 1 {
		t.Errorf("%d mails about a new key that a machine made", n)
	}
}
