package web

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/storetest"
	webadmin "schakel/web/admin"
	"schakel/web/site"
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
		"/admin":                                   {"Open tasks", "Client requests", "Deliveries started", "asked for a subscription"},
		"/admin/partners":                          {"Leerlingzorg Zuid", "2 partners", "Anna de Vries"},
		"/admin/partners?status=requested":         {"Leerlingzorg Zuid", "1 partner<"},
		"/admin/partners?q=nobody":                 {"No partner matches this filter."},
		"/admin/partners/" + waiting.ID:            {"What an approval gives", "Approve the registration", "anna@zuid.example", "00000003123456780000"},
		"/admin/partners/" + o.partner.ID:          {"Suspend this partner", "New students", "Main webhook", "Student system", "pat@noord.example", "/admin/dead-letters?partner=" + o.partner.ID, "/admin/errors?partner=" + o.partner.ID, "/admin/issues?state=unresolved&amp;partner=" + o.partner.ID},
		"/admin/partners/" + o.own.ID:              {"Chain Office"},
		"/admin/subscriptions":                     {"New students", officeType},
		"/admin/subscriptions?status=ended":        {"No subscription matches this filter."},
		"/admin/subscriptions?type=" + officeType:  {"New students"},
		"/admin/subscriptions/" + sub.ID:           {"events.noord.example", "To make accounts for new students.", "Contract student-events", "personal data", "Approve the subscription"},
		"/admin/clients":                           {"Student system", "Asks for more"},
		"/admin/clients/" + client.ID:              {"What an approval gives in addition", "nl.example.student.*", "https://noord.example/*", "Approve what it asks for"},
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
			wantWords(t, page, wanted...)
			lacks(t, page, "not-to-be-seen", client.SecretHash)
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

// The counts of the overview equal the lists that they link to: rows of the last minutes, without those that were made
// before and changed since.
func TestOverviewCountsWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	old := w.deliver(w.event(event.DataNone, ""), w.first)
	w.deliver(w.event(event.DataNone, ""), w.first)
	w.clock.Advance(webadmin.OverviewPeriod + time.Minute)
	w.attempt(old, store.DeliveryDelivered, webhook.ReasonDelivered, store.Attempt{StatusCode: 200})
	w.deliver(w.event(event.DataNone, ""), w.first)
	w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryDelivered, webhook.ReasonDelivered, store.Attempt{StatusCode: 200})
	page := text(w.admin.get("/admin"))
	links := regexp.MustCompile(`href="(/admin/deliveries\?[^"]*made=[^"]*)"`).FindAllStringSubmatch(page, -1)
	want := []int{2, 1, 1, 0}
	if len(links) != len(want) {
		t.Fatalf("%d links in %s", len(links), page)
	}
	for i, link := range links {
		list := shows(t, w.admin.get(html.UnescapeString(link[1])), http.StatusOK, "Made from")
		if got := max(0, rows(list)); got != want[i] {
			t.Errorf("%s: %d rows, want %d", link[1], got, want[i])
		}
	}
}

var (
	badgeInLink = regexp.MustCompile(`<a class="schakel-nav__(?:link|waiting)" href="([^"]+)"[^>]*>((?s:.*?))</a>`)
	badgeCount  = regexp.MustCompile(`<span class="schakel-nav__count">\s*([\d,]+)`)
	listCount   = regexp.MustCompile(`<p class="schakel-list__count">([\d,]+) `)
)

func number(t *testing.T, text string) int {
	t.Helper()
	return must(strconv.Atoi(strings.ReplaceAll(text, ",", "")))(t)
}

// badges are the counts of the navigation by the address to which each leads.
func badges(t *testing.T, b *browser, home string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, m := range badgeInLink.FindAllStringSubmatch(text(b.get(home)), -1) {
		if count := badgeCount.FindStringSubmatch(m[2]); count != nil {
			found[html.UnescapeString(m[1])] = number(t, count[1])
		}
	}
	return found
}

// rowsListed counts the rows of the list at an address: the one that its fragment names, or else the first.
func rowsListed(t *testing.T, b *browser, href string) int {
	t.Helper()
	u := must(url.Parse(href))(t)
	page := wantPage(t, b.get(u.RequestURI()), http.StatusOK)
	if u.Fragment != "" {
		var found bool
		if _, page, found = strings.Cut(page, `id="`+u.Fragment+`"`); !found {
			t.Fatalf("%s: the page has no such part", href)
		}
	}
	count := listCount.FindStringSubmatch(page)
	if count == nil {
		t.Fatalf("%s: no list with a count", href)
	}
	return number(t, count[1])
}

// Each badge of the navigation has the count of the list to which it leads, of an administrator and of a partner.
func TestBadgesCountWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.fillBadges()
	for _, reader := range []struct {
		name, home string
		b          *browser
		want       map[string]int
	}{
		{"administrator", "/admin", w.admin, map[string]int{
			"/admin/partners?status=requested": 2, "/admin/subscriptions?status=requested": 3, "/admin/clients#waiting": 2, "/contracts#requested": 27,
			"/admin/mirrors?alarms=open": 2, "/admin/errors": 2, "/admin/dead-letters": 3, "/admin/quarantine?state=open": 2, "/admin/amqp/messages?state=attention": 2,
		}},
		{"partner", "/partner", w.first.browser, map[string]int{"/partner/deliveries?status=held&show=rejected": 2, "/partner/deliveries?status=dead": 2}},
	} {
		got := badges(t, reader.b, reader.home)
		for href, n := range got {
			if in := rowsListed(t, reader.b, href); in != n {
				t.Errorf("%s: the badge says %d, %s lists %d", reader.name, n, href, in)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(reader.want) {
			t.Errorf("%s: badges %v, want %v", reader.name, got, reader.want)
		}
	}
	// What the menu counts is an open task of the overview too.
	overview := text(w.admin.get("/admin"))
	for _, href := range []string{"/admin/mirrors?alarms=open", "/admin/quarantine?state=open", "/admin/amqp/messages?state=attention"} {
		tile := regexp.MustCompile(`href="` + regexp.QuoteMeta(href) + `">[^<]+</a>\s*</p>\s*<p class="schakel-tile__value">2<`)
		if !tile.MatchString(overview) {
			t.Errorf("the open tasks lack those at %s", href)
		}
	}
	// The publications have pages of their own, and one beyond the last shows the last.
	for page, rows := range map[string]int{"1": 25, "2": 2, "9": 2} {
		_, list, _ := strings.Cut(text(w.admin.get("/contracts?requested="+page)), `id="requested"`)
		list, _, _ = strings.Cut(list, `</section>`)
		if got := strings.Count(list, "/contracts/asked/versions/"); got != rows {
			t.Errorf("page %s shows %d publications, want %d", page, got, rows)
		}
		wantWords(t, list, "27 versions", "requested=1#requested")
	}
}

// fillBadges makes something of each kind that waits, and beside it what does not.
func (w *queueWorld) fillBadges() {
	ctx := w.t.Context()
	for range 2 {
		w.rejected(w.first)
		w.dead(w.first)
	}
	w.dead(w.other)
	w.failed(w.first, store.DeliveryHeld, store.ReasonEndpointSuspended)
	w.failed(w.other, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	w.write(func(tx *store.Tx) error {
		for i := range 2 {
			name := strconv.Itoa(i)
			p := store.Partner{Name: "Asks " + name, Status: store.PartnerRequested, ContactName: "Anna", ContactEmail: "anna@" + name + ".example"}
			if i == 0 {
				p.EmailConfirmedAt = tx.Now
			}
			noError(w.t, tx.InsertPartner(ctx, &p))
			noError(w.t, tx.InsertClient(ctx, &store.Client{PartnerID: w.first.id, Name: "Asks " + name, Status: store.ClientActive, AuthMethod: "client_secret_basic", RequestedScopes: store.Strings{"events.publish"}}))
			q := store.Quarantine{PartnerID: w.first.id, ClientID: "cli_" + name, IdempotencyKey: "k", Fingerprint: []byte("f"), FirstAnswer: []byte("{}"), ReleaseKey: "r" + name}
			noError(w.t, tx.InsertQuarantine(ctx, &q, nil))
		}
		noError(w.t, tx.InsertClient(ctx, &store.Client{PartnerID: w.first.id, Name: "Has it", Status: store.ClientActive, AuthMethod: "client_secret_basic"}))
		for i := range 3 {
			noError(w.t, tx.InsertSubscription(ctx, &store.Subscription{PartnerID: w.first.id, EndpointID: w.first.endpoint, Name: "Asked " + strconv.Itoa(i), Status: store.SubscriptionRequested, Types: []string{queueType}}))
		}
		q := store.Quarantine{PartnerID: w.first.id, ClientID: "cli_9", IdempotencyKey: "k", Fingerprint: []byte("f"), FirstAnswer: []byte("{}"), ReleaseKey: "r9"}
		noError(w.t, tx.InsertQuarantine(ctx, &q, nil))
		return tx.DecideQuarantine(ctx, q.ID, store.QuarantineDiscarded, "no", "Anna")
	})
	w.fillContracts()
	for i, m := range []store.AMQPMessage{
		{Direction: store.AMQPIn, Status: store.AMQPQuarantined},
		{Direction: store.AMQPOut, Status: store.AMQPRejected, Reason: webhook.ReasonRejected},
		{Direction: store.AMQPOut, Status: store.AMQPMatched},
	} {
		m.Kind, m.PartnerID, m.OwnHer, m.Her, m.MessageID = store.AMQPBusiness, w.first.id, 100, 200, strconv.Itoa(i)
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(ctx, &m) })
	}
}

// fillContracts makes drafts of which 27 are asked to be published, and mirrors of which two have alarms that are open.
func (w *queueWorld) fillContracts() {
	ctx := w.t.Context()
	w.write(func(tx *store.Tx) error {
		noError(w.t, tx.InsertContract(ctx, &store.Contract{ID: "asked", Kind: "asyncapi", Title: "Asked", Visibility: store.VisibilityPartners}))
		for i := range 28 {
			v := store.ContractVersion{ContractID: "asked", Version: fmt.Sprintf("1.0.%d", i), SortKey: fmt.Sprintf("1.0.%02d", i), Status: store.VersionDraft, Digest: "d", Original: []byte("{}"), Findings: "[]"}
			noError(w.t, tx.InsertContractVersion(ctx, &v))
			if i > 0 {
				v.RequestedAt, v.RequestedBy = tx.Now, "Anna"
				noError(w.t, tx.SetPublicationRequest(ctx, &v))
			}
		}
		for i, open := range []int{0, 1, 2, 0} {
			s := store.MirrorSource{Name: fmt.Sprintf("Mirror %d", i), Prefix: fmt.Sprintf("m%d", i), Kind: store.MirrorSchakel, URL: "https://x.example", Schedule: "@daily"}
			noError(w.t, tx.InsertMirrorSource(ctx, &s))
			noError(w.t, tx.InsertContract(ctx, &store.Contract{ID: s.Prefix + "-copy", Kind: "asyncapi", Title: "Copy", Visibility: store.VisibilityInternal}))
			noError(w.t, tx.InsertMirrorContract(ctx, &store.MirrorContract{ContractID: s.Prefix + "-copy", SourceID: s.ID, OriginID: "copy"}))
			for j := range open + 1 { // one is settled
				a := store.MirrorAside{SourceID: s.ID, ContractID: s.Prefix + "-copy", Version: fmt.Sprintf("1.0.%d", j), OriginURL: "https://x", Digest: fmt.Sprintf("%d-%d", i, j), Size: 2, Content: []byte("{}")}
				noError(w.t, tx.InsertMirrorAside(ctx, &a))
				if j == open {
					noError(w.t, tx.SettleMirrorAside(ctx, a.ID, "Anna", "agreed"))
				}
			}
		}
		return nil
	})
}

// adminHarness is the whole portal on a real database, with an administrator who is
// logged in, an approved partner, and a contract that is published.
type adminHarness struct {
	*harness
	reg     *services.Services
	own     store.Partner
	partner store.Partner
	staff   store.Account // of the partner
	admin   *browser
	servers mirrorClient // fetches what documents refer to
}

const officeType = "nl.example.student.enrolled"

func newAdminHarness(t *testing.T, change ...func(*registry.Config)) *adminHarness {
	t.Helper()
	return newAdminHarnessOn(t, storetest.SQLite, change...)
}

func newAdminHarnessOn(t *testing.T, open storetest.Open, change ...func(*registry.Config)) *adminHarness {
	t.Helper()
	o := &adminHarness{}
	o.harness = newHarnessOn(t, open, func(cfg *Config) { o.open(t, cfg, change) })
	ctx := t.Context()
	o.own = must(o.reg.Partners.EnsureOwn(ctx, "Chain Office", "00000001003214345000"))(t)
	o.administrator(t)
	o.admin = o.browser().login(t, testEmail)
	o.staff = o.harness.partner(t, "pat@noord.example")
	o.partner = must(o.db.Partner(ctx, o.staff.PartnerID))(t)
	o.publish(t, "student-events", sampleContract)
	return o
}

// open puts the portal into the configuration.
func (o *adminHarness) open(t *testing.T, cfg *Config, change []func(*registry.Config)) {
	t.Helper()
	db, ok := cfg.Sessions.(*store.DB)
	if !ok {
		t.Fatal("sessions are not in the database")
	}
	vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t)
	conf := registry.Config{
		DB: db, Now: cfg.Now, Log: cfg.Log, BaseURL: apiTestBase, Organisation: "Chain Office", Vault: vault, Profile: testProfile(),
		CheckFilters: filter.Check, CheckWindows: window.Check, CheckURL: func(string) error { return nil }, AllowOpenEndpoints: true,
		MirrorHTTP: &o.servers,
	}
	for _, c := range change {
		c(&conf)
	}
	o.reg = must(services.New(conf, cfg.Accounts))(t)
	engine := outbox.New(outbox.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler)})
	noError(t, engine.Start(t.Context()))
	t.Cleanup(func() { _ = engine.Stop(context.WithoutCancel(t.Context())) })
	cfg.Portal = &site.PortalConfig{DB: db, Engine: engine, Registry: o.reg, DocumentBytes: 100_000}
}

// publish makes a contract with one published version.
func (o *adminHarness) publish(t *testing.T, id, document string) {
	t.Helper()
	o.draft(t, id, document)
	must(publishDraft(t.Context(), o.reg, registry.SystemActor(), id, "1.0.0", ""))(t)
}

// draft makes a contract with one draft.
func (o *adminHarness) draft(t *testing.T, id, document string) {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	must(o.reg.Contracts.Create(ctx, actor, contracts.ContractInput{
		ID: id, Kind: "asyncapi", Title: "Contract " + id, Visibility: store.VisibilityPublic, Classification: "personal data",
	}))(t)
	must(o.reg.Contracts.Upload(ctx, actor, id, contracts.Upload{Content: []byte(document), FileName: id + ".yaml"}))(t)
}

// asPartner is a browser of someone of the partner.
func (o *adminHarness) asPartner(t *testing.T) *browser {
	t.Helper()
	b := o.browser().login(t, o.staff.Email)
	return b
}

// requested makes a pending registration; confirmed sets whether its e-mail address is confirmed.
func (o *adminHarness) requested(t *testing.T, name string, confirmed bool) store.Partner {
	t.Helper()
	p := store.Partner{Name: name, Status: store.PartnerRequested, ContactName: "Anna de Vries", ContactEmail: "anna@zuid.example", OIN: "00000003123456780000", EndpointKinds: []string{store.EndpointFiles}}
	if confirmed {
		p.EmailConfirmedAt = store.At(o.clock.Now())
	}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &p) }))
	return p
}

func (o *adminHarness) endpoint(t *testing.T, partnerID string) store.Endpoint {
	t.Helper()
	return must(o.reg.Endpoints.Create(t.Context(), registry.SystemActor(), partnerID, partners.EndpointInput{
		Name: "Main webhook", Kind: store.EndpointWebhook, URL: "https://events.noord.example/in", TokenURL: "https://id.noord.example/token",
		TokenClientID: "schakel", TokenSecret: "not-to-be-seen", TokenAuthMethod: token.ClientSecretBasic,
	}))(t)
}

func (o *adminHarness) subscription(t *testing.T, endpointID string) store.Subscription {
	t.Helper()
	return must(o.reg.Subscriptions.Request(t.Context(), registry.SystemActor(), partners.SubscriptionRequest{
		Name: "New students", EndpointID: endpointID, Types: []string{officeType}, Purpose: "To make accounts for new students.",
	}))(t)
}

// waitingClient makes a client of the partner that asks to publish.
func (o *adminHarness) waitingClient(t *testing.T) store.Client {
	t.Helper()
	c, _, err := o.reg.Clients.Create(t.Context(), registry.AccountActor(o.staff), o.partner.ID, identity.NewClient{
		Name: "Student system", AuthMethod: token.ClientSecretBasic, Scopes: []string{identity.ScopeEventsPublish},
		PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"https://noord.example/*"},
	})
	noError(t, err)
	return c
}

// page gets a page as the administrator and gives its text.
func (o *adminHarness) page(t *testing.T, path string) string {
	t.Helper()
	return wantPage(t, o.admin.get(path), http.StatusOK)
}

// upload posts a form with a file as a browser does, which sends an empty one when none was chosen.
func (b *browser) upload(t *testing.T, path string, fields url.Values, fileName string, file []byte) *http.Response {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range fields {
		noError(t, w.WriteField(name, values[0]))
	}
	part := must(w.CreateFormFile("document", fileName))(t)
	must(part.Write(file))(t)
	noError(t, w.Close())
	b.header.Set("Content-Type", w.FormDataContentType())
	defer b.header.Del("Content-Type")
	return b.do(http.MethodPost, path, body.String())
}
