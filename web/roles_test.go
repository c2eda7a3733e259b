package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/pull"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// colleague makes an account with a role, of a partner or of the organisation, and logs it in.
func (h *harness) colleague(t testing.TB, role, partnerID string) *browser {
	t.Helper()
	email := role + "@roles.example.nl"
	h.person(t, identity.NewAccount{Email: email, Name: "Robin " + role, Role: role, PartnerID: partnerID})
	return h.browser().login(t, email)
}

// newRolesWorld is the portal with all APIs and pages, and a browser for each role.
func newRolesWorld(t *testing.T) (*queueWorld, map[string]*browser) {
	t.Helper()
	w := newQueueWorldOn(t, storetest.SQLite)
	w.cfg.OIDC = []site.OIDCConfig{{Issuer: "https://idp.example", ClientID: "schakel", ClientSecret: "x", HTTP: http.DefaultClient}}
	issuer := must(token.New(token.Config{
		Issuer: "http://schakel.example.nl", LiveAuthMethods: w.reg.Clients.AuthMethods, Scopes: identity.AllScopes(),
		Clients: w.reg.Clients, Replay: w.db, Keys: w.reg.SigningKeys, Now: w.clock.Now,
	}))(t)
	w.cfg.Tokens = issuer
	w.cfg.API = &api.Config{
		DB: w.db, Engine: w.engine, Pull: pull.New(pull.Config{DB: w.db, Now: w.clock.Now, Log: w.cfg.Log}), Issuer: issuer, Registry: w.reg,
	}
	w.app = must(New(w.cfg))(t)
	readers := map[string]*browser{"": w.browser()}
	for _, role := range registry.OrganisationRoles() {
		readers[role] = w.colleague(t, role, "")
	}
	for _, role := range registry.PartnerRoles() {
		readers[role] = w.colleague(t, role, w.first.id)
	}
	return w, readers
}

// at sends a request, and ends one whose answer is a stream when that has begun.
func (b *browser) at(t *testing.T, method, path string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, http.NoBody)
	r.Host, r.Header = "schakel.example.nl", b.header.Clone()
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer := beginning{httptest.NewRecorder(), cancel}
	b.h.app.Handler().ServeHTTP(answer, r)
	return answer.Result()
}

// beginning records an answer, and calls begun when its first part goes out.
type beginning struct {
	*httptest.ResponseRecorder
	begun func()
}

func (a beginning) Flush() {
	a.ResponseRecorder.Flush()
	a.begun()
}

// roleNeeded matches a refusal for a role, and none for the state of a thing.
var roleNeeded = regexp.MustCompile("you need the role of .* can give you that role|This page is for ")

var routeParam = regexp.MustCompile(`:\w+|\*$`)

// TestEveryRouteHoldsItsRoles: each route that is mounted answers each role, and a visitor, as the table of permissions says. What a
// role may do is not refused; what it may not is refused with the role that may; and a session is worth nothing to an API.
func TestEveryRouteHoldsItsRoles(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	w, readers := newRolesWorld(t)
	w.app.Cfg.Navigation = quietMenu{}
	routes := slices.DeleteFunc(w.app.Echo.Routes(), func(r *echo.Route) bool { return r.Method == "echo_route_not_found" })
	slices.SortFunc(routes, func(a, b *echo.Route) int { return strings.Compare(a.Path, b.Path) })
	refused, allowed := 0, 0
	for role, b := range readers {
		for _, r := range routes {
			route, known := w.app.RouteOf(r.Method, r.Path)
			if !known || len(route.Needs) == 0 {
				t.Fatalf("%s %s is mounted without a permission", r.Method, r.Path)
			}
			if !hasRole(route) && role != "" && role != store.RoleAdministrator {
				continue // no role decides here: a visitor and one session are enough
			}
			if endsSession(r.Path) && role != "" {
				continue // for everybody; it would log this reader out
			}
			if role == store.RoleAdministrator && (r.Path == "/admin/settings/strict" || r.Path == "/admin/accounts/sessions/end") {
				continue // it would ask a second factor of this reader, or log it out; both have a test of their own
			}
			answer := b.at(t, r.Method, routeParam.ReplaceAllString(r.Path, "none"))
			login := answer.StatusCode == http.StatusSeeOther && strings.HasPrefix(answer.Header.Get("Location"), "/login?")
			name := r.Method + " " + r.Path + " for " + role
			switch may := registry.Allows(role, route.Needs...); {
			case route.Needs[0] == registry.Anyone:
				if answer.StatusCode == http.StatusForbidden {
					t.Errorf("%s answers %d: it is for anyone", name, answer.StatusCode)
				}
			case route.Needs[0] == registry.ByToken:
				if answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusSeeOther {
					t.Errorf("%s answers %d: an API takes no session", name, answer.StatusCode)
				}
			case role == "":
				if !login {
					t.Errorf("%s answers %d: a visitor must log in", name, answer.StatusCode)
				}
			case may:
				allowed++
				if page := text(answer); login || answer.StatusCode == http.StatusForbidden && roleNeeded.MatchString(page) {
					t.Errorf("%s answers %d, and the table allows it: %s", name, answer.StatusCode, page)
				}
			default:
				refused++
				if answer.StatusCode != http.StatusForbidden || !roleNeeded.MatchString(text(answer)) {
					t.Errorf("%s answers %d, and the table does not allow it", name, answer.StatusCode)
				}
			}
		}
		if role != "" {
			wantStatus(t, b.get("/account"), http.StatusOK) // the session did not end on the way
		}
	}
	t.Logf("%d routes, %d times allowed, %d times refused", len(routes), allowed, refused)
	if len(routes) < 300 || allowed < 700 || refused < 900 {
		t.Errorf("only %d routes, %d times allowed, %d times refused", len(routes), allowed, refused)
	}
}

func hasRole(r site.Route) bool {
	return r.Needs[0] != registry.Anyone && r.Needs[0] != registry.ByToken
}

func endsSession(path string) bool {
	return slices.Contains([]string{"/logout", "/login", "/login/factor", "/account/sessions/end"}, path)
}

// formOf finds what a page sends with a form.
var formOf = regexp.MustCompile(`<form[^>]* method="post"[^>]* action="(/[^"#?]*)`)

// TestPagesOfferWhatARoleMay: following all links of the pages of each role, no page is refused and no form leads to a refusal; a role that may
// do more is offered more. All roles read at once, so that the search for data races finds those between pages.
func TestPagesOfferWhatARoleMay(t *testing.T) {
	t.Parallel()
	w, readers := newRolesWorld(t)
	w.withCatalogue(t)
	w.attempt(w.deliver(w.event(event.DataJSON, `{"n":1}`), w.first), store.DeliveryDead, webhook.ReasonRejected, store.Attempt{StatusCode: 400})
	w.attempt(w.deliver(w.event(event.DataJSON, `{"n":2}`), w.first), store.DeliveryRetrying, webhook.ReasonServerError, store.Attempt{StatusCode: 500})
	delete(readers, "")
	forms := map[string]int{}
	var mu sync.Mutex // of forms
	var reading sync.WaitGroup
	read := func(role string, b *browser) {
		start := "/admin"
		if slices.Contains(registry.PartnerRoles(), role) {
			start = "/partner"
		}
		pages, met, from := []string{start}, map[string]bool{}, map[string]string{}
		offered := map[string]bool{}
		for n := 0; n < len(pages); n++ {
			answer := b.get(pages[n])
			page := text(answer)
			if answer.StatusCode == http.StatusForbidden {
				t.Errorf("%s: %s leads to %s, which is refused", role, from[pages[n]], pages[n])
			}
			for _, m := range formOf.FindAllStringSubmatch(page, -1) {
				kind := someID.ReplaceAllString(m[1], "x")
				offered[kind] = true
				if !w.may(role, http.MethodPost, m[1]) {
					t.Errorf("%s: %s offers a form to %s, which is refused", role, pages[n], m[1])
				}
			}
			for _, m := range linksOf.FindAllStringSubmatch(page, -1) {
				href := strings.ReplaceAll(m[1], "&amp;", "&")
				kind := someID.ReplaceAllString(m[1], "")
				if !met[kind] && !strings.HasPrefix(kind, "/static") && !strings.HasPrefix(kind, "/docs/") {
					met[kind] = true
					pages, from[href] = append(pages, href), pages[n]
				}
			}
		}
		mu.Lock()
		forms[role] = len(offered)
		mu.Unlock()
		t.Logf("%s: %d pages, %d forms", role, len(pages), len(offered))
		if len(pages) < 20 {
			t.Errorf("%s finds only %v", role, pages)
		}
	}
	for role, b := range readers {
		reading.Go(func() { read(role, b) })
	}
	reading.Wait()
	for _, order := range [][]string{
		{store.RoleAuditor, store.RoleApprover, store.RoleAdministrator},
		{store.RoleAuditor, store.RoleOperator, store.RoleAdministrator},
		{store.RoleReader, store.RoleIntegrator, store.RoleManager},
	} {
		if !slices.IsSortedFunc(order, func(a, b string) int { return forms[a] - forms[b] }) || forms[order[0]] == forms[order[2]] {
			t.Errorf("forms by role: %v, want more from each of %v to the next", forms, order)
		}
	}
}

// quietMenu counts nothing, so that thousands of pages are quick.
type quietMenu struct{}

func (quietMenu) Waiting(context.Context, string) site.Waiting { return site.Waiting{} }
func (quietMenu) PartnerName(context.Context, string) string   { return "" }

// may holds the route of an address against the table.
func (w *queueWorld) may(role, method, path string) bool {
	c := w.app.Echo.NewContext(httptest.NewRequest(method, path, nil), httptest.NewRecorder())
	w.app.Echo.Router().Find(method, path, c)
	route, known := w.app.RouteOf(method, c.Path())
	return known && route.Allows(store.Account{Role: role})
}

// TestRefusalNamesTheRole: who may not do something reads which role may, and who gives it.
func TestRefusalNamesTheRole(t *testing.T) {
	t.Parallel()
	w, readers := newRolesWorld(t)
	for _, c := range []struct{ role, path, needed, giver string }{
		{store.RoleAuditor, "/admin/settings", "the role of administrator", "Ada Admin or Robin administrator can give you that role."},
		{store.RoleOperator, "/admin/routes", "the role of administrator or approver", "Ada Admin"},
		{store.RoleApprover, "/admin/dead-letters", "the role of administrator or operator", "Ada Admin"},
		{store.RoleReader, "/partner/endpoints", "the role of manager or integrator", "Pat or Robin manager can give you that role."},
		{store.RoleIntegrator, "/partner/organisation", "the role of manager", "Pat"},
	} {
		wantPage(t, readers[c.role].post(c.path, url.Values{}), http.StatusForbidden, c.needed, c.giver)
	}
	wantPage(t, readers[store.RoleManager].get("/admin"), http.StatusForbidden, "This page is for the organisation that runs this portal.")
	wantPage(t, readers[store.RoleAuditor].get("/partner"), http.StatusForbidden, "This page is for partners.")
	wantWords(t, text(readers[store.RoleAuditor].get("/admin")), "Auditor")
	_ = w
}

// TestRouteWithoutPermissionDoesNotMount: a route that changes something and names no permission panics at the start.
func TestRouteWithoutPermissionDoesNotMount(t *testing.T) {
	t.Parallel()
	for name, mount := range map[string]func(*site.App){
		"change":  func(a *site.App) { a.Pages("/admin", registry.ReadOrganisation).POST("/x", nil) },
		"unknown": func(a *site.App) { a.Pages("/admin", "admin.everything").GET("/x", nil) },
		"empty":   func(a *site.App) { a.Pages("/admin", registry.ReadOrganisation).Needs("").POST("/x", nil) },
	} {
		h := newHarness(t, nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a route is mounted", name)
				}
			}()
			mount(h.app)
		}()
	}
}
