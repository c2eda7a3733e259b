package e2e

import (
	"encoding/json"
	"testing"

	"schakel/server/demo"
	"schakel/store/storetest"
)

// TestTwoSchakels connects two programs, one on PostgreSQL and one on SQLite, and
// has events go both ways with tokens of each other's token endpoint. What a
// partner sent stays inside: it reaches the own organisation and no other
// partner (guarantee G3), with its id, source and data as they were (G4).
func TestTwoSchakels(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	r := newReceiver(t, p)
	a := newProgram(t, p, demo.OwnA(), storetest.PostgresURL(t))
	b := newProgram(t, p, demo.OwnB(), sqlitePath(t))
	publishers := map[*program]demo.Credentials{}
	var ca, cb *demo.Chain
	a.setUp(t, func(c *demo.Chain) {
		ca = c
		b.setUp(t, func(c *demo.Chain) {
			cb = c
			for _, s := range []struct {
				*program
				*demo.Chain
				name string
			}{{a, ca, "/a"}, {b, cb, "/b"}} {
				ctx := t.Context()
				must(t, demo.PublishContracts(ctx, s.Services, s.Admin))
				publishers[s.program] = must1[demo.Credentials](t)(s.Publisher(ctx, s.Admin, s.own))
				_, err := s.Subscribe(ctx, s.Admin, r.target("own", s.name+"/own"), demo.EventTypes()...)
				must(t, err)
				_, actor, err := s.Approved(ctx, organisation("Bystander", "55555555"))
				must(t, err)
				_, err = s.Subscribe(ctx, actor, r.target("bystander", s.name+"/bystander"), demo.EventTypes()...)
				must(t, err)
			}
			must(t, demo.Connect(t.Context(), ca, cb, a.base, b.base))
		})
	})
	a.start(t)
	b.start(t)
	for _, way := range []struct {
		from         *program
		own, foreign string // paths of the receiver at both sides
		eventType    string
	}{
		{a, "/a/own", "/b", demo.TypeStudentChanged},
		{b, "/b/own", "/a", demo.TypeEnrolled},
	} {
		token := way.from.token(t, publishers[way.from], "events.publish")
		id, body := newEvent(way.from.own, way.eventType)
		way.from.publish(t, token, body)
		here, there := r.waitFor(t, way.own, id), r.waitFor(t, way.foreign+"/own", id)
		for _, got := range []taken{here, there} {
			checkUnchanged(t, body, got.body)
		}
		// What came later in the same way has arrived, so that what was to come has come.
		last, body := newEvent(way.from.own, way.eventType)
		way.from.publish(t, token, body)
		r.waitFor(t, way.foreign+"/own", last)
		if _, leaked := r.got(way.foreign+"/bystander", id); leaked {
			t.Errorf("%s: an event received from a partner went to another partner", way.foreign)
		}
	}
	a.stop(t)
	b.stop(t)
}

// checkUnchanged compares the id, the source and the bytes of the data.
func checkUnchanged(t *testing.T, sent string, got []byte) {
	t.Helper()
	type event struct {
		ID, Source, Type string
		Data             json.RawMessage
	}
	var was, is event
	must(t, json.Unmarshal([]byte(sent), &was))
	must(t, json.Unmarshal(got, &is))
	if was.ID != is.ID || was.Source != is.Source || was.Type != is.Type || string(was.Data) != string(is.Data) {
		t.Errorf("sent %s, arrived %s", sent, got)
	}
}
