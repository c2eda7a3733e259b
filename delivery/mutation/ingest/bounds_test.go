package ingest_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
)

// A group that readers of the delivery would refuse is not taken in: there, every WAS has its fields.
// Rules: MUT-30.
func TestGroupsFitInADelivery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		text := strings.Repeat("x", 15<<20)
		var all []format.Mutation
		for i := range 5 {
			id := fmt.Sprint("s", i)
			w.publish("add "+id, group(add("1", id, text)))
			all = append(all, mut("1", &format.State{ID: id}, nil))
		}
		_, err := w.ingester.Publish(w.ctx, w.request("k", ingest.FromNDJSON("a", strings.NewReader(asJSON(t, group(all...))), format.Limits{})))
		if got := codes(err); got != "limit 1.0" {
			t.Fatalf("%v: %s", err, got)
		}
		if _, err = w.ingester.Publish(w.ctx, w.request("k", ingest.FromNDJSON("a", strings.NewReader(asJSON(t, group(all[:4]...))), format.Limits{}))); err != nil {
			t.Error(err)
		}
	})
}

// A state that readers of the delivery would refuse is not taken in, however it is published.
// Rules: MUT-30.
func TestStatesFitInADelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	deep := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	asFile := func(xml string) ingest.Source {
		in := file(t, header(format.Delta), group(add("1", "x", "x")))
		return ingest.FromXML("a", strings.NewReader(regexp.MustCompile(`(?s)(<ml:wordt[^>]*>).*(</ml:wordt>)`).ReplaceAllString(string(in), "$1"+xml+"$2")), format.Limits{Depth: 110})
	}
	asJSON := func(xml string) ingest.Source {
		return ingest.FromJSON("a", strings.NewReader(`{"groups":[{"mutations":[{"objectType":"pand","objectId":"1","wordt":{"xml":"`+xml+`"}}]}]}`), format.Limits{})
	}
	for name, c := range map[string]struct {
		source ingest.Source
		want   string
	}{
		"file":        {asFile(deep(96)), "limit 1.1"},
		"json":        {asJSON(deep(96)), "limit 1.1"},
		"json deeper": {asJSON(deep(101)), "limit 1.1"},
		"sound file":  {asFile(deep(95)), "<nil>"},
		"sound json":  {asJSON(deep(95)), "<nil>"},
	} {
		_, err := w.ingester.Publish(w.ctx, w.request(name, c.source))
		if got := codes(err); got != c.want {
			t.Errorf("%s: %v: %s, want %s", name, err, got, c.want)
		}
	}
}

// The reason of a new lineage is short text, and nothing is replaced for one that is not.
func TestReasonOfReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	w.publish("before", group(add("1", "s1", "een")))
	for _, reason := range []string{strings.Repeat("r", 1001), "a\x00b", "a\nb"} {
		req := w.request("k", of(group(add("2", "s2", "twee"))))
		req.Kind, req.Replace = store.PublicationInitial, reason
		_, err := w.ingester.Publish(w.ctx, req)
		var refused *ingest.Refused
		if !errors.As(err, &refused) || refused.Problems[0].Code != ingest.CodeHeader || w.alive() != "1=een" {
			t.Errorf("%v: %s", err, w.alive())
		}
	}
}

// What cannot be taken in from its first group on replaces nothing.
//
// Rules: MUT-38.
func TestBrokenReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite(t))
	w.publish("before", group(add("1", "s1", "een")))
	for name, body := range map[string]string{
		"cut":       `{"groups":[{"mutations":[`,
		"no JSON":   `{"groups":[}`,
		"no rule":   `{"groups":[{"mutations":[]}]}`,
		"a change":  `{"groups":[{"mutations":[{"was":{"id":"s1"}}]}]}`,
		"other XML": `{"groups":[{"mutations":[{"wordt":{"xml":"<a>"}}]}]}`,
	} {
		req := w.request("k "+name, ingest.FromJSON("a.json", strings.NewReader(body), format.Limits{}))
		req.Kind, req.Replace = store.PublicationInitial, "a better history"
		if _, err := w.ingester.Publish(w.ctx, req); err == nil || w.alive() != "1=een" {
			t.Errorf("%s: %v: %s", name, err, w.alive())
		}
	}
	if rows, _, err := w.db.Audits(w.ctx, store.AuditFilter{Page: store.Page{Size: 10}}); err != nil || len(rows) != 0 {
		t.Errorf("told of what was not: %v, %v", rows, err)
	}
	empty := w.request("empty", ingest.FromNDJSON("a", strings.NewReader("\n"), format.Limits{}))
	empty.Kind, empty.Replace = store.PublicationInitial, "a better history"
	if _, err := w.ingester.Publish(w.ctx, empty); codes(err) != "header 0.0" || w.alive() != "1=een" {
		t.Errorf("empty: %v: %s", err, w.alive())
	}
	req := w.request("k", of(group(add("2", "s2", "twee")), group(add("3", "s3", "drie"))))
	req.Kind, req.Replace = store.PublicationInitial, "a better history"
	r, err := w.ingester.Publish(w.ctx, req)
	if err != nil || r.Publication.Groups != 2 || w.alive() != "2=twee 3=drie" {
		t.Errorf("%v, %+v: %s", err, r.Publication, w.alive())
	}
}
