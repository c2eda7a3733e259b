package faults

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// How many deliveries wait when a subscription is revoked, and how many attempts
// at its endpoint run at once.
const (
	backlog    = 10_000
	concurrent = 4
)

// TestRevokeWithBacklog has an administrator suspend a subscription in the portal
// while ten thousand of its deliveries wait. From the answer on no attempt starts
// (guarantee G2): the receiver sees no more than were under way. What waits shows
// as held.
//
// Rules: EDU-07, EDU-13
func TestRevokeWithBacklog(t *testing.T) {
	t.Parallel()
	storetest.EachURL(t, func(t *testing.T, database string) {
		c := newChain(t, database)
		var sub store.Subscription
		c.SetUp(t, func(d *demo.Chain) { sub = c.slowSubscription(t, d, "/backlog") })
		c.Start(t)
		admin := c.login(t)
		sent := 0
		for ; trial.OpenDeliveries(t, c.Program) < backlog; sent += 1000 {
			c.fill(t, 1000)
		}
		trial.Eventually(t, "deliveries are under way", func() (bool, string) { return c.receiver.Attempts("/backlog") > 20, "" })
		page := c.Base + "/admin/subscriptions/" + sub.ID + "/suspend"
		answer, err := admin.PostForm(page, url.Values{"reason": {"A test."}})
		trial.Must(t, err)
		atAnswer, waiting := c.receiver.Attempts("/backlog"), trial.OpenDeliveries(t, c.Program)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK { // of the page it leads to
			t.Fatalf("suspend: %s", answer.Status)
		}
		c.Drain(t) // all that waits is held now
		c.receiver.Behave(nil)
		after, held := c.receiver.Attempts("/backlog"), c.CountDeliveries(t, store.DeliveryHeld)
		t.Logf("%d attempts until the answer, %d after it; %d still waited then, %d are held", atAnswer, after-atAnswer, waiting, held)
		if after-atAnswer > concurrent {
			t.Errorf("%d attempts reached the receiver after the answer; at most %d were under way", after-atAnswer, concurrent)
		}
		if arrived := c.receiver.TakenAt("/backlog"); held != sent-arrived {
			t.Errorf("%d deliveries are held; of %d events %d have arrived", held, sent, arrived)
		}
		c.paths = map[string]string{sub.ID: "/backlog"}
		c.Stop(t)
		c.check(t)
	})
}

// slowSubscription has an approved subscription to an endpoint that wants little at
// a time, so that a backlog grows.
func (c *chain) slowSubscription(t *testing.T, d *demo.Chain, path string) store.Subscription {
	t.Helper()
	_, actor, err := d.Approved(t.Context(), trial.Organisation("Slow", "56789010"))
	trial.Must(t, err)
	target := c.receiver.Target(path, path)
	endpoint, err := d.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{
		Name: path, Kind: store.EndpointWebhook, URL: target.URL, TokenURL: target.TokenURL, TokenClientID: target.ID,
		TokenSecret: target.Secret, TokenAuthMethod: token.ClientSecretBasic, RatePerSecond: 20, MaxConcurrency: concurrent,
	})
	trial.Must(t, err)
	sub := trial.Must1[store.Subscription](t)(d.Request(t.Context(), actor, endpoint.ID, demo.TypeUnenrolled))
	trial.Must(t, d.Subscriptions.Approve(t.Context(), d.Admin, sub.ID))
	return sub
}

// fill publishes so many events for the slow subscription, a hundred at a time.
func (c *chain) fill(t *testing.T, events int) {
	t.Helper()
	access := c.Token(t, c.creds, "events.publish")
	for range events / 100 {
		ids, bodies := make([]string, 100), make([]string, 100)
		for i := range ids {
			ids[i], bodies[i] = trial.NewEvent(c.Own, demo.TypeUnenrolled)
		}
		header := trial.EventHeader("application/cloudevents-batch+json")
		c.Call(t, http.MethodPost, "/events/v1/events", access, header, "["+strings.Join(bodies, ",")+"]").Want(t, http.StatusAccepted)
		c.ledger.Add(ids)
	}
}

// login gives a browser of the administrator.
func (c *chain) login(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	trial.Must(t, err)
	browser := &http.Client{Transport: c.Client.Transport, Jar: jar, Timeout: trial.Patience}
	answer, err := browser.PostForm(c.Base+"/login", url.Values{"email": {c.Own.Email}, "password": {trial.Password}})
	trial.Must(t, err)
	defer answer.Body.Close()
	if answer.Request.URL.Path != "/admin" {
		t.Fatal(fmt.Sprint("login leads to ", answer.Request.URL.Path, ", ", answer.Status))
	}
	return browser
}
