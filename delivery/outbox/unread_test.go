package outbox

import (
	"bytes"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// erase destroys the keys of a partner's data.
func (c *chain) erase(partnerID string) {
	c.Helper()
	c.write(func(tx *store.Tx) error {
		_, err := tx.EraseDataKeys(c.Context(), partnerID)
		return err
	})
	must(c, c.db.ForgetDataKeys(c.Context(), partnerID))
}

// TestEncryptedData: with data encrypted, deliveries carry it as it came, handed over, claimed again and replayed; the answer to an attempt is
// encrypted with the key of the event. Once the key is erased, what still waits ends as a dead letter that says so, nothing is sent, and no
// resend, replay or release brings it back (G10).
func TestEncryptedData(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	storetest.Encrypt(db)
	c := newChain(t, db)
	from := store.Partner{Name: "Sender", Status: store.PartnerApproved}
	c.write(func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &from) })
	s := c.partner("North", "nl.a")
	c.write(func(tx *store.Tx) error {
		return tx.InsertRoute(t.Context(), &store.Route{FromPartnerID: from.ID, ToPartnerID: s.PartnerID, EventType: "nl.a"})
	})
	send := func(ids ...string) Receipt {
		c.Helper()
		return c.take(c.submission(from.ID, false, "nl.a", ids...))
	}
	whole := func(got store.Claimed) {
		c.Helper()
		if string(got.Event.Data) != `{"n":1.50}` {
			t.Errorf("data %q", got.Event.Data)
		}
	}

	var tries atomic.Int64
	c.rcv.set(func(store.Claimed) Result {
		if tries.Add(1) > 1 {
			return delivered()
		}
		return Result{Status: store.DeliveryRetrying, Reason: "busy", DueAt: time.Now(), Attempt: store.Attempt{StatusCode: 503, StartedAt: store.At(time.Now()), ResponseBody: []byte("you said n is 1.50")}}
	})
	first := send("1")
	whole(c.rcv.wait(t))
	whole(c.rcv.wait(t))
	arrived := c.until(first.Events[0].EventID, store.DeliveryDelivered)
	var stored []byte
	read, _ := db.Pools()
	must(t, read.Get(&stored, `SELECT data FROM event`))
	if bytes.Contains(stored, []byte("1.50")) {
		t.Errorf("stored as %q", stored)
	}
	attempts, err := db.Attempts(t.Context(), arrived.ID)
	must(t, err)
	must(t, read.Get(&stored, `SELECT response_body FROM attempt WHERE number = 1`))
	if string(attempts[0].ResponseBody) != "you said n is 1.50" || bytes.Contains(stored, []byte("1.50")) {
		t.Errorf("the answer %q is stored as %q", attempts[0].ResponseBody, stored)
	}
	if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}, EventIDs: []string{"1"}}); j.Done != 1 {
		t.Errorf("replay %+v", j)
	}
	whole(c.rcv.wait(t))

	// The same id with other data is the same event still, under its key and without one.
	changed := c.submission(from.ID, false, "nl.a", "1")
	changed.Events[0].Data = []byte(`{"n":2}`)
	if r := c.take(changed); !r.Events[0].Duplicate {
		t.Errorf("receipt %+v", r)
	}
	reused := c.submission(from.ID, false, "nl.a", "5")
	c.take(reused)
	whole(c.rcv.wait(t))
	reused.Fingerprint, reused.Quarantine, reused.Events = []byte("other"), true, []event.Event{testCloudEvent(t, "6", "nl.a")}
	quarantined := c.take(reused)
	if quarantined.Quarantined == "" {
		t.Errorf("receipt %+v", quarantined)
	}

	c.status(s, store.SubscriptionPaused)
	waiting := send("2", "3")
	for _, e := range waiting.Events {
		c.until(e.EventID, store.DeliveryHeld)
	}
	before := len(c.rcv.snapshot())
	c.erase(from.ID)
	c.status(s, store.SubscriptionApproved)
	for _, e := range waiting.Events {
		d := c.until(e.EventID, store.DeliveryDead)
		if d.Reason != store.ReasonDataErased || d.Detail != "verdict.data-erased" || d.Cause != store.ReasonDataErased {
			t.Errorf("dead letter %+v", d)
		}
		if err := c.eng.Resend(t.Context(), anna(), d.ID); !errors.Is(err, ErrDataErased) {
			t.Errorf("resend: %v", err)
		}
	}
	if err := c.eng.Resend(t.Context(), anna(), arrived.ID); !errors.Is(err, ErrDataErased) {
		t.Errorf("resend of what arrived: %v", err)
	}
	if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}, EventIDs: []string{"1"}}); j.Done != 0 || j.Refused != 1 {
		t.Errorf("replay of what was erased: %+v", j)
	}
	job, err := c.eng.StartJob(t.Context(), anna(), ActionResend, store.DeliveryFilter{Statuses: []string{store.DeliveryDead}}, "")
	must(t, err)
	if job = c.ended(job.ID); job.Done != 0 || JobRefusals(job)[RefusedErased] != 2 {
		t.Errorf("job %+v", job)
	}
	if _, err := c.eng.Release(t.Context(), anna(), quarantined.Quarantined); !errors.Is(err, ErrDataErased) {
		t.Errorf("release: %v", err)
	}
	if n := len(c.rcv.snapshot()); n != before {
		t.Errorf("%d attempts were made of what was erased", n-before)
	}
	if a, err := db.Attempts(t.Context(), arrived.ID); err != nil || !errors.Is(a[0].Unread, store.ErrErased) {
		t.Errorf("the answer of an erased event: %+v, %v", a, err)
	}
}

// TestBatchOfErased: of a batch of which one event was erased the others go by themselves, and that one is a dead letter.
func TestBatchOfErased(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	storetest.Encrypt(db)
	h := newHook(t)
	c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: h.transport()} })
	from := store.Partner{Name: "Sender", Status: store.PartnerApproved}
	c.write(func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &from) })
	s := c.partner("North", "nl.a")
	c.write(func(tx *store.Tx) error {
		return tx.InsertRoute(t.Context(), &store.Route{FromPartnerID: from.ID, ToPartnerID: s.PartnerID, EventType: "nl.a"})
	})
	c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) {
		e.URL, e.BatchEvents, e.BatchWaitMS, e.TokenAuthMethod = h.URL, 2, 60_000, "none"
	})
	h.set(func(request) int { return http.StatusServiceUnavailable })
	mine := c.accept("nl.a", "1")
	theirs := c.take(c.submission(from.ID, false, "nl.a", uuid.NewString()))
	c.waitFor(func() bool { return len(h.all()) > 0 })
	c.erase(from.ID)
	h.set(func(request) int { return http.StatusAccepted })
	c.until(mine.Events[0].EventID, store.DeliveryDelivered)
	if d := c.until(theirs.Events[0].EventID, store.DeliveryDead); d.Reason != store.ReasonDataErased {
		t.Errorf("delivery %+v", d)
	}
}
