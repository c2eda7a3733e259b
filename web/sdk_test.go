package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// TestForeignSender publishes with the Go SDK of CloudEvents, a client that is not
// ours (EDU-15), in structured and binary mode.
//
// Rules: EDU-15, EDU-N04.
func TestForeignSender(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	for id, mode := range map[string]func(context.Context) context.Context{
		"structured": binding.WithForceStructured, "binary": binding.WithForceBinary,
	} {
		sender, err := cloudevents.NewClientHTTP(
			cehttp.WithTarget(server.URL+"/events/v1/events"), cehttp.WithHeader("Authorization", "Bearer "+c.token), cehttp.WithHeader("Idempotency-Key", freshKey()))
		noError(t, err)
		e := cloudevents.NewEvent()
		e.SetID(id)
		e.SetSource("urn:nld:oin:00000001823288444000:sis")
		e.SetType("nl.example.student.enrolled")
		e.SetExtension("sequence", "0001")
		noError(t, e.SetData(cloudevents.ApplicationJSON, map[string]string{"studentId": "1234"}))
		result := sender.Send(mode(t.Context()), e)
		var answer *cehttp.Result
		if !cloudevents.IsACK(result) || !cloudevents.ResultAs(result, &answer) || answer.StatusCode != http.StatusAccepted {
			t.Errorf("%s: %v", id, result)
		}
	}
	if n := h.eventCount(t); n != 2 {
		t.Errorf("%d events stored", n)
	}
}
