package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Every page of administrators shows what it is about, and no secret.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	waiting := o.requested(t, "Leerlingzorg Zuid", true)
	endpoint := o.endpoint(t, o.partner.ID)
	sub := o.subscription(t, endpoint.ID)
	client := o.waitingClient(t)
	for path, wanted := range map[string][]string{
		"/admin":                                   {"Waits for you", "Client requests", "Deliveries started", "asked for a subscription"},
		"/admin/partners":                          {"Leerlingzorg Zuid", "2 partners", "Anna de Vries"},
		"/admin/partners?status=requested":         {"Leerlingzorg Zuid", "1 partner<"},
		"/admin/partners?q=nobody":                 {"No partner matches this filter."},
		"/admin/partners/" + waiting.ID:            {"What an approval gives", "Approve the registration", "anna@zuid.example", "00000003123456780000"},
		"/admin/partners/" + o.partner.ID:          {"Suspend this partner", "New students", "Main webhook", "Student system", "pat@noord.example"},
		"/admin/partners/" + o.own.ID:              {"Chain Office"},
		"/admin/subscriptions":                     {"New students", officeType},
		"/admin/subscriptions?status=ended":        {"No subscription matches this filter."},
		"/admin/subscriptions?type=" + officeType:  {"New students"},
		"/admin/subscriptions/" + sub.ID:           {"events.noord.example", "To make accounts for new students.", "Contract student-events", "personal data", "Approve the subscription"},
		"/admin/clients":                           {"Student system", "Asks for more"},
		"/admin/clients/" + client.ID:              {"What an approval gives in addition", "nl.example.student.*", "urn:nld:oin:00000003123456780000:*", "Approve what it asks for"},
		"/admin/endpoints":                         {"Main webhook", "events.noord.example"},
		"/admin/endpoints?status=paused":           {"No endpoint matches this filter."},
		"/admin/endpoints?partner=" + o.own.ID:     {"No endpoint matches this filter."},
		"/admin/endpoints/" + endpoint.ID:          {"https://events.noord.example/in", "https://id.noord.example/token", "Send a test event", "New students", "Suspend this endpoint"},
		"/admin/routes":                            {"No route is open", "Open the route"},
		"/admin/mails":                             {"admin@example.nl"},
		"/admin/accounts":                          {"Ada Admin", "(you)"},
		"/admin/own/endpoints/new":                 nil,
		"/admin/own/subscriptions/new":             nil,
		"/admin/own/clients/new":                   nil,
		"/admin/contracts/new":                     {"Make the contract"},
		"/admin/contracts/student-events/edit":     {"Contract student-events"},
		"/admin/contracts/student-events/upload":   {"Upload as a draft"},
		"/contracts":                               {"Contract student-events", "1 contract<", "AsyncAPI"},
		"/contracts/student-events":                {"Upload a version", officeType, "/registry/v1/contracts/student-events/releases"},
		"/contracts/student-events/versions/1.0.0": {"SHA-256", `id="L3"`, "title: Example of student events", "Withdraw this version for good"},
	} {
		page := o.page(t, path)
		t.Run(path, func(t *testing.T) {
			wantText(t, page, wanted...)
			if strings.Contains(page, "not-to-be-seen") || strings.Contains(page, client.SecretHash) {
				t.Error("the page shows a secret")
			}
		})
	}
}

// Nobody but administrators gets at these pages or their actions.
func TestAdminIsForAdministrators(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	visitor, partner := o.browser(), o.asPartner(t)
	for _, r := range o.app.Echo.Routes() {
		if !strings.HasPrefix(r.Path, "/admin") {
			continue
		}
		path := strings.NewReplacer(":id", o.partner.ID, ":version", "1.0.0", ":change", "block").Replace(r.Path)
		answer := partner.do(r.Method, path, "")
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s answers a partner with %d", r.Method, path, answer.StatusCode)
		}
		answer = visitor.do(r.Method, path, "")
		if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/login") {
			t.Errorf("%s %s answers a visitor with %d to %q", r.Method, path, answer.StatusCode, to)
		}
	}
}

// What is not there is a 404 on every page about one thing.
func TestAdminUnknown(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for _, path := range []string{
		"/admin/partners/ptn_none", "/admin/subscriptions/sub_none", "/admin/clients/cli_none", "/admin/endpoints/ept_none",
		"/contracts/none", "/contracts/none/versions/1.0.0", "/contracts/student-events/versions/9.9.9",
		"/contracts/student-events/versions/9.9.9/original", "/admin/contracts/none/edit", "/admin/contracts/none/upload",
		"/admin/contracts/student-events/versions/9.9.9/publication",
	} {
		wantStatus(t, o.admin.get(path), http.StatusNotFound)
	}
	for _, path := range []string{
		"/admin/partners/ptn_none/approve", "/admin/subscriptions/sub_none/approve", "/admin/clients/cli_none/approve",
		"/admin/endpoints/ept_none/pause", "/admin/endpoints/ept_none/test", "/admin/routes/rte_none/removal", "/admin/accounts/acc_none/block",
		"/admin/accounts/" + o.staff.ID + "/promote",
	} {
		wantStatus(t, o.admin.post(path, url.Values{}), http.StatusNotFound)
	}
}
