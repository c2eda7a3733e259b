package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a database with a dataset.
type world struct {
	t        testing.TB
	ctx      context.Context
	db       *store.DB
	ingester *ingest.Ingester
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) { fn(t, newWorld(t, db)) })
}

func newWorld(t testing.TB, db *store.DB) *world {
	w := &world{t: t, ctx: t.Context(), db: db, ingester: ingest.New(ingest.Config{DB: db})}
	w.dataset("panden")
	return w
}

func (w *world) dataset(id string) {
	w.t.Helper()
	d := store.Dataset{
		ID: id, Title: id, Status: store.DatasetActive, RootPrefix: "p", RootSpace: "urn:p", RootLocal: "mutaties", Namespaces: "{}",
		ObjectTypes: store.Strings{"Pand", "weg"}, AreaKind: store.AreaNone, PerFile: 5000, Lineage: "one",
	}
	must(w.t, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.InsertDataset(w.ctx, &d) }))
}

// st is a state of a pand in a test: an id, and what is in it.
func st(id, text string) *format.State {
	raw := `<p:Pand xmlns:p="urn:p"><p:naam>` + text + `</p:naam></p:Pand>`
	return &format.State{ID: id, XML: []byte(raw)}
}

func mut(object string, was, wordt *format.State) format.Mutation {
	return format.Mutation{ObjectType: "Pand", ObjectID: object, Was: was, Wordt: wordt}
}

func add(object, id, text string) format.Mutation { return mut(object, nil, st(id, text)) }

func group(m ...format.Mutation) *format.Group { return &format.Group{Mutations: m} }

// header makes the header of files in tests.
func header(kind format.DeliveryType) format.Header {
	return format.Header{
		Root: format.Name{Prefix: "p", Space: "urn:p", Local: "mutaties"}, Dataset: "panden", Type: kind, DeliveryID: "d1", ObjectTypes: []string{"pand"},
	}
}

// file writes groups as a file of the format, which must be sound enough for that.
func file(t testing.TB, h format.Header, groups ...*format.Group) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := format.NewWriter(&out, h)
	for i := 0; err == nil && i < len(groups); i++ {
		err = w.WriteGroup(groups[i])
	}
	if err == nil {
		err = w.Close()
	}
	must(t, err)
	return out.Bytes()
}

func zipped(t testing.TB, h format.Header, perFile int, groups ...*format.Group) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewDeliveryWriter(&out, h, archive.DeliveryOptions{PerFile: perFile})
	for i := 0; err == nil && i < len(groups); i++ {
		err = w.WriteGroup(groups[i])
	}
	if err == nil {
		_, err = w.Close()
	}
	must(t, err)
	return out.Bytes()
}

// stream is a source of given groups, as a caller of this package might have its own; it fails behind them when err is set.
type stream struct {
	groups []*format.Group
	err    error
	at     int
	before func(at int) // called before each group
}

// Header implements ingest.Source.
func (s *stream) Header() (*format.Header, error) { return nil, nil }

// Bytes implements ingest.Source.
func (s *stream) Bytes() int64 { return int64(s.at) }

// Next implements ingest.Source.
func (s *stream) Next() (*format.Group, archive.Position, error) {
	if s.before != nil {
		s.before(s.at)
	}
	at := archive.Position{File: "test", Index: 1, Group: s.at + 1}
	if s.at == len(s.groups) {
		if s.err != nil {
			return nil, at, s.err
		}
		return nil, at, io.EOF
	}
	s.at++
	copied := *s.groups[s.at-1]
	copied.Mutations = append([]format.Mutation(nil), copied.Mutations...)
	return &copied, at, nil
}

func of(groups ...*format.Group) *stream { return &stream{groups: groups} }

func (w *world) request(key string, s ingest.Source) ingest.Request {
	return ingest.Request{Dataset: "panden", ClientID: "cli_1", By: "Anna", Key: key, Source: s}
}

// publish must succeed.
func (w *world) publish(key string, groups ...*format.Group) ingest.Receipt {
	w.t.Helper()
	r, err := w.ingester.Publish(w.ctx, w.request(key, of(groups...)))
	must(w.t, err)
	return r
}

// alive are the contents of the dataset, in the order in which they came.
func (w *world) alive() string {
	w.t.Helper()
	d, err := w.db.Dataset(w.ctx, "panden")
	must(w.t, err)
	var texts []string
	for s := w.db.OpenStates(d, d.LastSeq); ; {
		row, err := s.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			return strings.Join(texts, " ")
		}
		must(w.t, err)
		texts = append(texts, row.ObjectID+"="+text(row.XML))
	}
}

// text gives the content between the tags of a state.
func text(raw []byte) string {
	_, rest, _ := strings.Cut(string(raw), "naam>")
	found, _, _ := strings.Cut(rest, "<")
	return found
}

// history is every group of the dataset: what became what, in which publication's order.
func (w *world) history() (lines []string) {
	w.t.Helper()
	for s := w.db.OpenGroups("panden", 0, 1<<40); ; {
		g, err := s.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			return lines
		}
		must(w.t, err)
		line := fmt.Sprint(g.Seq, ":")
		for _, m := range g.Mutations {
			was, wordt := "", ""
			if m.Was != nil {
				was = text(m.Was.XML)
			}
			if m.Wordt != nil {
				wordt = text(m.Wordt.XML)
			}
			line += fmt.Sprintf(" %s %s %s>%s", m.ObjectType, m.ObjectID, was, wordt)
		}
		lines = append(lines, line)
	}
}

// codes lists the codes of the problems of a refusal, with group and mutation.
func codes(err error) string {
	var refused *ingest.Refused
	if !errors.As(err, &refused) {
		return fmt.Sprint(err)
	}
	var out []string
	for _, p := range refused.Problems {
		out = append(out, fmt.Sprintf("%s %d.%d", p.Code, p.Group, p.Mutation))
	}
	return strings.Join(out, ", ")
}

func fromXML(in []byte) ingest.Source {
	return ingest.FromXML("a.xml", bytes.NewReader(in), format.Limits{})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
