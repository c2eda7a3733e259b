package e2e

import (
	"net/http"
	"os"
	"testing"

	"schakel/registry"
	"schakel/registry/token"
	"schakel/server/demo"
	"schakel/store"
	"schakel/store/storetest"
)

// TestStoryOverAPI plays the story with machines alone, on both databases: a
// contract is published, a partner asks for a subscription, which is approved, an
// event is published and delivered; then the receiver fails, the delivery is dead,
// and the partner has it sent again.
func TestStoryOverAPI(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) string{"sqlite": sqlitePath, "postgres": storetest.PostgresURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playAPIStory(t, database(t))
		})
	}
}

// apiStory is a program with a client of its own and one of a partner.
type apiStory struct {
	*program
	*receiver
	own, partner string // access tokens
	endpoint     string
}

func playAPIStory(t *testing.T, database string) {
	t.Helper()
	p := newPKI(t)
	s := &apiStory{program: newProgram(t, p, demo.OwnA(), database), receiver: newReceiver(t, p)}
	var own, partner demo.Credentials
	s.setUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		own = s.client(t, c, c.Admin, []string{"events.publish", "registry.read", "registry.write"})
		_, actor, err := c.Approved(ctx, organisation("North", "34567890"))
		must(t, err)
		partner = s.client(t, c, actor, []string{"events.consume", "subscriptions.write", "registry.read"})
		s.endpoint = must1[store.Endpoint](t)(c.Endpoint(ctx, actor, s.target("hook", "/hook"))).ID
	})
	s.start(t)
	s.own = s.program.token(t, own, "events.publish", "registry.read", "registry.write")
	s.partner = s.program.token(t, partner, "events.consume", "subscriptions.write", "registry.read")
	s.publishContract(t)
	s.subscribe(t)
	id, body := newEvent(s.program.own, demo.TypeEnrolled)
	s.settled(t, s.publish(t, s.own, body), store.DeliveryDelivered)
	checkUnchanged(t, body, s.waitFor(t, "/hook", id).body)

	s.behave(func(string, string) int { return http.StatusInternalServerError })
	id, body = newEvent(s.program.own, demo.TypeEnrolled)
	event := s.publish(t, s.own, body)
	s.settled(t, event, store.DeliveryDead)
	var dead struct {
		Deliveries []struct{ DeliveryID, EventID string }
	}
	s.call(t, http.MethodGet, "/events/v1/deliveries?status=dead", s.partner, nil, nil).want(t, http.StatusOK).into(t, &dead)
	if len(dead.Deliveries) != 1 || dead.Deliveries[0].EventID != event {
		t.Fatalf("dead letters: %+v", dead)
	}
	s.behave(nil)
	s.call(t, http.MethodPost, "/events/v1/deliveries/"+dead.Deliveries[0].DeliveryID+"/resend", s.partner, nil, nil).want(t, http.StatusAccepted)
	s.settled(t, event, store.DeliveryDelivered)
	checkUnchanged(t, body, s.waitFor(t, "/hook", id).body)
	s.stop(t)
}

func (s *apiStory) client(t *testing.T, c *demo.Chain, actor registry.Actor, scopes []string) demo.Credentials {
	t.Helper()
	in := registry.NewClient{Name: "Machine", AuthMethod: token.ClientSecretBasic, Scopes: scopes}
	if actor.Administrator {
		in.PublishTypes, in.PublishSources = []string{"nl.voorbeeld.*"}, []string{s.program.own.Source()}
	}
	client, secret, err := c.Clients.Create(t.Context(), actor, "", in)
	must(t, err)
	return demo.Credentials{ID: client.ID, Secret: secret}
}

func (s *apiStory) publishContract(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile("../demo/leerlingen-events.yaml")
	must(t, err)
	s.call(t, http.MethodPost, "/registry/v1/contracts", s.own, nil, map[string]any{
		"id": "students", "kind": "asyncapi", "title": "Students", "visibility": "partners",
	}).want(t, http.StatusCreated)
	header := map[string]string{"Content-Type": "application/yaml"}
	s.call(t, http.MethodPost, "/registry/v1/contracts/students/versions", s.own, header, content).want(t, http.StatusCreated)
	s.call(t, http.MethodPost, "/registry/v1/contracts/students/versions/1.2.0/publication", s.own, nil, nil).want(t, http.StatusOK)
	s.call(t, http.MethodGet, "/registry/v1/contracts/students", "", nil, nil).want(t, http.StatusNotFound) // for partners alone
	var catalogue struct{ EventTypes []struct{ Name string } }
	s.call(t, http.MethodGet, "/events/v1/event-types", s.partner, nil, nil).want(t, http.StatusOK).into(t, &catalogue)
	if len(catalogue.EventTypes) != len(demo.EventTypes()) {
		t.Errorf("catalogue: %+v", catalogue)
	}
}

// subscribe asks for a subscription and approves it; until then nothing is sent.
func (s *apiStory) subscribe(t *testing.T) {
	t.Helper()
	var sub struct{ ID, Status string }
	s.call(t, http.MethodPost, "/events/v1/subscriptions", s.partner, nil, map[string]any{
		"endpointId": s.endpoint, "types": []string{demo.TypeEnrolled}, "purpose": "Keep our copy up to date.",
	}).want(t, http.StatusCreated).into(t, &sub)
	if sub.Status != store.SubscriptionRequested {
		t.Errorf("a new subscription is %s", sub.Status)
	}
	id, body := newEvent(s.program.own, demo.TypeEnrolled)
	s.publish(t, s.own, body)
	s.setUp(t, func(c *demo.Chain) { must(t, c.Subscriptions.Approve(t.Context(), c.Admin, sub.ID)) })
	if _, early := s.got("/hook", id); early {
		t.Error("an event went to a subscription that was not approved")
	}
}

// settled waits until the one delivery of an event is in a state.
func (s *apiStory) settled(t *testing.T, event, status string) {
	t.Helper()
	eventually(t, "the delivery is "+status, func() (bool, string) {
		var got struct{ Deliveries []struct{ Status string } }
		a := s.call(t, http.MethodGet, "/events/v1/events/"+event, s.own, nil, nil).want(t, http.StatusOK)
		a.into(t, &got)
		return len(got.Deliveries) == 1 && got.Deliveries[0].Status == status, string(a.body)
	})
}
