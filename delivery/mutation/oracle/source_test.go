package oracle

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
)

// shapes are the forms in which groups can be published.
func shapes() []string { return []string{"xml", "zip", "json", "ndjson"} }

// body writes groups as a publisher sends them.
func body(t *testing.T, h *historytest.History, shape string, groups []*format.Group) []byte {
	t.Helper()
	var b bytes.Buffer
	switch shape {
	case "xml":
		w := must1(format.NewWriter(&b, h.Header(dataset, format.Delta, "p")))(t)
		for _, g := range groups {
			must(t, w.WriteGroup(g))
		}
		must(t, w.Close())
	case "zip":
		w := must1(archive.NewDeliveryWriter(&b, h.Header(dataset, format.Delta, "p"), archive.DeliveryOptions{PerFile: 7}))(t)
		for _, g := range groups {
			must(t, w.WriteGroup(g))
		}
		must1(w.Close())(t)
	case "json":
		all := make([]any, len(groups))
		for i, g := range groups {
			all[i] = plain(g)
		}
		must(t, json.NewEncoder(&b).Encode(map[string]any{"groups": all}))
	case "ndjson":
		for _, g := range groups {
			must(t, json.NewEncoder(&b).Encode(plain(g)))
		}
	}
	return b.Bytes()
}

func plain(g *format.Group) any {
	state := func(s *format.State) any {
		if s == nil {
			return nil
		}
		return map[string]string{"id": s.ID, "xml": string(s.XML)}
	}
	var list []any
	for _, m := range g.Mutations {
		one := map[string]any{"objectType": m.ObjectType, "objectId": m.ObjectID}
		if m.Was != nil {
			one["was"] = state(m.Was)
		}
		if m.Wordt != nil {
			one["wordt"] = state(m.Wordt)
		}
		list = append(list, one)
	}
	return map[string]any{"mutations": list}
}

// source reads what was written by body.
func source(shape string, r io.Reader) ingest.Source {
	switch shape {
	case "xml":
		return ingest.FromXML("000001.xml", r, format.Limits{})
	case "zip":
		return ingest.FromZip(r, archive.Limits{}, format.Limits{})
	case "json":
		return ingest.FromJSON("groups.json", r, format.Limits{})
	}
	return ingest.FromNDJSON("groups.ndjson", r, format.Limits{})
}

// torn ends a stream in the middle, at any byte, as a line that breaks does.
func torn(r *rand.Rand, doc []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(doc[:r.IntN(len(doc))]), broken{})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[V any](v V, err error) func(t *testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		must(t, err)
		return v
	}
}
