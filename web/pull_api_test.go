package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

// pullWorld is a partner with an approved pull subscription, and who publishes to it.
type pullWorld struct {
	*apiHarness
	sub       store.Subscription
	base      string
	publisher *apiClient
	consumer  *apiClient
}

func newPullWorld(t *testing.T, db *store.DB, clock *storetest.Clock) *pullWorld {
	t.Helper()
	w := &pullWorld{apiHarness: newAPIHarnessOn(t, db, clock, nil).withCatalogue(t)}
	ctx, actor, p := t.Context(), registry.SystemActor(), w.newPartner(t, "Puller")
	e := must(w.reg.Endpoints.Create(ctx, actor, p.ID, partners.EndpointInput{Name: "Fetch here", Kind: store.EndpointPull}))(t)
	w.sub = must(w.reg.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{
		EndpointID: e.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To know who is enrolled.",
	}))(t)
	noError(t, w.reg.Subscriptions.Approve(ctx, actor, w.sub.ID))
	w.engine.Changed()
	w.base = "/events/v1/subscriptions/" + w.sub.ID
	w.publisher, w.consumer = w.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:*"},
	}), w.consumerOf(t, p.ID)
	return w
}

func (w *pullWorld) consumerOf(t *testing.T, partnerID string) *apiClient {
	t.Helper()
	return w.apiHarness.consumer(t, partnerID)
}

// eachPull runs fn on both databases.
func eachPull(t *testing.T, fn func(t *testing.T, w *pullWorld)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...storetest.Option) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			fn(t, newPullWorld(t, open(t, storetest.WithClock(clock)), clock))
		})
	}
}

// pulled is the answer of receive.
type pulled struct {
	Details []struct {
		Event            json.RawMessage
		BrokerProperties struct {
			LockToken, DeliveryID           string
			DeliveryCount, MaxDeliveryCount int
		}
	}
}

func (w *pullWorld) receive(t *testing.T, body string, want int) (p pulled) {
	t.Helper()
	w.consumer.postJSON(t, w.base+"/receive", body).want(t, http.StatusOK).decode(t, &p)
	if len(p.Details) != want {
		t.Fatalf("received %d events, want %d", len(p.Details), want)
	}
	return p
}

func (p pulled) tokens() string {
	list := []string{}
	for _, d := range p.Details {
		list = append(list, d.BrokerProperties.LockToken)
	}
	b, _ := json.Marshal(list)
	return string(b)
}

// settle calls a verb and checks how many tokens succeeded, and why the others did not.
func (w *pullWorld) settle(t *testing.T, verb, body string, succeeded int, codes ...string) {
	t.Helper()
	answer := decoded[webdeliveries.SettleAnswer](t, w.consumer.postJSON(t, w.base+verb, body).want(t, http.StatusOK))
	got := []string{}
	for _, f := range answer.FailedLockTokens {
		got = append(got, f.Error.Code)
	}
	if len(answer.SucceededLockTokens) != succeeded || fmt.Sprint(got) != fmt.Sprint(append([]string{}, codes...)) {
		t.Errorf("%s: %d succeeded, failed %v; want %d and %v", verb, len(answer.SucceededLockTokens), got, succeeded, codes)
	}
}

// The story of a consumer (EDU-17, OPEN-01).
//
// Rules: EDU-17, OPEN-01, EDU-03e.
func TestPullStory(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		w.receive(t, `{}`, 0)
		bodies := []string{sampleEvent("1"), strings.Replace(sampleEvent("2"), `{"studentId":"1234"}`, `{ "n": 1.0, "s": "\u00e9<&>" }`, 1), sampleEvent("3")}
		for _, body := range bodies {
			w.publisher.publish(t, body).want(t, http.StatusAccepted)
			w.clock.Advance(time.Millisecond)
		}
		first := w.receive(t, `{"maxEvents":2}`, 2)
		for i, d := range first.Details {
			if string(d.Event) != bodies[i] || d.BrokerProperties.DeliveryCount != 1 {
				t.Errorf("received %s (%d), want %s", d.Event, d.BrokerProperties.DeliveryCount, bodies[i])
			}
			if row, err := w.db.Delivery(t.Context(), d.BrokerProperties.DeliveryID); err != nil || row.SubscriptionID == "" || d.BrokerProperties.MaxDeliveryCount != 10 {
				t.Errorf("%+v: %v", d.BrokerProperties, err)
			}
		}
		w.settle(t, "/acknowledge", `{"lockTokens":`+first.tokens()+`}`, 2)
		w.settle(t, "/acknowledge", `{"lockTokens":["nonsense"]}`, 0, "unknown-lock-token")
		third := `{"lockTokens":` + w.receive(t, `{"maxEvents":100,"lockDuration":10}`, 1).tokens() + `}`
		w.settle(t, "/renew", strings.Replace(third, "}", `,"lockDuration":30}`, 1), 1)
		w.clock.Advance(29 * time.Second)
		w.settle(t, "/release?releaseDelayInSeconds=60", third, 1)
		w.settle(t, "/reject", third, 0, "lock-lost")
		w.receive(t, `{"maxEvents":100}`, 0)
		w.clock.Advance(time.Minute)
		again := w.receive(t, `{"maxEvents":100}`, 1)
		if again.Details[0].BrokerProperties.DeliveryCount != 2 {
			t.Errorf("received %+v", again)
		}
		w.settle(t, "/release", `{"lockTokens":`+again.tokens()+`,"releaseDelayInSeconds":0}`, 1)
		w.settle(t, "/reject", `{"lockTokens":`+w.receive(t, `{"maxEvents":1}`, 1).tokens()+`}`, 1)
		w.receive(t, `{"maxEvents":100}`, 0)
		w.wantOutcomes(t, []string{"released", "released", "rejected"})
	})
}

// wantOutcomes checks what the API tells of the one delivery that is held.
func (w *pullWorld) wantOutcomes(t *testing.T, want []string) {
	t.Helper()
	held := w.consumer.get(t, "/events/v1/deliveries?status=held&reason=rejected").want(t, http.StatusOK)
	list := decoded[struct{ Deliveries []site.DeliveryAnswer }](t, held)
	if len(list.Deliveries) != 1 {
		t.Fatalf("%d are held: %s", len(list.Deliveries), held.body)
	}
	one := decoded[site.DeliveryAnswer](t, w.consumer.get(t, "/events/v1/deliveries/"+list.Deliveries[0].DeliveryID).want(t, http.StatusOK))
	got := []string{}
	for _, a := range one.AttemptList {
		got = append(got, a.Outcome+a.ErrorKind)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func TestPullRefused(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		webhook := "/events/v1/subscriptions/" + w.approvedSubscription(t, w.sub.PartnerID).ID
		stranger := w.consumerOf(t, w.newPartner(t, "Stranger").ID)
		for _, verb := range []string{"/receive", "/acknowledge", "/release", "/reject", "/renew"} {
			body := `{"lockTokens":["a"]}`
			if verb == "/receive" {
				body = `{}`
			}
			w.anyone().postJSON(t, w.base+verb, body).problem(t, 401, "token-missing")
			w.publisher.postJSON(t, w.base+verb, body).problem(t, 403, "insufficient-scope")
			stranger.postJSON(t, w.base+verb, body).want(t, 404)
			p := w.consumer.postJSON(t, webhook+verb, body).problem(t, 409, "not-a-pull-subscription")
			if !strings.Contains(string(p.Detail), "endpoint of kind pull") {
				t.Errorf("%s does not say what to do", p.Detail)
			}
			w.consumer.postJSON(t, w.base+verb, `{"wrong":1}`).problem(t, 400, "invalid")
			w.consumer.do(t, http.MethodPost, w.base+verb, body, "Content-Type", "text/plain").problem(t, 415, "not-json")
		}
		for _, wrong := range [][2]string{
			{"/receive", `{"maxEvents":0}`},
			{"/receive", `{"maxEvents":101}`},
			{"/receive", `{"maxWaitTime":61}`},
			{"/receive", `{"maxWaitTime":-1}`},
			{"/receive", `{"lockDuration":301}`},
			{"/receive", `{"lockDuration":-1}`},
			{"/receive", `{"maxWaitTime":4611686018427387904}`},
			{"/acknowledge", `{"lockTokens":[]}`},
			{"/acknowledge", `{}`},
			{"/acknowledge", `{"lockTokens":["a"],"lockDuration":5}`},
			{"/reject", `{"lockTokens":[` + strings.Repeat(`"a",`, 100) + `"a"]}`},
			{"/reject", `{"lockTokens":["a"],"releaseDelayInSeconds":5}`},
			{"/release", `{"lockTokens":["a"],"releaseDelayInSeconds":3601}`},
			{"/release?releaseDelayInSeconds=x", `{"lockTokens":["a"]}`},
			{"/release?releaseDelayInSeconds=5", `{"lockTokens":["a"],"releaseDelayInSeconds":6}`},
			{"/release", `{"lockTokens":["a"],"lockDuration":5}`},
			{"/renew", `{"lockTokens":["a"],"lockDuration":0}`},
			{"/renew", `{"lockTokens":["a"],"lockDuration":301}`},
			{"/renew", `{"lockTokens":["a"],"releaseDelayInSeconds":5}`},
		} {
			if p := w.consumer.postJSON(t, w.base+wrong[0], wrong[1]).problem(t, 400, "invalid"); len(p.Errors) != 1 || p.Errors[0].Pointer == "" {
				t.Errorf("%v: %+v", wrong, p)
			}
		}
	})
}

// A paused subscription hands out nothing and says why; what was handed out can still be acknowledged (guarantee G2).
func TestPullStopped(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		w.publisher.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
		got := w.receive(t, `{}`, 1)
		w.publisher.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
		w.consumer.do(t, http.MethodPatch, w.base, `{"status":"paused"}`, "Content-Type", "application/json").want(t, http.StatusOK)
		w.consumer.postJSON(t, w.base+"/receive", `{}`).problem(t, 409, "subscription-stopped")
		w.settle(t, "/renew", `{"lockTokens":`+got.tokens()+`}`, 0, "subscription-stopped")
		w.settle(t, "/acknowledge", `{"lockTokens":`+got.tokens()+`}`, 1)
	})
}

// A call that waits is answered when an event comes, and refused when its client lost its access meanwhile.
func TestPullWaits(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		answers := make(chan apiAnswer, 1)
		wait := func() { answers <- w.consumer.postJSON(t, w.base+"/receive", `{"maxWaitTime":60}`) }
		go wait()
		w.publisher.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
		var p pulled
		(<-answers).want(t, http.StatusOK).decode(t, &p)
		if len(p.Details) != 1 {
			t.Errorf("received %+v", p)
		}
	})
}

func TestPullClientLostItsAccess(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		client := must(w.db.Client(t.Context(), w.consumer.id))(t)
		partner := must(w.db.Partner(t.Context(), client.PartnerID))(t)
		m := &api.API{Config: api.Config{DB: w.db}}
		who := api.Caller{Client: client, Partner: partner}
		noError(t, m.StillAllowed(t.Context(), who))
		noError(t, w.reg.Clients.Revoke(t.Context(), registry.SystemActor(), client.ID, "lost its laptop"))
		if _, ok := errors.AsType[*site.Problem](m.StillAllowed(t.Context(), who)); !ok {
			t.Error("a revoked client goes on")
		}
	})
}
