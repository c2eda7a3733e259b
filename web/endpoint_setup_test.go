package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/web/site"
)

// tokenEndpoint answers for the token endpoints of endpoints, and notes how it was asked.
type tokenEndpoint struct {
	answer *webhook.TokenError
	asked  []webhook.TokenConfig
}

func (e *tokenEndpoint) ask(_ context.Context, cfg webhook.TokenConfig) (time.Duration, error) {
	e.asked = append(e.asked, cfg)
	if e.answer != nil {
		return 0, e.answer
	}
	return time.Minute, nil
}

// A new endpoint is stored only when its token endpoint gives a token, or when that is asked for; what is wrong is told with its
// remedy, at the field to look at.
func TestTokenEndpointIsTriedBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	server := &tokenEndpoint{}
	h := newPortalHarness(t, func(cfg *site.PortalConfig) { cfg.AskToken = server.ask })
	b, pat := h.at(t, "pat@example.nl")
	stored := func() int { return len(must(h.db.Endpoints(t.Context(), pat.PartnerID))(t)) }
	for _, test := range []struct{ code, field, cause, remedy string }{
		{"invalid_client", "tokenSecret", "does not accept this client", "Compare the client id and the secret"},
		{"http-401", "tokenSecret", "does not accept this client", "Compare the client id and the secret"},
		{"invalid_scope", "tokenScope", "does not give this scope", "under Advanced"},
		{"unsupported_grant_type", "tokenAuthMethod", "does not take the request", "Choose the other way"},
		{"dns", "tokenUrl", "is not known", "Check the spelling"},
		{"connect", "tokenUrl", "does not answer", "Check host and port"},
		{"tls", "tokenUrl", "no safe connection", "Check that its certificate"},
		{"blocked-address", "tokenUrl", "may not be used from here", "Give a public https address"},
		{"config", "tokenAuthMethod", "cannot make the request", "Choose another method"},
		{"http-404", "tokenUrl", "does not answer as a token endpoint does", "Check the path"},
		{"answer", "tokenUrl", "does not answer as a token endpoint does", "/.well-known/openid-configuration"},
	} {
		server.answer = &webhook.TokenError{Code: test.code, Detail: "came back <b>"}
		page := wantPage(t, b.post("/partner/endpoints", endpointForm()), http.StatusUnprocessableEntity,
			test.cause, test.remedy, `href="#`+test.field+`"`, "nothing has been stored", "type it again", `name="do" value="anyway"`, "&lt;b&gt;", `value="https://auth.example.nl/token"`)
		lacks(t, page, "hush-hush", "<b>")
		if open := strings.Contains(page, `<details class="schakel-fold" open>`); open != (test.field == "tokenScope") {
			t.Errorf("%s: what is advanced is open: %t", test.code, open)
		}
	}
	server.answer = &webhook.TokenError{Code: "http-503", Transient: true}
	wantPage(t, b.post("/partner/endpoints", endpointForm("tokenScope", "")), http.StatusUnprocessableEntity, "a fault of its own", "try again")
	if stored() != 0 {
		t.Fatalf("%d endpoints are stored", stored())
	}
	if last := server.asked[len(server.asked)-1]; last.TokenURL != "https://auth.example.nl/token" || last.ClientID != "schakel" || string(last.Secret) != "hush-hush" || last.AuthMethod != webhook.AuthBasic {
		t.Errorf("asked %+v", last)
	}

	asked := len(server.asked)
	wantPage(t, b.post("/partner/endpoints", endpointForm("url", "http://roc.example.nl")), http.StatusUnprocessableEntity, `href="#url"`)
	wantPage(t, b.post("/partner/endpoints", endpointForm("tokenAuthMethod", "none")), http.StatusUnprocessableEntity, `href="#tokenAuthMethod"`)
	if len(server.asked) != asked {
		t.Error("a token is asked for an endpoint whose form is wrong")
	}
	setup := redirected(t, b.post("/partner/endpoints", endpointForm("do", "anyway")))
	if len(server.asked) != asked || stored() != 1 || strings.Contains(setup, "delivery=") {
		t.Errorf("added anyway: asked %d times more, %d stored, sent to %s", len(server.asked)-asked, stored(), setup)
	}
	wantWords(t, text(b.get(setup)), "has not been tested", "Send a test event")

	server.answer = nil
	setup = redirected(t, b.post("/partner/endpoints", endpointForm()))
	if len(server.asked) != asked+1 || stored() != 2 || !strings.Contains(setup, "delivery=dlv_") {
		t.Errorf("added: %d stored, sent to %s", stored(), setup)
	}
}

// A change of an endpoint asks for a token with what changed, and with the stored secret where none is typed; one that leaves the token
// endpoint as it is asks for none.
func TestTokenEndpointIsTriedWhenItChanges(t *testing.T) {
	t.Parallel()
	server := &tokenEndpoint{}
	h := newPortalHarness(t, func(cfg *site.PortalConfig) { cfg.AskToken = server.ask })
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	server.asked = nil
	wantRedirect(t, b.post(here, endpointForm("name", "Records 2", "tokenSecret", "")), here)
	if len(server.asked) != 0 {
		t.Error("another name asks for a token")
	}
	server.answer = &webhook.TokenError{Code: "invalid_client"}
	wantPage(t, b.post(here, endpointForm("tokenClientId", "other", "tokenSecret", "")), http.StatusUnprocessableEntity, "does not accept this client", "Save without a token")
	if len(server.asked) != 1 || string(server.asked[0].Secret) != "hush-hush" || server.asked[0].ClientID != "other" {
		t.Errorf("asked %+v", server.asked)
	}
	if e := must(h.db.Endpoint(t.Context(), idOf(here)))(t); e.TokenClientID != "schakel" {
		t.Errorf("%s is stored", e.TokenClientID)
	}
	wantRedirect(t, b.post(here, endpointForm("tokenClientId", "other", "tokenSecret", "", "do", "anyway")), here)
}

// The form shows what a newcomer needs. The rest folds away until something in it is wrong, under a line that names what differs.
func TestEndpointFormFoldsWhatIsAdvanced(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	const open = `<details class="schakel-fold" open>`
	fresh := text(b.get("/partner/endpoints/new"))
	lacks(t, fresh, open)
	before, _, _ := strings.Cut(fresh, "Advanced: scope")
	wantWords(t, before, `name="name"`, `name="url"`, `name="tokenAuthMethod"`, `name="tokenUrl"`, `name="tokenClientId"`, `name="tokenSecret"`, "schakel listen")
	lacks(t, before, `name="windows"`, `name="tokenScope"`, `name="ratePerSecond"`, `name="contentMode"`)
	for field, value := range map[string]string{"ratePerSecond": "-1", "windows": "never", "timeoutSeconds": "900"} {
		wantPage(t, b.post("/partner/endpoints", endpointForm("tokenScope", "", field, value)), http.StatusUnprocessableEntity, open)
	}
	lacks(t, wantPage(t, b.post("/partner/endpoints", endpointForm("tokenScope", "", "maxConcurrency", "16", "timeoutSeconds", "30", "name", "")), http.StatusUnprocessableEntity), open)
	here := newEndpoint(t, b)
	changed := text(b.get(here + "/edit"))
	wantWords(t, changed, "batches. Set here: Scope; Requests at the same time; Time-out</summary>")
	lacks(t, changed, open)
	wantRedirect(t, b.post(here, endpointForm("tokenScope", "", "maxConcurrency", "", "timeoutSeconds", "", "tokenSecret", "")), here)
	lacks(t, text(b.get(here+"/edit")), open, "Set here")
	// Of an address on the reader's own machine, the other way is shown.
	wantPage(t, b.post("/partner/endpoints", endpointForm("tokenScope", "", "maxConcurrency", "", "timeoutSeconds", "", "url", "http://localhost:3000/")), http.StatusUnprocessableEntity, open, "?kind=pull")
}

// The setup of an endpoint shows why its test event did not arrive, and sends another; that of an endpoint to fetch from leads on.
func TestSetupOfAnEndpoint(t *testing.T) {
	t.Parallel()
	h := newRunningPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newInbox(t, b)
	wantRedirect(t, b.post(here+"/answer", url.Values{"answer": {"500"}}), here)
	setup := redirected(t, b.post(here+"/test", url.Values{"setup": {"on"}}))
	wantWords(t, text(b.get(setup)), "did not arrive", "answered 500", "schakel-steps__step--failed", "Test again")
	other, _ := h.at(t, "other@example.nl")
	wantStatus(t, other.get(setup), http.StatusNotFound)
	// The outcome of another endpoint's test is not shown.
	mine := setUp(t, other.post("/partner/endpoints", url.Values{"kind": {store.EndpointPull}, "name": {"Fetch"}}))
	lacks(t, text(other.get(mine+"/setup?delivery="+setup[strings.LastIndex(setup, "=")+1:])), "answered 500")

	page := text(other.get(mine + "/setup"))
	wantWords(t, page, "/partner/subscriptions/new?endpoint="+idOf(mine), "/partner/clients/new?scopes=events.consume", "schakel listen")
	lacks(t, page, "has not been tested")
	form := text(other.get("/partner/clients/new?scopes=events.consume"))
	wantWords(t, match(t, `<input[^>]*value="events.consume"[^>]*>`, form), "checked")
	lacks(t, match(t, `<input[^>]*value="events.publish"[^>]*>`, form), "checked")
	wantWords(t, text(other.get(mine)), "Events on your own machine")
}

// Whose receiver answered is not told to write it.
func TestSetupOfAReceiverThatIsThere(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	arrived := w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryDelivered, "", store.Attempt{StatusCode: 202})
	setup := "/partner/endpoints/" + arrived.EndpointID + "/setup"
	wantWords(t, text(w.first.browser.get(setup)), "Write the receiver")
	page := text(w.first.browser.get(setup + "?delivery=" + arrived.ID))
	wantWords(t, page, "It works", "Try an event of a real type")
	lacks(t, page, "Write the receiver")
}
