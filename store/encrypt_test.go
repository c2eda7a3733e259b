package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"schakel/store"
)

// testVault stands for the vault; a lost one opens nothing.
type testVault struct{ lost atomic.Bool }

func (v *testVault) Seal(purpose string, plain []byte) string {
	return "v1.00000000." + purpose + "." + base64.RawURLEncoding.EncodeToString(plain)
}

func (v *testVault) Open(purpose, sealed string) ([]byte, error) {
	text, ok := strings.CutPrefix(sealed, "v1.00000000."+purpose+".")
	if !ok || v.lost.Load() {
		return nil, errors.New("another key")
	}
	return base64.RawURLEncoding.DecodeString(text)
}

const secretData = `{"canary":"data that nobody may read"}`

// encrypting has the database encrypt data while on holds.
func (w *world) encrypting() (vault *testVault, on *atomic.Bool) {
	vault, on = &testVault{}, &atomic.Bool{}
	on.Store(true)
	w.db.EncryptData(vault, func(context.Context) bool { return on.Load() })
	return vault, on
}

// secretEvent adds an event of the client with secret data.
func (w *world) secretEvent(id string) {
	w.t.Helper()
	e := w.event(id)
	e.Data = []byte(secretData)
	w.write(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(w.ctx, []store.Event{e})
		return err
	})
}

// stored reads the bytes of a column as they stand in the database.
func (w *world) stored(query string, args ...any) []byte {
	w.t.Helper()
	var b []byte
	read, _ := w.db.Pools()
	noErr(w.t, read.GetContext(w.ctx, &b, read.Rebind(query), args...))
	return b
}

// reads checks what comes of reading the data of an event.
func (w *world) reads(id string, want error) {
	w.t.Helper()
	e, err := w.db.Event(w.ctx, id)
	noErr(w.t, err)
	if !errors.Is(e.Unread, want) || want == nil && (e.Unread != nil || string(e.Data) != secretData) || want != nil && len(e.Data) > 0 {
		w.t.Errorf("%s: data %q, %v; want %v", id, e.Data, e.Unread, want)
	}
}

// TestEncryptData: data is stored encrypted while that is on, and read in any case.
func TestEncryptData(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.secretEvent("evt_before")
		if w.db.EncryptsData(w.ctx) {
			t.Error("encrypts without a setting")
		}
		_, on := w.encrypting()
		if !w.db.EncryptsData(w.ctx) {
			t.Error("does not encrypt")
		}
		w.secretEvent("evt_on")
		ahead := w.event("evt_ahead") // as intake does it
		sealed, err := w.db.SealData(w.ctx, w.partner.ID, store.EventPlace(ahead.ClientID, ahead.CESource, ahead.CEID), []byte(secretData))
		noErr(t, err)
		ahead.Keep(sealed)
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, []store.Event{ahead})
			return err
		})

		object := store.Object{ID: w.db.NewID("obj"), PartnerID: w.partner.ID, ContentType: "text/plain", Digest: []byte{1}}
		large := bytes.Repeat([]byte(secretData), 2*store.ObjectChunk/len(secretData))
		object.Size = int64(len(large))
		noErr(t, w.db.PutObject(w.ctx, object, large))
		quarantine := store.Quarantine{PartnerID: w.partner.ID, ClientID: w.client.ID, IdempotencyKey: "k", Fingerprint: []byte("f"), FirstAnswer: []byte("{}")}
		message := store.InboxMessage{EndpointID: w.endpoint.ID, PartnerID: w.partner.ID, Headers: "{}", Body: []byte(secretData)}
		first, err := w.db.Event(w.ctx, "evt_on")
		noErr(t, err)
		w.write(func(tx *store.Tx) error {
			return errors.Join(
				tx.InsertQuarantine(w.ctx, &quarantine, []store.QuarantinedEvent{{Attributes: []byte("{}"), DataKind: 1, Data: []byte(secretData)}}),
				tx.InsertInboxMessage(w.ctx, &message),
				tx.InsertAttempts(w.ctx, []store.Attempt{{DeliveryID: "dlv_1", Number: 1, StartedAt: tx.Now, ResponseBody: []byte(secretData), DataKeys: first.DataKeys}}))
		})
		on.Store(false)
		w.secretEvent("evt_after")

		for query, hidden := range map[string]bool{
			`SELECT data FROM event WHERE id = 'evt_before'`: false, `SELECT data FROM event WHERE id = 'evt_after'`: false,
			`SELECT data FROM event WHERE id = 'evt_on'`: true, `SELECT data FROM event WHERE id = 'evt_ahead'`: true,
			`SELECT data FROM object_chunk WHERE number = 0`: true, `SELECT data FROM object_chunk WHERE number = 1`: true,
			`SELECT data FROM quarantined_event`: true, `SELECT body FROM inbox_message`: true, `SELECT response_body FROM attempt`: true,
		} {
			if stored := w.stored(query); len(stored) == 0 || bytes.Contains(stored, []byte("canary")) == hidden {
				t.Errorf("%s: %.60q", query, stored)
			}
		}
		for _, id := range []string{"evt_before", "evt_on", "evt_ahead", "evt_after"} {
			w.reads(id, nil)
		}
		object, err = w.db.Object(w.ctx, object.ID)
		noErr(t, err)
		gives(t, large)(io.ReadAll(w.db.OpenObject(w.ctx, object)))
		events, err := w.db.QuarantinedEvents(w.ctx, quarantine.ID)
		same(t, string(events[0].Data), err, secretData)
		got, err := w.db.InboxMessage(w.ctx, w.endpoint.ID, message.ID)
		same(t, string(got.Body), err, secretData)
		attempts, err := w.db.Attempts(w.ctx, "dlv_1")
		same(t, string(attempts[0].ResponseBody), err, secretData)
		if string(message.Body) != secretData {
			t.Error("what the caller has was changed")
		}
		keys, err := w.db.DataKeys(w.ctx, w.partner.ID)
		same(t, len(keys), err, 1)
		encrypted, plain, err := w.db.EncryptedEvents(w.ctx, w.partner.ID)
		same(t, []int{encrypted, plain}, err, []int{2, 2})

		// The data of one event is not taken for that of another.
		w.tamper(`UPDATE event SET data = (SELECT data FROM event WHERE id = 'evt_on') WHERE id = 'evt_ahead'`)
		w.reads("evt_ahead", store.ErrUnreadable)
	})
}

// tamper changes the database behind the back of the store.
func (w *world) tamper(query string) {
	w.t.Helper()
	_, write := w.db.Pools()
	_, err := write.ExecContext(w.ctx, query)
	noErr(w.t, err)
}

// TestEraseData: what a partner sent cannot be read any more once its key is erased, on this node at once and on others soon; what others sent
// can.
func TestEraseData(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		vault, _ := w.encrypting()
		s := w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved, eventType)
		open := w.newDeliveries(s, 2)
		w.secretEvent("evt_1")
		other := w.event("evt_other")
		other.PartnerID, other.Data = w.own.ID, []byte(secretData)
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, []store.Event{other})
			return err
		})
		mine, err := w.db.Event(w.ctx, "evt_1")
		noErr(t, err)
		theirs, err := w.db.Event(w.ctx, "evt_other")
		noErr(t, err)
		w.write(func(tx *store.Tx) error { // of a batch with events of both
			return tx.InsertAttempts(w.ctx, []store.Attempt{{DeliveryID: "dlv_1", Number: 1, StartedAt: tx.Now, ResponseBody: []byte(secretData), DataKeys: mine.DataKeys + " " + theirs.DataKeys}})
		})
		attempts, err := w.db.Attempts(w.ctx, "dlv_1")
		same(t, string(attempts[0].ResponseBody), err, secretData)
		var object store.Object
		object, _ = w.putObject(100)
		object, err = w.db.Object(w.ctx, object.ID)
		noErr(t, err)
		waiting := w.newWaiting(store.AMQPHeld, "m1", func(m *store.AMQPMessage) { m.PartnerID, m.Encoded = w.partner.ID, []byte("b1.sealed") })
		gives(t, 2)(w.db.OpenDataOf(w.ctx, w.partner.ID, 10))
		gives(t, 0)(w.db.OpenDataOf(w.ctx, w.own.ID, 10))
		gives(t, false)(w.db.EventErased(w.ctx, "evt_1"))
		keys, err := w.db.DataKeys(w.ctx, w.partner.ID)
		noErr(t, err)
		sealed := keys[0].Sealed

		none, err := w.db.EndedWithDataKeys(w.ctx, "", 10)
		same(t, len(none), err, 0)
		w.write(func(tx *store.Tx) error {
			w.partner.Status = store.PartnerEnded
			return tx.UpdatePartner(w.ctx, &w.partner)
		})
		ended, err := w.db.EndedWithDataKeys(w.ctx, "", 10)
		same(t, len(ended), err, 1)

		w.write(func(tx *store.Tx) error {
			n, err := tx.EraseDataKeys(w.ctx, w.partner.ID)
			same(t, n, err, 1)
			dropped, err := tx.DropAMQPFrom(w.ctx, w.partner.ID)
			same(t, dropped, err, 1)
			return err
		})
		w.reads("evt_1", nil) // as another node, which has the key in its memory
		w.clock.Advance(store.DataKeyAge)
		w.reads("evt_1", store.ErrErased)
		noErr(t, w.db.ForgetDataKeys(w.ctx, w.partner.ID))
		w.reads("evt_1", store.ErrErased)
		w.reads("evt_other", nil)
		attempts, err = w.db.Attempts(w.ctx, "dlv_1")
		noErr(t, err)
		if !errors.Is(attempts[0].Unread, store.ErrErased) || len(attempts[0].ResponseBody) > 0 {
			t.Errorf("attempt: %+v", attempts[0])
		}
		gives(t, true)(w.db.EventErased(w.ctx, "evt_1"))
		gives(t, true)(w.db.DataErased(w.ctx, object.DataKeys))
		if _, err := io.ReadAll(w.db.OpenObject(w.ctx, object)); !errors.Is(err, store.ErrErased) {
			t.Errorf("object: %v", err)
		}
		if m := w.message(waiting.ID); m.Status != store.AMQPDropped || len(m.Encoded) > 0 {
			t.Errorf("message: %+v", m)
		}
		w.write(func(tx *store.Tx) error {
			claimed, err := tx.Claim(w.ctx, s.EndpointID, "node", 10, w.in(1e9))
			same(t, len(claimed), err, len(open))
			for _, c := range claimed {
				if reason, _ := c.Event.UnreadReason(); reason != store.ReasonDataErased {
					t.Errorf("%s: %q", c.ID, reason)
				}
			}
			n, err := tx.EraseDataKeys(w.ctx, w.partner.ID)
			same(t, n, err, 0)
			return err
		})
		ended, err = w.db.EndedWithDataKeys(w.ctx, "", 10)
		same(t, len(ended), err, 0)
		if n := w.copiesOf(sealed); n > 0 {
			t.Errorf("the sealed key is still in the database %d times", n)
		}

		w.secretEvent("evt_new") // under a new key
		w.reads("evt_new", nil)
		vault.lost.Store(true)
		noErr(t, w.db.ForgetDataKeys(w.ctx, w.partner.ID))
		w.reads("evt_new", store.ErrUnreadable)
	})
}

// TestOneKeyForAPartner: whoever comes first makes the key of a partner, and all others use that one.
func TestOneKeyForAPartner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.encrypting()
		var all sync.WaitGroup
		var used sync.Map
		for i := range 8 {
			all.Go(func() {
				sealed, err := w.db.SealData(w.ctx, w.partner.ID, fmt.Sprint(i), []byte(secretData))
				if err != nil {
					t.Error(err)
				}
				used.Store(sealed.Keys, true)
			})
		}
		all.Wait()
		keys, err := w.db.DataKeys(w.ctx, w.partner.ID)
		same(t, len(keys), err, 1)
		used.Range(func(key, _ any) bool {
			same(t, key.(string), nil, keys[0].ID)
			return true
		})
	})
}

// copiesOf counts how often a text is in the file of SQLite or its log; of PostgreSQL's files nothing is known here.
func (w *world) copiesOf(text string) (n int) {
	if w.db.Dialect() == store.Postgres {
		return 0
	}
	read, _ := w.db.Pools()
	var file string
	noErr(w.t, read.GetContext(w.ctx, &file, `SELECT file FROM pragma_database_list WHERE name = 'main'`))
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(file + suffix)
		noErr(w.t, err)
		n += bytes.Count(b, []byte(text))
	}
	return n
}

// TestPullErased: an event whose data was erased is not handed to a consumer: its delivery is a dead letter, and the next one is handed over.
func TestPullErased(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.encrypting()
		e := store.Endpoint{PartnerID: w.own.ID, Name: "ophalen", Kind: store.EndpointPull, Status: store.EndpointActive}
		w.write(func(tx *store.Tx) error { return tx.InsertEndpoint(w.ctx, &e) })
		s := w.newSubscription(e, store.SubscriptionApproved, eventType)
		erased := w.newDeliveries(s, 2)
		w.write(func(tx *store.Tx) error {
			_, err := tx.EraseDataKeys(w.ctx, w.partner.ID)
			return err
		})
		noErr(t, w.db.ForgetDataKeys(w.ctx, w.partner.ID))
		w.clock.Advance(1e9)
		left := w.newDeliveries(s, 1)
		var got []string
		w.write(func(tx *store.Tx) error {
			claimed, err := tx.PullClaim(w.ctx, store.PullClaim{SubscriptionID: s.ID, LockID: store.NewLockID(), ClientID: "cli", Limit: 2, Lease: w.in(60e9), MaxReceives: 10})
			for _, c := range claimed {
				got = append(got, c.ID)
			}
			return err
		})
		same(t, got, nil, left)
		for _, id := range erased {
			d, err := w.db.Delivery(w.ctx, id)
			same(t, fmt.Sprint(d.Status, " ", d.Reason, " ", d.Attempts), err, "dead data-erased 0")
		}
	})
}
