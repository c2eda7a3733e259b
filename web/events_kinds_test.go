package web

import (
	"net/http"
	"strings"
	"testing"
)

// An event of any kind arrives as it was sent: without data, with data, with a
// reference to data elsewhere, and with data that was signed or encrypted.
//
// Rules: EDU-01, EDU-03e, EDU-N07, CE-21, CE-22, CE-24, CE-30.
func TestEventsOfEveryKindArrive(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		const head = `{"specversion":"1.0","id":"k-1","source":"urn:nld:oin:00000001823288444000:sis","type":"nl.example.student.enrolled"`
		for name, rest := range map[string]string{
			"no data":   `,"subject":"student/1"}`,
			"data":      `,"datacontenttype":"application/json","data":{ "n": 1.50, "a": "\u00e9" }}`,
			"dataref":   `,"dataref":"https://school.example.nl/students/1?v=2"}`,
			"signed":    `,"datacontenttype":"application/jose","data":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln"}`,
			"bytes":     `,"datacontenttype":"application/octet-stream","data_base64":"AAH+/w=="}`,
			"extension": `,"datacontenttype":"text/xml","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","sequence":"7","sequencetype":"Integer","flag":true,"n":-5,"data":"<a/>"}`,
		} {
			body := strings.Replace(head, "k-1", "k-"+strings.ReplaceAll(name, " ", "-"), 1) + rest
			w.publisher.publish(t, body).want(t, http.StatusAccepted)
			got := w.receive(t, `{"maxEvents":1}`, 1)
			if string(got.Details[0].Event) != body {
				t.Errorf("%s: sent %s\nreceived %s", name, body, got.Details[0].Event)
			}
			w.settle(t, "/acknowledge", `{"lockTokens":`+got.tokens()+`}`, 1)
		}
	})
}
