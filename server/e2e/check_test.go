package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"schakel/delivery/endpointcheck"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/server/demo"
	"schakel/server/trial"
)

// TestEndpointCheckPasses finds no fault in receivers made with the SDKs for Go and JavaScript behind a token check, nor in Schakel
// itself.
//
// Rules: EDU-04, EDU-15, EDU-N02, EDU-N04.
func TestEndpointCheckPasses(t *testing.T) {
	t.Parallel()
	node, modules := needNode(t)
	p := trial.NewPKI(t)
	program := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	var client demo.Credentials
	program.SetUp(t, func(c *demo.Chain) {
		trial.Must(t, demo.PublishContracts(t.Context(), c.Services, c.Admin))
		client = trial.Must1[demo.Credentials](t)(c.Publisher(t.Context(), c.Admin, program.Own))
	})
	program.Start(t)
	js := startJSReceiver(t, p, node, modules)
	sdk := guardedGoSDK(t, p)
	guard := outbound.New(outbound.Config{RootCAs: p.Client.Transport.(*http.Transport).TLSClientConfig.RootCAs, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	_, example := trial.NewEvent(program.Own, demo.TypeEnrolled) // Schakel takes what a contract defines
	for name, target := range map[string]demo.Target{
		"Schakel":    {URL: program.Base + "/events/v1/events", TokenURL: program.Base + "/oauth/token", Credentials: client},
		"JavaScript": js.target,
		"Go":         sdk,
	} {
		report, err := endpointcheck.New(guard, nil, time.Now).Run(t.Context(), endpointcheck.Target{
			URL: target.URL, Event: []byte(example),
			Token: &webhook.TokenConfig{TokenURL: target.TokenURL, ClientID: target.ID, Secret: webhook.Secret(target.Secret), AuthMethod: webhook.AuthBasic},
		})
		trial.Must(t, err)
		if report.Count(endpointcheck.Fault) > 0 || report.Count(endpointcheck.Pass) < 18 {
			text, _ := json.Marshal(report.Findings)
			t.Errorf("%s: %s", name, text)
		}
		for _, f := range report.Findings {
			if f.Result == endpointcheck.Advice {
				t.Logf("%s: %s: %s", name, f.Code, f.Text)
			}
		}
	}
}

// guardedGoSDK is a webhook made with the SDK for Go behind a check of its token.
func guardedGoSDK(t *testing.T, p *trial.PKI) demo.Target {
	t.Helper()
	protocol, err := cehttp.New()
	trial.Must(t, err)
	hook, err := cloudevents.NewHTTPReceiveHandler(t.Context(), protocol, func(e cloudevents.Event) cloudevents.Result {
		if err := e.Validate(); err != nil {
			return cloudevents.NewHTTPResult(http.StatusBadRequest, "%w", err)
		}
		return cloudevents.NewHTTPResult(http.StatusAccepted, "taken")
	})
	trial.Must(t, err)
	const secret, bearer = "any", "the-token-of-the-go-sdk"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, given, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && id == "any" && given == secret:
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, bearer)
		case r.URL.Path == "/token", r.Header.Get("Authorization") != "Bearer "+bearer:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			hook.ServeHTTP(w, r)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{p.Cert}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return demo.Target{URL: server.URL + "/hook", TokenURL: server.URL + "/token", Credentials: demo.Credentials{ID: "any", Secret: secret}}
}
