package web

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/web/site"
)

// whereDataGoes finds the resources of APIs that could change where data goes, who may log in, or which keys count.
var whereDataGoes = regexp.MustCompile(`/(endpoints|clients|partners|accounts|people|keys|brokers|parties|processes|routes|settings|issuers)(/|$)`)

// goesOn finds what a page does about such a thing that moves no data, lets nobody in and makes no key count: it stops something, or looks at something.
var goesOn = regexp.MustCompile(`/(reject|suspend|release|end|pause|probe|test|check|answer|clear|revoke|removal|decline|withdraw|try|publish|inbox)$`)

// Every page that may change where data goes, who may log in or which keys count asks who it is, once the last proof is old, and so does the one that
// shows the links of mails: whoever adds one decides here what it does.
func TestPagesAskForProof(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.change(t, "access.proof_age", "10m")
	w.clock.Advance(11 * time.Minute)
	decided := map[string]string{
		"/admin/settings/import":      "shows what would change",
		"/admin/amqp/import":          "shows what would change",
		"/admin/datasets/none/import": "takes data in",
	}
	about, asked := regexp.MustCompile(whereDataGoes.String()+`|/(registration|mails|import|encryption|approve|confirm|resume)(/|$)`), 0
	for _, r := range w.app.Echo.Routes() {
		route, _ := w.app.RouteOf(r.Method, r.Path)
		_, api := site.FindAPI(r.Path)
		if api || r.Method != http.MethodPost || !hasRole(route) || !about.MatchString(r.Path) || goesOn.MatchString(r.Path) {
			continue
		}
		path, b := routeParam.ReplaceAllString(r.Path, "none"), w.admin
		if strings.HasPrefix(path, "/partner/") {
			b = w.first.browser
		}
		if decided[path] != "" {
			delete(decided, path)
			continue
		}
		asked++
		if page := text(b.post(path, url.Values{"name": {"X"}})); !strings.Contains(page, "Confirm that it is you") {
			t.Errorf("%s asks nobody for a proof", r.Path)
		}
	}
	if asked < 40 || len(decided) > 0 {
		t.Errorf("%d pages, and no longer there: %v", asked, decided)
	}
}

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
