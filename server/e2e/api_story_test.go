package e2e

import (
	"net/http"
	"os"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// TestStoryOverAPI plays the story with machines alone, on both databases: a
// contract is published, a partner asks for a subscription, which is approved, an
// event is published and delivered; then the receiver fails, the delivery is dead,
// and the partner has it sent again.
func TestStoryOverAPI(t *testing.T) {
	t.Parallel()
	storetest.EachURL(t, playAPIStory)
}

// apiStory is a program with a client of its own and one of a partner.
type apiStory struct {
	*trial.Program
	*trial.Receiver
	own, partner string // access tokens
	endpoint     string
}

func playAPIStory(t *testing.T, database string) {
	t.Helper()
	p := trial.NewPKI(t)
	s := &apiStory{Program: trial.NewProgram(t, p, demo.OwnA(), database), Receiver: trial.NewReceiver(t, p)}
	var own, partner demo.Credentials
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		own = s.client(t, c, c.Admin, []string{"events.publish", "registry.read", "registry.write"})
		_, actor, err := c.Approved(ctx, trial.Organisation("North", "34567890"))
		trial.Must(t, err)
		partner = s.client(t, c, actor, []string{"events.consume", "subscriptions.write", "registry.read"})
		s.endpoint = trial.Must1[store.Endpoint](t)(c.Endpoint(ctx, actor, s.Target("hook", "/hook"))).ID
	})
	s.Start(t)
	s.own = s.Program.Token(t, own, "events.publish", "registry.read", "registry.write")
	s.partner = s.Program.Token(t, partner, "events.consume", "subscriptions.write", "registry.read")
	s.publishContract(t)
	s.subscribe(t)
	id, body := trial.NewEvent(s.Program.Own, demo.TypeEnrolled)
	s.settled(t, s.Publish(t, s.own, body), store.DeliveryDelivered)
	checkUnchanged(t, body, s.WaitFor(t, "/hook", id).Body)

	s.Behave(func(string, string) int { return http.StatusInternalServerError })
	id, body = trial.NewEvent(s.Program.Own, demo.TypeEnrolled)
	event := s.Publish(t, s.own, body)
	s.settled(t, event, store.DeliveryDead)
	var dead struct {
		Deliveries []struct{ DeliveryID, EventID string }
	}
	s.Call(t, http.MethodGet, "/events/v1/deliveries?status=dead", s.partner, nil, nil).Want(t, http.StatusOK).Into(t, &dead)
	if len(dead.Deliveries) != 1 || dead.Deliveries[0].EventID != event {
		t.Fatalf("dead letters: %+v", dead)
	}
	s.Behave(nil)
	s.Call(t, http.MethodPost, "/events/v1/deliveries/"+dead.Deliveries[0].DeliveryID+"/resend", s.partner, nil, nil).Want(t, http.StatusAccepted)
	s.settled(t, event, store.DeliveryDelivered)
	checkUnchanged(t, body, s.WaitFor(t, "/hook", id).Body)
	s.Stop(t)
}

func (s *apiStory) client(t *testing.T, c *demo.Chain, actor registry.Actor, scopes []string) demo.Credentials {
	t.Helper()
	in := identity.NewClient{Name: "Machine", AuthMethod: token.ClientSecretBasic, Scopes: scopes}
	if actor.Administrator {
		in.PublishTypes, in.PublishSources = []string{"nl.voorbeeld.*"}, []string{s.Program.Own.Source()}
	}
	client, secret, err := c.Clients.Create(t.Context(), actor, "", in)
	trial.Must(t, err)
	return demo.Credentials{ID: client.ID, Secret: secret}
}

func (s *apiStory) publishContract(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile("../demo/leerlingen-events.yaml")
	trial.Must(t, err)
	s.Call(t, http.MethodPost, "/registry/v1/contracts", s.own, nil, map[string]any{
		"id": "students", "kind": "asyncapi", "title": "Students", "visibility": "partners",
	}).Want(t, http.StatusCreated)
	header := map[string]string{"Content-Type": "application/yaml"}
	s.Call(t, http.MethodPost, "/registry/v1/contracts/students/versions", s.own, header, content).Want(t, http.StatusCreated)
	s.Call(t, http.MethodPost, "/registry/v1/contracts/students/versions/1.2.0/publication", s.own, trial.Reviewed(content), nil).Want(t, http.StatusOK)
	s.Call(t, http.MethodGet, "/registry/v1/contracts/students", "", nil, nil).Want(t, http.StatusNotFound) // for partners alone
	var catalogue struct{ EventTypes []struct{ Name string } }
	s.Call(t, http.MethodGet, "/events/v1/event-types", s.partner, nil, nil).Want(t, http.StatusOK).Into(t, &catalogue)
	if len(catalogue.EventTypes) != len(demo.EventTypes())+8 { // and ours, of contracts, datasets, issues and deliveries; those of alerts are internal
		t.Errorf("catalogue: %+v", catalogue)
	}
}

// subscribe asks for a subscription and approves it; until then nothing is sent.
func (s *apiStory) subscribe(t *testing.T) {
	t.Helper()
	var sub struct{ ID, Status string }
	s.Call(t, http.MethodPost, "/events/v1/subscriptions", s.partner, nil, map[string]any{
		"endpointId": s.endpoint, "types": []string{demo.TypeEnrolled}, "purpose": "Keep our copy up to date.",
	}).Want(t, http.StatusCreated).Into(t, &sub)
	if sub.Status != store.SubscriptionRequested {
		t.Errorf("a new subscription is %s", sub.Status)
	}
	id, body := trial.NewEvent(s.Program.Own, demo.TypeEnrolled)
	s.Publish(t, s.own, body)
	s.SetUp(t, func(c *demo.Chain) { trial.Must(t, c.Subscriptions.Approve(t.Context(), c.Admin, sub.ID)) })
	if _, early := s.Got("/hook", id); early {
		t.Error("an event went to a subscription that was not approved")
	}
}

// settled waits until the one delivery of an event is in a state.
func (s *apiStory) settled(t *testing.T, event, status string) {
	t.Helper()
	trial.Eventually(t, "the delivery is "+status, func() (bool, string) {
		var got struct{ Deliveries []struct{ Status string } }
		a := s.Call(t, http.MethodGet, "/events/v1/events/"+event, s.own, nil, nil).Want(t, http.StatusOK)
		a.Into(t, &got)
		return len(got.Deliveries) == 1 && got.Deliveries[0].Status == status, string(a.Body)
	})
}
