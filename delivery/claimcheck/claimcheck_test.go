package claimcheck_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"schakel/delivery/claimcheck"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var limits = claimcheck.Limits{EventBytes: event.MinEventBytes, DataBytes: 1 << 20}

func keeper(db *store.DB) *claimcheck.Service {
	return claimcheck.New(claimcheck.Config{
		Objects: claimcheck.Database{DB: db}, Address: func(id string) string { return "https://schakel.example.nl/events/v1/objects/" + id },
	})
}

func newEvent(t *testing.T, data []byte, more ...string) event.Event {
	t.Helper()
	attributes := map[string]string{"id": "1", "source": "urn:nld:oin:1", "type": "nl.a", "datacontenttype": "application/pdf"}
	for i := 0; i < len(more); i += 2 {
		attributes[more[i]] = more[i+1]
	}
	e, err := event.New(attributes, data, event.Limits{EventBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Data that does not fit is stored byte for byte; its event is unchanged but for a reference to it, and fits. Others stay as they are.
// Rules: EDU-01a, CE-21, OPEN-02.
func TestKeep(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		k := keeper(db)
		data := bytes.Repeat([]byte{0, 0xff, '"'}, 300_000)
		events := []event.Event{newEvent(t, []byte("small")), newEvent(t, data, "id", "2", "myextension", "x")}
		kept, err := k.Store(t.Context(), claimcheck.Sender{PartnerID: "par_1", ClientID: "cli_1"}, events, limits)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Objects[0] != "" || kept.Events[0].DataKind != event.DataBinary || events[1].DataKind != event.DataBinary {
			t.Errorf("an event that fits, or what was given, was changed: %+v", kept.Objects)
		}
		light := kept.Events[1]
		if ref, _ := light.Extension("dataref"); ref != "https://schakel.example.nl/events/v1/objects/"+kept.Objects[1] {
			t.Errorf("dataref %s", ref)
		}
		if x, _ := light.Extension("myextension"); light.ID != "2" || light.Source != "urn:nld:oin:1" || x != "x" || light.DataKind != event.DataNone {
			t.Errorf("the event became %s", light.AppendJSON(nil))
		}
		if n := len(light.AppendJSON(nil)); n > event.MinEventBytes {
			t.Errorf("%d bytes on the wire", n)
		}
		o, err := db.Object(t.Context(), kept.Objects[1])
		if err != nil || o.ContentType != "application/pdf" || o.PartnerID != "par_1" || o.ClientID != "cli_1" || o.OwnerID != "" {
			t.Fatalf("%+v, %v", o, err)
		}
		if got, err := io.ReadAll(claimcheck.Database{DB: db}.Open(t.Context(), o)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back, %v", len(got), err)
		}
		k.Drop(t.Context(), kept.Objects)
		if _, err := db.Object(t.Context(), o.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after the drop: %v", err)
		}
	})
}

// The error names the event whose data cannot be stored, and then nothing is stored.
func TestKeepRefusals(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	large := bytes.Repeat([]byte{1}, 100_000)
	for name, tc := range map[string]struct {
		event event.Event
		says  string
	}{
		"a dataref of its own": {newEvent(t, large, "dataref", "https://data.example.nl/1"), "has a dataref"},
		"too much data":        {newEvent(t, bytes.Repeat([]byte{1}, 1<<20+1)), "the data is too large: 1048577 bytes, at most 1048576"},
		"too many attributes":  {newEvent(t, []byte("x"), "subject", strings.Repeat("s", 70_000)), "too large even without its data"},
	} {
		_, err := keeper(db).Store(t.Context(), claimcheck.Sender{}, []event.Event{newEvent(t, large), tc.event}, limits)
		problem, ok := errors.AsType[*claimcheck.Problem](err)
		if !ok || problem.Index != 1 || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored := newEvent(t, []byte("x"), "dataref", "https://data.example.nl/1")
	if kept, err := keeper(db).Store(t.Context(), claimcheck.Sender{}, []event.Event{stored}, limits); err != nil || kept.Objects != nil {
		t.Errorf("an event that fits and refers to data elsewhere passes as it is: %+v, %v", kept, err)
	}
}

// When the second of two cannot be stored, the first does not stay behind.
func TestKeepAllOrNothing(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	full := &fullDisk{Database: claimcheck.Database{DB: db}, room: 1}
	k := claimcheck.New(claimcheck.Config{Objects: full, Address: func(id string) string { return "https://x.example.nl/" + id }})
	large := bytes.Repeat([]byte{1}, 100_000)
	_, err := k.Store(t.Context(), claimcheck.Sender{}, []event.Event{newEvent(t, large), newEvent(t, large)}, limits)
	if !errors.Is(err, errFull) || full.put == "" {
		t.Fatalf("%v", err)
	}
	if _, err := db.Object(t.Context(), full.put); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the first object: %v", err)
	}
}

var errFull = errors.New("no space left")

// fullDisk takes a number of objects.
type fullDisk struct {
	claimcheck.Database
	room int
	put  string
}

func (f *fullDisk) Put(ctx context.Context, o store.Object, data []byte) error {
	if f.room--; f.room < 0 {
		return errFull
	}
	f.put = o.ID
	return f.Database.Put(ctx, o, data)
}
