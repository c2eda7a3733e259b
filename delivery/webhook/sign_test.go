package webhook

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// The vector comes from the documentation of Standard Webhooks.
func TestStandardWebhooksVector(t *testing.T) {
	t.Parallel()
	secret, err := base64.StdEncoding.DecodeString("plJ3nmyCDGBKInavdOK15jsl")
	if err != nil {
		t.Fatal(err)
	}
	// Shorter than the 24 bytes that the form asks for, so the key is prepared by hand.
	s := Signatures{scheme: store.SignStandard, keys: []preparedKey{{SignKey: SignKey{ID: "k", Algorithm: store.SignHMAC, Secret: secret}}}}
	header := http.Header{}
	s.Add(header, nil, "msg_loFOjxBNrRLzqYUf", []byte(`{"event_type":"ping","data":{"success":true}}`), time.Unix(1731705121, 0))
	if got := header.Get("Webhook-Signature"); got != "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=" {
		t.Error(got)
	}
}

// Every request of a signed endpoint is signed as it is sent, single or in a batch; one of an endpoint without signatures has none.
func TestSendSigns(t *testing.T) {
	t.Parallel()
	key := SignKey{ID: "whk_1", Algorithm: store.SignEd25519, Secret: NewSignSecret()}
	for _, scheme := range []string{store.SignNone, store.SignStandard, store.SignMessage} {
		var got []http.Header
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			got = append(got, r.Header.Clone())
			w.WriteHeader(http.StatusAccepted)
		})
		f := newSender(t, nil, server)
		signs, err := NewSignatures(scheme, key)
		if err != nil {
			t.Fatal(err)
		}
		target := Target{EndpointID: "e", URL: server.URL + "/hook", Sign: signs}
		body := []byte(`[{"a":1}]`)
		f.Send(t.Context(), target, message())
		f.SendBatch(t.Context(), target, body, "batch-key")
		if len(got) != 2 {
			t.Fatalf("%d requests", len(got))
		}
		want := http.Header{"Content-Type": {"application/cloudevents-batch+json"}, "Idempotency-Key": {`"batch-key"`}}
		to, _ := url.Parse(target.URL)
		signs.Add(want, to, "batch-key", body, f.clock.now())
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Content-Digest", "Signature-Input", "Signature"} {
			if got[1].Get(name) != want.Get(name) || (want.Get(name) == "") != (got[0].Get(name) == "") {
				t.Errorf("%q: %s is %q, want %q", scheme, name, got[1].Get(name), want.Get(name))
			}
		}
		if scheme == store.SignStandard && (got[0].Get("Webhook-Id") != message().IdempotencyKey || !strings.HasPrefix(got[0].Get("Webhook-Signature"), "v1a,")) {
			t.Errorf("%v", got[0])
		}
	}
}

func TestSignaturesRefuse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scheme string
		keys   []SignKey
	}{
		{"other", []SignKey{{ID: "k", Algorithm: store.SignHMAC, Secret: NewSignSecret()}}},
		{store.SignStandard, nil},
		{store.SignStandard, []SignKey{{ID: "k", Algorithm: "rsa", Secret: NewSignSecret()}}},
		{store.SignMessage, []SignKey{{ID: "k", Algorithm: store.SignEd25519, Secret: []byte("short")}}},
	} {
		if s, err := NewSignatures(tc.scheme, tc.keys...); err == nil || !s.Empty() {
			t.Errorf("%+v is taken", tc)
		}
	}
}

// BenchmarkSign shows the cost of the signatures of one request with an event of 1 KiB.
func BenchmarkSign(b *testing.B) {
	to, _ := url.Parse("https://roc.example.nl/hook")
	body := []byte(strings.Repeat("x", 1<<10))
	for _, scheme := range []string{store.SignStandard, store.SignMessage} {
		for _, algorithm := range []string{store.SignHMAC, store.SignEd25519} {
			s, err := NewSignatures(scheme, SignKey{ID: "whk_1", Algorithm: algorithm, Secret: NewSignSecret()})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(scheme+" "+algorithm, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Add(http.Header{"Content-Type": {"application/cloudevents+json"}, "Idempotency-Key": {`"k"`}}, to, "k", body, time.Unix(1, 0))
				}
			})
		}
	}
}
