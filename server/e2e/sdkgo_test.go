package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/uuid"

	"schakel/registry"
	"schakel/server/demo"
	"schakel/server/trial"
)

// TestGoSDK sends with the CloudEvents SDK for Go in both content modes, and has
// it receive what was sent, in both too.
//
// Rules: EDU-15, EDU-N04.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	f := &foreign{Program: trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t)), Receiver: trial.NewReceiver(t, p)}
	sdk := startGoSDKReceiver(t, p)
	f.prepare(t, map[string]demo.Target{registry.ModeStructured: sdk.at("/structured"), registry.ModeBinary: sdk.at("/binary")})
	for name, as := range map[string]func(context.Context) context.Context{
		"structured": cloudevents.WithEncodingStructured, "binary": cloudevents.WithEncodingBinary,
	} {
		protocol, err := cehttp.New(cehttp.WithTarget(f.Base+"/events/v1/events"), cehttp.WithClient(http.Client{Transport: authorised{f}}))
		trial.Must(t, err)
		client, err := cloudevents.NewClient(protocol)
		trial.Must(t, err)
		e := cloudevents.NewEvent()
		e.SetID(uuid.NewString())
		e.SetSource(f.Own.Source())
		e.SetType(demo.TypeStudentChanged)
		trial.Must(t, e.SetData(cloudevents.ApplicationJSON, map[string]any{"naam": "Zoë", "n": 1}))
		result := client.Send(as(t.Context()), e)
		if !cloudevents.IsACK(result) {
			t.Errorf("%s: %v", name, result)
			continue
		}
		for _, path := range []string{"/structured", "/binary"} {
			sdk.waitFor(t, path, e.ID())
		}
	}
}

// authorised adds the token and a new key to what the SDK sends.
type authorised struct{ f *foreign }

// RoundTrip implements http.RoundTripper.
func (a authorised) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+a.f.token)
	q.Header.Set("Idempotency-Key", trial.EventHeader("")["Idempotency-Key"])
	return a.f.Client.Transport.RoundTrip(q)
}

// goSDKReceiver is a webhook made with the SDK.
type goSDKReceiver struct {
	*trial.Receiver // for its tokens
	hooks           *httptest.Server

	mu   sync.Mutex
	took map[string]string // data by path and id
}

func startGoSDKReceiver(t *testing.T, p *trial.PKI) *goSDKReceiver {
	t.Helper()
	s := &goSDKReceiver{Receiver: trial.NewReceiver(t, p), took: map[string]string{}}
	mux := http.NewServeMux()
	for _, path := range []string{"/structured", "/binary"} {
		protocol, err := cehttp.New()
		trial.Must(t, err)
		handler, err := cloudevents.NewHTTPReceiveHandler(t.Context(), protocol, func(e cloudevents.Event) cloudevents.Result {
			if err := e.Validate(); err != nil {
				return cloudevents.NewHTTPResult(http.StatusBadRequest, "%w", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took[path+" "+e.ID()] = string(e.Data())
			return cloudevents.NewHTTPResult(http.StatusAccepted, "taken")
		})
		trial.Must(t, err)
		mux.Handle(path, handler)
	}
	s.hooks = httptest.NewUnstartedServer(mux)
	s.hooks.TLS = &tls.Config{Certificates: []tls.Certificate{p.Cert}}
	s.hooks.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.hooks.StartTLS()
	t.Cleanup(s.hooks.Close)
	return s
}

func (s *goSDKReceiver) at(path string) demo.Target {
	target := s.Target("Go SDK "+path, path)
	target.URL = s.hooks.URL + path
	return target
}

// waitFor waits until the SDK took an event, with the data that was sent.
func (s *goSDKReceiver) waitFor(t *testing.T, path, id string) {
	t.Helper()
	trial.Eventually(t, "the Go SDK takes event "+id+" at "+path, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		data, ok := s.took[path+" "+id]
		return ok && data == `{"n":1,"naam":"Zoë"}`, data
	})
}
