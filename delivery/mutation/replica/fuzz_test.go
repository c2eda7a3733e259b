package replica_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// FuzzTexts reads elements of any sound XML without trouble, each text without space around it, and as often as it stands there.
func FuzzTexts(f *testing.F) {
	f.Add(`<a><b>1</b><c><b> 2 </b></c></a>`, "b")
	f.Add(`<x:a xmlns:x="urn:x"><x:b>&lt;<![CDATA[ <b> ]]></x:b><b/></x:a>`, "a/b")
	f.Add(`<a><a><a>é</a></a></a>`, "a/a")
	f.Fuzz(func(t *testing.T, doc, name string) {
		s, err := format.ParseState("1", []byte(doc))
		if err != nil || name == "" {
			return
		}
		texts, err := replica.Texts(s, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts[name] {
			if text != strings.TrimSpace(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

// FuzzAnswers lets a source answer anything: a run ends with an error or not, and never with a copy of nothing.
func FuzzAnswers(f *testing.F) {
	f.Add(200, "application/json", `{"id":"s","_links":{"content":{"href":"x"}}}`)
	f.Add(404, "text/plain", `{"deltas":[{"id":"d"}],"_links":[{"rel":"next","href":"?page=2"}]}`)
	f.Add(201, "", `{"downloadRequestId":"1","_links":{"status":{"href":"//other"},"download":{"href":":"}},"status":"COMPLETED","timeliness":[{"featuretype":"p"}]}`)
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 || strings.ContainsAny(kind, "\r\n") || strings.Contains(body, "http") || strings.Contains(body, "//") {
			return // it is not to go anywhere else
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		source, err := replica.NewRemote(t.Context(), replica.RemoteOptions{URL: server.URL + "/d", Wait: noWait, Tries: 2})
		if err != nil {
			return
		}
		for _, next := range []func() (*replica.Delivery, error){
			func() (*replica.Delivery, error) { return source.Initial(t.Context()) },
			func() (*replica.Delivery, error) { return source.Next(t.Context(), replica.Copy{DeltaID: "d-1"}) },
		} {
			d, err := next()
			if err != nil {
				continue
			}
			opened, err := d.Open(context.WithoutCancel(t.Context()))
			if err == nil {
				_ = opened.Close()
			}
		}
	})
}
