package web

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/amqp"
	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbox"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/site"
)

// portalHarness is the portal with its real services; the engine is not started, so
// that what is queued stays where a test can see it.
type portalHarness struct {
	*harness
	reg      *services.Services
	admin    registry.Actor
	mirror   mirrorClient // fetches from registers that are mirrored
	exporter *export.Exporter
}

const deskTypes = `asyncapi: 3.1.0
info: {title: Student events, version: 1.2.0}
channels:
  students: {address: students, messages: {enrolled: {$ref: '#/components/messages/enrolled'}, left: {$ref: '#/components/messages/left'}}}
components:
  messages:
    enrolled: {name: nl.example.student.enrolled, title: A student was enrolled, contentType: application/json, payload: {type: object}, examples: [{payload: {student: "42"}}]}
    left: {name: nl.example.student.left, title: A student left, contentType: application/json, payload: {type: object}}
`

func newPortalHarness(t *testing.T, change ...func(*site.PortalConfig)) *portalHarness {
	t.Helper()
	d := &portalHarness{mirror: mirrorClient{Client: &http.Client{}}}
	d.harness = newHarness(t, func(cfg *Config) {
		db := cfg.Sessions.(*store.DB)
		vault, err := registry.VaultFromKey(bytes.Repeat([]byte{7}, 32))
		noError(t, err)
		d.reg, err = services.New(registry.Config{
			DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler), BaseURL: cfg.BaseURL.String(), Organisation: "Chain Office", Vault: vault, Profile: profile.LenientProfile(),
			CheckFilters: filter.Check, CheckWindows: window.Check, MirrorHTTP: &d.mirror,
			ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles}, ReadArea: area.Boundary,
			CheckURL: func(raw string) error {
				if !strings.HasPrefix(raw, "https://") {
					return errors.New("The address must begin with https://.")
				}
				return nil
			},
		}, cfg.Accounts)
		noError(t, err)
		_, err = d.reg.Partners.EnsureOwn(t.Context(), "Chain Office", "")
		noError(t, err)
		engine := outbox.New(outbox.Config{DB: db, Now: cfg.Now})
		bridge := amqp.New(amqp.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler), Node: "a"})
		bridge.Join(engine)
		d.exporter = export.New(export.Config{DB: db, Now: cfg.Now, Log: slog.New(slog.DiscardHandler)})
		cfg.Portal = &site.PortalConfig{
			DB: db, Engine: engine, Registry: d.reg, Mailbox: true, AMQP: bridge, Exporter: d.exporter, Ingester: ingest.New(ingest.Config{DB: db}),
		}
		for _, c := range change {
			c(cfg.Portal)
		}
	})
	d.admin = registry.AccountActor(d.administrator(t))
	return d
}

// withCatalogue publishes a contract with two event types.
func (d *portalHarness) withCatalogue(t *testing.T) *portalHarness {
	t.Helper()
	ctx := t.Context()
	_, err := d.reg.Contracts.Create(ctx, d.admin, contracts.ContractInput{
		ID: "student-events", Kind: "asyncapi", Title: "Student events", Owner: "Chain Office", Visibility: store.VisibilityPublic, Classification: "internal",
		ContactName: "Ada", ContactEmail: "ada@example.nl",
	})
	noError(t, err)
	_, err = d.reg.Contracts.Upload(ctx, d.admin, "student-events", contracts.Upload{Content: []byte(deskTypes), FileName: "students.yaml"})
	noError(t, err)
	_, err = publishDraft(ctx, d.reg, d.admin, "student-events", "1.2.0", "")
	noError(t, err)
	return d
}

// at is a browser logged in for an approved partner, and that partner's actor.
func (d *portalHarness) at(t *testing.T, email string) (*browser, registry.Actor) {
	t.Helper()
	account := d.partner(t, email)
	b := d.browser()
	b.login(t, email)
	return b, registry.AccountActor(account)
}

// endpointForm is a form that is right; pairs of name and value change it.
func endpointForm(pairs ...string) url.Values {
	return changed(url.Values{
		"name": {"Records"}, "kind": {"webhook"}, "url": {"https://roc.example.nl/events"}, "contentMode": {"structured"},
		"tokenAuthMethod": {"client_secret_basic"}, "tokenUrl": {"https://auth.example.nl/token"}, "tokenClientId": {"schakel"},
		"tokenSecret": {"hush-hush"}, "tokenScope": {"events"}, "ratePerSecond": {""}, "maxConcurrency": {"4"}, "timeoutSeconds": {"10"},
	}, pairs...)
}

func changed(form url.Values, pairs ...string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// newEndpoint adds an endpoint by its form and gives its address.
func newEndpoint(t *testing.T, b *browser) string {
	t.Helper()
	answer := b.post("/partner/endpoints", endpointForm())
	wantStatus(t, answer, http.StatusSeeOther)
	return answer.Header.Get("Location")
}

// newSubscription asks for a subscription by its form and gives its address.
func newSubscription(t *testing.T, b *browser, endpoint string) string {
	t.Helper()
	answer := b.post("/partner/subscriptions/new", url.Values{
		"types": {"nl.example.student.enrolled"}, "endpoint": {idOf(endpoint)}, "name": {"Enrolments"}, "purpose": {"To keep our records up to date."},
	})
	wantStatus(t, answer, http.StatusSeeOther)
	return answer.Header.Get("Location")
}

func idOf(href string) string { return href[strings.LastIndex(href, "/")+1:] }

// lastMail is the text of the newest mail to an address.
func (d *portalHarness) lastMail(t *testing.T, to string) string {
	t.Helper()
	mails, _, err := d.db.Mails(t.Context(), store.Page{})
	noError(t, err)
	for _, m := range mails {
		if m.Recipient == to {
			return m.Subject + "\n" + m.Body
		}
	}
	t.Fatalf("no mail to %s", to)
	return ""
}

func match(t *testing.T, pattern, in string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindString(in)
	if found == "" {
		t.Fatalf("no %s in %s", pattern, in)
	}
	return found
}

func wantWords(t *testing.T, page string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("the page lacks %q", w)
		}
	}
}
