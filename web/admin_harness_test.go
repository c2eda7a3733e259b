package web

import (
	"bytes"
	"context"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/filter"
	"schakel/delivery/outbox"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/site"
)

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

func newAdminHarness(t *testing.T) *adminHarness {
	t.Helper()
	o := &adminHarness{}
	o.harness = newHarness(t, func(cfg *Config) { o.open(t, cfg) })
	ctx := t.Context()
	var err error
	o.own, err = o.reg.Partners.EnsureOwn(ctx, "Chain Office", "00000001003214345000")
	noError(t, err)
	o.administrator(t)
	o.admin = o.browser()
	o.admin.login(t, testEmail)
	o.staff = o.harness.partner(t, "pat@noord.example")
	o.partner, err = o.db.Partner(ctx, o.staff.PartnerID)
	noError(t, err)
	o.publish(t, "student-events", sampleContract)
	return o
}

// open puts the portal into the configuration.
func (o *adminHarness) open(t *testing.T, cfg *Config) {
	t.Helper()
	db, ok := cfg.Sessions.(*store.DB)
	if !ok {
		t.Fatal("sessions are not in the database")
	}
	vault, err := registry.VaultFromKey(bytes.Repeat([]byte{7}, 32))
	noError(t, err)
	o.reg, err = services.New(registry.Config{
		DB: db, Now: cfg.Now, Log: cfg.Log, BaseURL: apiTestBase, Organisation: "Chain Office", Vault: vault, Profile: profile.LenientProfile(),
		CheckFilters: filter.Check, CheckWindows: window.Check, CheckURL: func(string) error { return nil }, AllowOpenEndpoints: true,
		MirrorHTTP: &o.servers,
	}, cfg.Accounts)
	noError(t, err)
	engine := outbox.New(outbox.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler)})
	noError(t, engine.Start(t.Context()))
	t.Cleanup(func() { _ = engine.Stop(context.WithoutCancel(t.Context())) })
	cfg.Portal = &site.PortalConfig{DB: db, Engine: engine, Registry: o.reg, DocumentBytes: 100_000}
}

// publish makes a contract with one published version.
func (o *adminHarness) publish(t *testing.T, id, document string) {
	t.Helper()
	o.draft(t, id, document)
	_, err := publishDraft(t.Context(), o.reg, registry.SystemActor(), id, "1.0.0", "")
	noError(t, err)
}

// draft makes a contract with one draft.
func (o *adminHarness) draft(t *testing.T, id, document string) {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	_, err := o.reg.Contracts.Create(ctx, actor, contracts.ContractInput{
		ID: id, Kind: "asyncapi", Title: "Contract " + id, Visibility: store.VisibilityPublic, Classification: "personal data",
	})
	noError(t, err)
	_, err = o.reg.Contracts.Upload(ctx, actor, id, contracts.Upload{Content: []byte(document), FileName: id + ".yaml"})
	noError(t, err)
}

// asPartner is a browser of someone of the partner.
func (o *adminHarness) asPartner(t *testing.T) *browser {
	t.Helper()
	b := o.browser()
	b.login(t, o.staff.Email)
	return b
}

// requested makes a pending registration; confirmed sets whether its e-mail address is confirmed.
func (o *adminHarness) requested(t *testing.T, name string, confirmed bool) store.Partner {
	t.Helper()
	p := store.Partner{Name: name, Status: store.PartnerRequested, ContactName: "Anna de Vries", ContactEmail: "anna@zuid.example", OIN: "00000003123456780000"}
	if confirmed {
		p.EmailConfirmedAt = store.At(o.clock.Now())
	}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &p) }))
	return p
}

func (o *adminHarness) endpoint(t *testing.T, partnerID string) store.Endpoint {
	t.Helper()
	e, err := o.reg.Endpoints.Create(t.Context(), registry.SystemActor(), partnerID, partners.EndpointInput{
		Name: "Main webhook", Kind: store.EndpointWebhook, URL: "https://events.noord.example/in", TokenURL: "https://id.noord.example/token",
		TokenClientID: "schakel", TokenSecret: "not-to-be-seen", TokenAuthMethod: token.ClientSecretBasic,
	})
	noError(t, err)
	return e
}

func (o *adminHarness) subscription(t *testing.T, endpointID string) store.Subscription {
	t.Helper()
	s, err := o.reg.Subscriptions.Request(t.Context(), registry.SystemActor(), partners.SubscriptionRequest{
		Name: "New students", EndpointID: endpointID, Types: []string{officeType}, Purpose: "To make accounts for new students.",
	})
	noError(t, err)
	return s
}

// waitingClient makes a client of the partner that asks to publish.
func (o *adminHarness) waitingClient(t *testing.T) store.Client {
	t.Helper()
	c, _, err := o.reg.Clients.Create(t.Context(), registry.AccountActor(o.staff), o.partner.ID, identity.NewClient{
		Name: "Student system", AuthMethod: token.ClientSecretBasic, Scopes: []string{identity.ScopeEventsPublish},
		PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:00000003123456780000:*"},
	})
	noError(t, err)
	return c
}

// page gets a page as the administrator and gives its text.
func (o *adminHarness) page(t *testing.T, path string) string {
	t.Helper()
	answer := o.admin.get(path)
	wantStatus(t, answer, http.StatusOK)
	return text(answer)
}

// wantText checks that a page says all of this.
func wantText(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

// upload posts a form with a file as a browser does, which sends an empty one when none was chosen.
func (b *browser) upload(t *testing.T, path string, fields url.Values, fileName string, file []byte) *http.Response {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range fields {
		noError(t, w.WriteField(name, values[0]))
	}
	part, err := w.CreateFormFile("document", fileName)
	noError(t, err)
	_, err = part.Write(file)
	noError(t, err)
	noError(t, w.Close())
	b.header.Set("Content-Type", w.FormDataContentType())
	defer b.header.Del("Content-Type")
	return b.do(http.MethodPost, path, body.String())
}
