package e2e

import (
	"encoding/json"
	"testing"

	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestTwoSchakels connects two programs, one on PostgreSQL and one on SQLite, and
// has events go both ways with tokens of each other's token endpoint. What a
// partner sent stays inside: it reaches the own organisation and no other
// partner (guarantee G3), with its id, source and data as they were (G4).
//
// Rules: EDU-04, EDU-05, EDU-N07.
func TestTwoSchakels(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	r := trial.NewReceiver(t, p)
	a := trial.NewProgram(t, p, demo.OwnA(), storetest.PostgresURL(t))
	b := trial.NewProgram(t, p, demo.OwnB(), trial.SQLitePath(t))
	publishers := map[*trial.Program]demo.Credentials{}
	var ca, cb *demo.Chain
	a.SetUp(t, func(c *demo.Chain) {
		ca = c
		b.SetUp(t, func(c *demo.Chain) {
			cb = c
			for _, s := range []struct {
				*trial.Program
				*demo.Chain
				name string
			}{{a, ca, "/a"}, {b, cb, "/b"}} {
				ctx := t.Context()
				trial.Must(t, demo.PublishContracts(ctx, s.Services, s.Chain.Admin))
				publishers[s.Program] = trial.Must1[demo.Credentials](t)(s.Publisher(ctx, s.Chain.Admin, s.Own))
				_, err := s.Subscribe(ctx, s.Chain.Admin, r.Target("own", s.name+"/own"), demo.EventTypes()...)
				trial.Must(t, err)
				_, actor, err := s.Approved(ctx, trial.Organisation("Bystander", "55555555"))
				trial.Must(t, err)
				_, err = s.Subscribe(ctx, actor, r.Target("bystander", s.name+"/bystander"), demo.EventTypes()...)
				trial.Must(t, err)
			}
			trial.Must(t, demo.Connect(t.Context(), ca, cb, a.Base, b.Base))
		})
	})
	a.Start(t)
	b.Start(t)
	for _, way := range []struct {
		from         *trial.Program
		own, foreign string // paths of the receiver at both sides
		eventType    string
	}{
		{a, "/a/own", "/b", demo.TypeStudentChanged},
		{b, "/b/own", "/a", demo.TypeEnrolled},
	} {
		token := way.from.Token(t, publishers[way.from], "events.publish")
		id, body := trial.NewEvent(way.from.Own, way.eventType)
		way.from.Publish(t, token, body)
		here, there := r.WaitFor(t, way.own, id), r.WaitFor(t, way.foreign+"/own", id)
		for _, got := range []trial.Taken{here, there} {
			checkUnchanged(t, body, got.Body)
		}
		// What came later in the same way has arrived, so that what was to come has come.
		last, body := trial.NewEvent(way.from.Own, way.eventType)
		way.from.Publish(t, token, body)
		r.WaitFor(t, way.foreign+"/own", last)
		if _, leaked := r.Got(way.foreign+"/bystander", id); leaked {
			t.Errorf("%s: an event received from a partner went to another partner", way.foreign)
		}
	}
	a.Stop(t)
	b.Stop(t)
}

// checkUnchanged compares the id, the source and the bytes of the data.
func checkUnchanged(t *testing.T, sent string, got []byte) {
	t.Helper()
	type event struct {
		ID, Source, Type string
		Data             json.RawMessage
	}
	var was, is event
	trial.Must(t, json.Unmarshal([]byte(sent), &was))
	trial.Must(t, json.Unmarshal(got, &is))
	if was.ID != is.ID || was.Source != is.Source || was.Type != is.Type || string(was.Data) != string(is.Data) {
		t.Errorf("sent %s, arrived %s", sent, got)
	}
}
