package web

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/mail"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
	webcontracts "schakel/web/contracts"
)

// mailWorld opens the links of mails as their recipients do.
type mailWorld struct {
	*queueWorld
	links    *regexp.Regexp
	browsers map[string]*browser
	seen     map[string]bool
	subjects []string
}

// Every link in every mail leads its recipient to a page that opens: administrators may not open the pages of partners.
//
// Rules: EDU-08.
func TestLinksInMailsOpen(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	address, body, client := newMirrorSource(t)
	q := newQueueWorld(t)
	q.mirror.Client = client
	w := &mailWorld{
		queueWorld: q, links: regexp.MustCompile(`http://schakel\.example\.nl\S*`), seen: map[string]bool{},
		browsers: map[string]*browser{testEmail: q.admin, "first@example.nl": q.first.browser, "other@example.nl": q.other.browser},
	}
	w.withHouses(t, w.admin)
	w.withCatalogue(t)
	w.contact(w.first.id, "first@example.nl")
	w.contact(w.other.id, "other@example.nl")

	w.mailsOfRegistration()
	w.mailsOfDecisions(w.partnerActor(w.first))
	w.mailsOfEngine(w.first)
	own := must(w.reg.Partners.Own(t.Context()))(t)
	w.contact(own.ID, "office@example.nl") // an administrator of the own organisation reads what partners get
	eva, token, err := w.accounts.Invite(t.Context(), registry.SystemActor(), identity.NewAccount{Email: "office@example.nl", Name: "Eva", Role: store.RoleAdministrator})
	noError(t, err)
	must(w.accounts.ChoosePassword(t.Context(), registry.LinkInvitation, token, testPassword))(t)
	w.browsers[eva.Email] = w.browser().login(t, eva.Email)
	ours := w.ownParty(own)
	w.mailsOfDecisions(registry.Actor{Kind: registry.ActorAccount, ID: w.portalHarness.admin.ID, Name: "Ada", Administrator: true, PartnerID: own.ID})
	w.mailsOfEngine(ours)
	w.mailsOfContracts()
	w.mailsOfDatasets()
	w.mailsOfMirror(address, func(word string) { body.Store(mirrorBody(word)) })
	must(w.reg.Installation.SendTestMail(t.Context(), w.portalHarness.admin))(t)
	w.mailsOfTraffic()
	w.mailsOfIssues(w.first, w.first.email)
	w.mailsOfIssues(ours, eva.Email)
	w.mailsOfChanges()
	w.mailsOfConfirmations()
	w.wantEveryKind()
}

// mailsOfChanges are of changes of where data goes, keys and people.
func (w *mailWorld) mailsOfChanges() {
	w.addApp(w.t, w.first.browser)
	_, _, err := w.accounts.LinkBy(w.t.Context(), registry.CommandActor(), w.first.email)
	noError(w.t, err)
	for _, path := range []string{"/admin/accounts", "/admin/accounts/" + w.account(w.other.email).ID + "/block"} {
		wantStatus(w.t, w.admin.post(path, map[string][]string{"name": {"Ann"}, "email": {"ann@example.nl"}, "role": {"administrator"}}), http.StatusSeeOther)
	}
	w.open()
}

// mailsOfConfirmations makes a new route wait for a second person, who confirms it.
func (w *mailWorld) mailsOfConfirmations() {
	ctx, bea := w.t.Context(), "administrator@roles.example.nl"
	w.browsers[bea] = w.colleague(w.t, store.RoleAdministrator, "")
	state := must(w.reg.Profile.Load(ctx))(w.t)
	values := state.Values()
	values["access.two_people_routes"] = registry.PolicyOn
	_, _, err := w.reg.Profile.Save(ctx, registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(w.t, err)
	_, err = w.reg.Routes.Add(ctx, w.portalHarness.admin, partners.NewRoute{FromPartnerID: w.first.id, ToPartnerID: w.other.id, EventType: queueType})
	id := waits(w.t, err)
	w.open()
	noError(w.t, w.reg.Confirmations.Confirm(ctx, registry.AccountActor(w.account(bea)), id))
	w.open()

	// A new destination waits for approval, and is declined.
	state = must(w.reg.Profile.Load(ctx))(w.t)
	values = state.Values()
	values["sending.new_destination"] = registry.DestinationApproval
	_, _, err = w.reg.Profile.Save(ctx, registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(w.t, err)
	_, err = w.reg.Endpoints.Update(ctx, w.partnerActor(w.first), w.first.endpoint, partners.EndpointInput{
		Name: "Hook", URL: "https://new.example.nl", TokenURL: "https://id.example.nl", TokenClientID: "schakel", TokenSecret: "secret", TokenAuthMethod: "client_secret_basic",
	})
	noError(w.t, err)
	w.open()
	move := must(w.db.EndpointMove(ctx, w.first.endpoint))(w.t)
	noError(w.t, w.reg.Endpoints.DeclineMove(ctx, w.portalHarness.admin, w.first.endpoint, move.ID, "nobody knows that host"))
	w.open()
}

// account finds an account by its e-mail address.
func (w *queueWorld) account(email string) store.Account {
	return must(w.db.AccountByEmail(w.t.Context(), email))(w.t)
}

func (w *mailWorld) contact(partnerID, email string) {
	w.write(func(tx *store.Tx) error {
		p, err := tx.Partner(w.t.Context(), partnerID)
		p.ContactEmail = email
		return errors.Join(err, tx.UpdatePartner(w.t.Context(), &p))
	})
}

func (w *mailWorld) partnerActor(p queueParty) registry.Actor {
	account := must(w.db.AccountByEmail(w.t.Context(), p.email))(w.t)
	return registry.AccountActor(account)
}

func (w *mailWorld) ownParty(own store.Partner) queueParty {
	p := w.first
	p.id, p.email = own.ID, own.ContactEmail
	w.write(func(tx *store.Tx) error {
		ep := store.Endpoint{PartnerID: p.id, Name: "Our hook", Kind: store.EndpointWebhook, Status: store.EndpointActive, URL: "https://own.example.nl", MaxConcurrency: 1, TimeoutMS: 1000}
		err := tx.InsertEndpoint(w.t.Context(), &ep)
		sub := store.Subscription{PartnerID: p.id, EndpointID: ep.ID, Status: store.SubscriptionApproved, Types: []string{queueType}}
		err = errors.Join(err, tx.InsertSubscription(w.t.Context(), &sub))
		p.endpoint, p.subscription = ep.ID, sub.ID
		return err
	})
	return p
}

// open opens the links of all mails that came since the last time. It is called while what they tell of is as they tell.
func (w *mailWorld) open() {
	w.clock.Advance(time.Second)
	w.t.Helper()
	mails := w.mails(w.t, store.Page{})
	for _, m := range mails {
		if w.seen[m.ID] {
			continue
		}
		w.seen[m.ID] = true
		w.subjects = append(w.subjects, m.Subject)
		b := w.browsers[m.Recipient]
		if b == nil {
			b = w.browser() // somebody without an account
		}
		for _, link := range w.links.FindAllString(m.Body, -1) {
			answer := b.get(strings.TrimPrefix(link, "http://schakel.example.nl"))
			if answer.StatusCode == http.StatusSeeOther && strings.HasSuffix(link, "/login") {
				answer = b.get(answer.Header.Get("Location")) // is logged in already
			}
			if answer.StatusCode != http.StatusOK {
				w.t.Errorf("%s answers %d to %s, who got\n%s\n%s", link, answer.StatusCode, m.Recipient, m.Subject, m.Body)
			}
		}
	}
}

func (w *mailWorld) mailsOfRegistration() {
	ctx, service := w.t.Context(), w.reg.Partners
	register := func(name, oin, email string) {
		noError(w.t, service.Register(ctx, partners.Registration{
			Name: name, OIN: oin, Contact: partners.Contact{Name: "Nora", Email: email, Phone: "+31 30 123 45 67"},
			EndpointKinds: []string{store.EndpointWebhook}, TermsAccepted: true, TermsVersion: service.TermsVersion(), Addr: "192.0.2.1",
		}))
		w.open()
	}
	b := w.browser()
	wantStatus(w.t, b.post("/register", step("organisation", "name", "School Noord", "do", "later")), http.StatusSeeOther)
	wantStatus(w.t, b.post("/register/link", url.Values{"email": {"begun@example.nl"}}), http.StatusSeeOther)
	register("School Noord", "00000001003214345000", "nora@example.nl")
	link := match(w.t, `register/confirm/\S+`, w.lastMail(w.t, "nora@example.nl"))
	must(service.Confirm(ctx, link[strings.LastIndex(link, "/")+1:], testPassword))(w.t)
	w.browsers["nora@example.nl"] = w.browser().login(w.t, "nora@example.nl")
	w.open()
	register("School Noord", "00000003123456780000", "nora@example.nl")   // has an account
	register("School Noord", "00000001003214345000", "other2@example.nl") // is registered
	p := must(w.db.PartnerByOIN(ctx, "00000001003214345000"))(w.t)
	for _, step := range []func() error{
		func() error { return service.Approve(ctx, w.portalHarness.admin, p.ID) },
		func() error { return service.Suspend(ctx, w.portalHarness.admin, p.ID, "because of this") },
		func() error { return service.Resume(ctx, w.portalHarness.admin, p.ID) },
		func() error {
			account := must(w.db.AccountByEmail(ctx, "nora@example.nl"))(w.t)
			_, err := service.UpdateContact(ctx, registry.AccountActor(account), p.ID, partners.Contact{Name: "Olaf", Email: "olaf@example.nl", Phone: "+31 30 123 45 67"})
			w.contact(p.ID, "nora@example.nl")
			return err
		},
		func() error { return w.reg.Mails.PasswordLink(ctx, w.accounts, "nora@example.nl") },
		func() error { return service.End(ctx, w.portalHarness.admin, p.ID, "because of this") },
	} {
		noError(w.t, step())
		w.open()
	}
	register("School Zuid", "00000003123456780000", "zoe@example.nl")
	link = match(w.t, `register/confirm/\S+`, w.lastMail(w.t, "zoe@example.nl"))
	must(service.Confirm(ctx, link[strings.LastIndex(link, "/")+1:], testPassword))(w.t)
	zoe := must(w.db.AccountByEmail(ctx, "zoe@example.nl"))(w.t)
	must(w.accounts.ChangePassword(ctx, zoe.ID, testPassword, "another good one", "192.0.2.1", ""))(w.t)
	must(w.accounts.ChangePassword(ctx, zoe.ID, "another good one", testPassword, "192.0.2.1", ""))(w.t)
	w.browsers["zoe@example.nl"] = w.browser().login(w.t, "zoe@example.nl")
	p = must(w.db.PartnerByOIN(ctx, "00000003123456780000"))(w.t)
	noError(w.t, service.Reject(ctx, w.portalHarness.admin, p.ID, "because of this"))
	w.open()
}

// mailsOfDecisions causes the mails about what a partner, or the own organisation, has and asks for.
func (w *mailWorld) mailsOfDecisions(who registry.Actor) {
	ctx, admin := w.t.Context(), w.portalHarness.admin
	asker := who
	asker.Administrator = false
	ask := func() string {
		client, _, err := w.reg.Clients.Create(ctx, asker, who.PartnerID, identity.NewClient{
			Name: "Records", AuthMethod: "client_secret_basic", Scopes: []string{identity.ScopeEventsPublish}, PublishTypes: []string{queueType}, PublishSources: []string{"https://records.example/*"},
		})
		noError(w.t, err)
		w.open()
		return client.ID
	}
	for _, d := range []identity.Decision{{Approve: true}, {Reason: "not agreed upon"}} {
		must(w.reg.Clients.Decide(ctx, admin, ask(), d))(w.t)
		w.open()
	}
	endpoint := must(w.reg.Endpoints.Create(ctx, who, who.PartnerID, partners.EndpointInput{
		Name: "Main", Kind: store.EndpointWebhook, URL: "https://noord.example/events", TokenURL: "https://noord.example/token", TokenClientID: "schakel",
		TokenSecret: "top secret words", TokenAuthMethod: "client_secret_basic",
	}))(w.t)
	sub := must(w.reg.Subscriptions.Request(ctx, asker, partners.SubscriptionRequest{EndpointID: endpoint.ID, Types: []string{queueType}, Purpose: "keep our records right"}))(w.t)
	w.open()
	for _, step := range []func() error{
		func() error { return w.reg.Subscriptions.Approve(ctx, admin, sub.ID) },
		func() error { return w.reg.Subscriptions.Suspend(ctx, admin, sub.ID, "because of this") },
		func() error { return w.reg.Subscriptions.Resume(ctx, admin, sub.ID) },
		func() error { return w.reg.Endpoints.Suspend(ctx, admin, endpoint.ID, "because of this") },
		func() error { return w.reg.Endpoints.Resume(ctx, admin, endpoint.ID) },
		func() error { return w.reg.Subscriptions.End(ctx, admin, sub.ID, "because of this") },
	} {
		noError(w.t, step())
		w.open()
	}
}

// mailsOfEngine causes the mails about acts of the engine itself.
func (w *mailWorld) mailsOfEngine(p queueParty) {
	ctx := w.t.Context()
	partner := must(w.db.Partner(ctx, p.id))(w.t)
	before := len(w.subjects)
	w.rejected(p)
	w.rejected(p)
	w.dead(p)
	w.write(func(tx *store.Tx) error {
		ep := must(tx.Endpoint(ctx, p.endpoint))(w.t)
		sub := must(tx.Subscription(ctx, p.subscription))(w.t)
		notices := must(tx.DeliveryNotices(ctx, tx.Now, tx.Now, 10))(w.t)
		if len(notices) != 2 {
			w.t.Errorf("raised %+v", notices)
		}
		told := must(w.reg.Mails.DeliveriesStuck(ctx, tx, notices))(w.t)
		for i, n := range notices {
			_, single := w.reg.Mails.DeliveriesStuck(ctx, tx, notices[i:i+1])
			noError(w.t, errors.Join(single, tx.DeliveryNoticed(ctx, n, told[i])))
		}
		ep.CircuitOpenedAt = tx.Now
		return errors.Join(w.reg.Mails.EndpointFailing(ctx, tx, ep, "The receiver answered 503."), w.reg.Mails.EndpointSuspended(ctx, tx, ep, "The receiver answered 403."),
			w.reg.Mails.SubscriptionEnded(ctx, tx, sub, "The receiver answered 410."))
	})
	w.open()
	for _, want := range []string{"2 deliveries in the error queue at endpoint", "1 dead letter at endpoint", "does not answer", "is suspended"} {
		if !strings.Contains(strings.Join(w.subjects[before:], "\n"), want+" ") && !strings.Contains(strings.Join(w.subjects[before:], "\n"), want+"\n") {
			w.t.Errorf("no mail says %q: %q", want, w.subjects[before:])
		}
	}
	mails := w.mails(w.t, store.Page{Number: 1, Size: 20})
	for _, m := range mails {
		if m.Recipient == testEmail && strings.Contains(m.Subject, " at endpoint ") && !strings.Contains(m.Subject, "by AMQP") &&
			!strings.Contains(m.Subject+m.Body, " of "+partner.Name) && strings.Contains(m.Body, p.endpoint) {
			w.t.Errorf("administrators do not learn which partner this is about:\n%s\n%s", m.Subject, m.Body)
		}
		if strings.Contains(m.Subject, "2 deliveries in the error queue") && !strings.Contains(m.Body, "- rejected: 2 deliveries, the last answer was 400") {
			w.t.Errorf("nobody learns how many were rejected, and how:\n%s\n%s", m.Subject, m.Body)
		}
	}
}

// mailsOfIssues causes the mails about issues: at once of one and of several, and in a digest.
func (w *mailWorld) mailsOfIssues(p queueParty, email string) {
	ctx := w.t.Context()
	_, dns := w.fails(p, "dns")
	_, refused := w.fails(p, "http-503")
	account := must(w.db.AccountByEmail(ctx, email))(w.t)
	noError(w.t, w.accounts.SetNotifications(ctx, account.ID, identity.Notifications{When: store.NotifyBoth, Every: store.DigestDaily, Hour: 7}))
	w.write(func(tx *store.Tx) error {
		return errors.Join(w.reg.Mails.IssuesOpened(ctx, tx, []store.Issue{dns}), w.reg.Mails.IssuesOpened(ctx, tx, []store.Issue{dns, refused}), tx.ResolveIssue(ctx, refused.ID, "Ada"))
	})
	w.write(func(tx *store.Tx) error {
		a, err := tx.Account(ctx, account.ID)
		a.DigestDue = tx.Now
		return errors.Join(err, tx.UpdateAccount(ctx, &a))
	})
	vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(w.t) // of the harness
	noError(w.t, mail.NewMailer(registry.Config{DB: w.db, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://schakel.example.nl", Vault: vault, Organisation: "Chain Office"}, nil).SendDue(ctx))
	before := len(w.subjects)
	w.open()
	for _, want := range []string{"New issue at endpoint ", "2 new issues", "Digest: "} {
		if !strings.Contains(strings.Join(w.subjects[before:], "\n"), want) {
			w.t.Errorf("no mail about issues says %q: %q", want, w.subjects[before:])
		}
	}
}

func (w *mailWorld) mailsOfContracts() {
	ctx, admin, register := w.t.Context(), w.portalHarness.admin, w.reg.Contracts
	who := w.partnerActor(w.first)
	must(register.Create(ctx, who, contracts.ContractInput{ID: "noord-events", Kind: "asyncapi", Title: "Events of Noord", Visibility: store.VisibilityPartners, Classification: "confidential"}))(w.t)
	document := strings.NewReplacer("student.", "noord.", "1.2.0", "1.0.0").Replace(deskTypes)
	must(register.Upload(ctx, who, "noord-events", contracts.Upload{Content: []byte(document), FileName: "noord.yaml"}))(w.t)
	for _, step := range []func() error{
		func() error {
			_, err := publishDraft(ctx, w.reg, who, "noord-events", "1.0.0", "it is ready")
			return err
		},
		func() error {
			_, err := register.RefusePublication(ctx, admin, "noord-events", "1.0.0", "no example")
			return err
		},
		func() error {
			_, err := publishDraft(ctx, w.reg, who, "noord-events", "1.0.0", "it is ready")
			return err
		},
		func() error { _, err := publishDraft(ctx, w.reg, admin, "noord-events", "1.0.0", ""); return err },
		func() error {
			next := strings.ReplaceAll(deskTypes, "1.2.0", "2.0.0")
			_, err := register.Upload(ctx, admin, "student-events", contracts.Upload{Content: []byte(next), FileName: "students.yaml"})
			return err
		},
		func() error {
			_, err := publishDraft(ctx, w.reg, admin, "student-events", "2.0.0", "another version")
			return err
		},
		func() error {
			_, err := register.Deprecate(ctx, admin, "student-events", "1.2.0", time.Time{}, "use 2")
			return err
		},
		func() error { _, err := register.Withdraw(ctx, admin, "student-events", "1.2.0", "use 2"); return err },
	} {
		noError(w.t, step())
		w.open()
	}
}

func (w *mailWorld) mailsOfDatasets() {
	ctx, b := w.t.Context(), w.other.browser
	who := w.partnerActor(w.other)
	wantRedirect(w.t, b.uploadFile("/partner/datasets/houses/subscribe", "areaFile", "", nil, subscribePairs()...), "/partner/datasets/houses")
	w.open()
	sub := idOf(match(w.t, `/partner/subscriptions/sub_\w+`, text(b.get("/partner/datasets/houses"))))
	for _, step := range []func() error{
		func() error { return w.reg.Subscriptions.Approve(ctx, w.portalHarness.admin, sub) },
		func() error {
			area := partners.AreaInput{Text: "POLYGON((206000 473000,207000 473000,207000 474000,206000 473000))"}
			_, err := w.reg.Subscriptions.ChangeArea(ctx, who, sub, partners.AreaChange{Area: area})
			return err
		},
		func() error { return w.reg.Subscriptions.Reject(ctx, w.portalHarness.admin, sub, "too large") },
		func() error { return w.reg.Datasets.Failed(ctx, "houses", store.TroubleDelta, "the disk is full") },
		func() error { return w.reg.Datasets.Failed(ctx, "houses", store.TroubleSnapshot, "the disk is full") },
		func() error { return w.reg.Datasets.End(ctx, w.portalHarness.admin, "houses", "It moved.") },
	} {
		noError(w.t, step())
		w.open()
	}
}

func (w *mailWorld) mailsOfMirror(address string, set func(string)) {
	id := strings.TrimPrefix(redirected(w.t, w.admin.post(webcontracts.MirrorPages, map[string][]string{
		"name": {"Noord"}, "kind": {"urls"}, "urls": {address}, "schedule": {"@daily"}, "enabled": {"on"},
	})), webcontracts.MirrorPages+"/")
	for _, word := range []string{"first", "second"} {
		set(word)
		must(w.reg.Mirrors.Run(w.t.Context(), id, "schedule"))(w.t)
	}
	w.open()
}

func (w *mailWorld) mailsOfTraffic() {
	ctx := w.t.Context()
	noError(w.t, w.reg.Mails.DiskLow(ctx, "/data", 1<<20, 1<<30))
	w.write(func(tx *store.Tx) error {
		q := store.Quarantine{PartnerID: w.first.id, ClientID: "cli_test", IdempotencyKey: "key", Fingerprint: []byte{1}, FirstAnswer: []byte("{}"), ReleaseKey: "r"}
		err := tx.InsertQuarantine(ctx, &q, []store.QuarantinedEvent{{Attributes: []byte(`{"specversion":"1.0","id":"1","source":"urn:x","type":"nl.a"}`)}})
		groups := []mail.AMQPGroup{{HerID: 9, Queue: "q", Count: 2}, {Queue: "q", Count: 2}}
		for _, trouble := range []mail.AMQPTrouble{
			mail.AMQPDead, mail.AMQPOverdue, mail.AMQPQuarantined, mail.AMQPHeld, mail.AMQPUnchecked, mail.AMQPContent, mail.AMQPAnswer,
		} {
			err = errors.Join(err, w.reg.Mails.AMQPWaiting(ctx, tx, trouble, groups), w.reg.Mails.AMQPWaiting(ctx, tx, trouble, groups[:1]))
		}
		return errors.Join(err, w.reg.Mails.RequestQuarantined(ctx, tx, q))
	})
	w.open()
}

// argument is an argument of a text that was written without any.
var argument = regexp.MustCompile(`%!\w\(\w+\)`)

// wantEveryKind reads the subjects that the program can write from its source: of each a mail must have been opened.
func (w *mailWorld) wantEveryKind() {
	files := must(filepath.Glob("../registry/*.go"))(w.t)
	features := must(filepath.Glob("../registry/*/*.go"))(w.t)
	files = append(files, features...)
	kinds, all := 0, strings.Join(w.subjects, "\n")
	for _, name := range files {
		parsed := must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(w.t)
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || strings.HasSuffix(name, "_test.go") {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Letter" {
				return true
			}
			kinds++
			ast.Inspect(call.Args[0], func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					key, _ := strconv.Unquote(lit.Value)
					for _, words := range argument.Split(i18n.Message(key).String(), -1) {
						if !strings.Contains(all, words) {
							w.t.Errorf("no mail of %s with %q was opened", name, words)
						}
					}
				}
				return true
			})
			return true
		})
	}
	if kinds < 30 {
		w.t.Errorf("the registry has %d kinds of mails: was the function renamed?", kinds)
	}
}
