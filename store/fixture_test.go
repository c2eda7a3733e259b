package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a fresh database with one partner that may be sent to, and the clock the database reads.
type world struct {
	t            testing.TB
	ctx          context.Context
	db           *store.DB
	clock        *storetest.Clock
	own, partner store.Partner
	client       store.Client
	endpoint     store.Endpoint
	subscription store.Subscription
}

// errStop rolls a transaction back on purpose.
var errStop = errors.New("stop")

const eventType = "nl.voorbeeld.aanmelding.ontvangen"

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) { fn(t, newWorld(t, db, clock)) })
}

func newWorld(t testing.TB, db *store.DB, clock *storetest.Clock) *world {
	w := &world{t: t, ctx: t.Context(), db: db, clock: clock}
	w.own = store.Partner{Name: "Eigen organisatie", Own: true, Status: store.PartnerApproved}
	w.partner = store.Partner{Name: "Vavo Rijnmond", OIN: "00000001123456789000", Status: store.PartnerApproved}
	w.write(func(tx *store.Tx) error {
		return errors.Join(tx.InsertPartner(w.ctx, &w.own), tx.InsertPartner(w.ctx, &w.partner))
	})
	w.client = store.Client{PartnerID: w.partner.ID, Name: "LAS", AuthMethod: "client_secret_basic", Status: store.ClientActive}
	w.write(func(tx *store.Tx) (err error) {
		if err = tx.InsertClient(w.ctx, &w.client); err == nil {
			w.client, err = tx.Client(w.ctx, w.client.ID) // its lists are empty there, not nil
		}
		return err
	})
	w.endpoint = w.newEndpoint(w.partner.ID)
	w.subscription = w.newSubscription(w.endpoint, store.SubscriptionApproved, eventType)
	return w
}

func (w *world) newEndpoint(partnerID string) store.Endpoint {
	e := store.Endpoint{PartnerID: partnerID, Name: "ontvangst", Kind: store.EndpointWebhook, Status: store.EndpointActive}
	w.write(func(tx *store.Tx) error { return tx.InsertEndpoint(w.ctx, &e) })
	return e
}

func (w *world) newSubscription(e store.Endpoint, status string, types ...string) store.Subscription {
	s := store.Subscription{PartnerID: e.PartnerID, EndpointID: e.ID, Status: status, Types: types}
	w.write(func(tx *store.Tx) error { return tx.InsertSubscription(w.ctx, &s) })
	return s
}

// newEvents adds n events of the client and returns them.
func (w *world) newEvents(n int) []store.Event {
	events := make([]store.Event, n)
	w.write(func(tx *store.Tx) error {
		for i := range events {
			events[i] = w.event(tx.NewID("evt"))
			events[i].CEID = fmt.Sprintf("%s-%04d", events[i].ID, i)
		}
		_, err := tx.InsertEvents(w.ctx, events)
		return err
	})
	return events
}

func (w *world) event(id string) store.Event {
	return store.Event{
		ID: id, PartnerID: w.partner.ID, ClientID: w.client.ID, CEID: id, CESource: "urn:nl:voorbeeld", CEType: eventType,
		Attributes: []byte(`{"specversion":"1.0"}`), DataKind: 1, Data: []byte(`{"a":1}`), AcceptedAt: w.now(),
	}
}

// newDeliveries adds n due deliveries of one new event each for a subscription, oldest first.
func (w *world) newDeliveries(s store.Subscription, n int) []string {
	events := w.newEvents(n)
	ids := make([]string, n)
	w.write(func(tx *store.Tx) error {
		rows := make([]store.Delivery, n)
		for i := range rows {
			ids[i] = tx.NewID("dlv")
			rows[i] = delivery(ids[i], events[i].ID, s, tx.Now)
		}
		return tx.InsertDeliveries(w.ctx, rows)
	})
	return ids
}

func delivery(id, eventID string, s store.Subscription, due store.Time) store.Delivery {
	return store.Delivery{
		ID: id, EventID: eventID, SubscriptionID: s.ID, EndpointID: s.EndpointID, PartnerID: s.PartnerID, EventType: eventType,
		Status: store.DeliveryPending, IdempotencyKey: "key-" + id, KeyExpiresAt: store.At(due.Add(7 * 24 * time.Hour)), DueAt: due,
	}
}

func (w *world) now() store.Time { return store.At(w.clock.Now()) }

// in is the moment d from now.
func (w *world) in(d time.Duration) store.Time { return store.At(w.clock.Now().Add(d)) }

// write runs fn in a transaction that must succeed.
func (w *world) write(fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.ctx, fn); err != nil {
		w.t.Fatal(err)
	}
}

// fails runs fn in a transaction that must fail with want.
func (w *world) fails(want error, fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.ctx, fn); !errors.Is(err, want) {
		w.t.Errorf("error = %v, want %v", err, want)
	}
}

// noErr ends the test at an error.
func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares what came with what was wanted.
func same[T any](t testing.TB, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Errorf("error: %v", err)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// gives is same for a call that returns a value and an error.
func gives[T any](t testing.TB, want T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		same(t, got, err, want)
	}
}

// missing checks that what a call looks for is not found.
func missing(t testing.TB) func(got any, err error) {
	return func(got any, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %+v, %v; want ErrNotFound", got, err)
		}
	}
}

// listed checks a page of a list: the ids in order and the total.
func listed[T any](t testing.TB, id func(T) string, want []string, wantTotal int) func(rows []T, total int, err error) {
	return func(rows []T, total int, err error) {
		t.Helper()
		got := []string{}
		for _, r := range rows {
			got = append(got, id(r))
		}
		if err != nil || total != wantTotal || !slices.Equal(got, want) {
			t.Errorf("got %v of %d, %v; want %v of %d", got, total, err, want, wantTotal)
		}
	}
}

// fill gives every `db` field of a row a value of its own, but those that keep theirs; salt makes another row.
func fill(row any, salt int, keep ...string) {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if v.Type().Field(i).Tag.Get("db") == "-" || name == "DataKeys" || slices.Contains(keep, name) { // DataKeys names rows
			continue
		}
		n := salt*100 + i + 1
		switch f.Interface().(type) {
		case string:
			f.SetString(fmt.Sprintf("%s %d é", name, n))
		case int64:
			f.SetInt(int64(n))
		case bool:
			f.SetBool(salt%2 == 1)
		case []byte:
			f.SetBytes([]byte{0, 0xff, byte(n)})
		case store.Strings:
			f.Set(reflect.ValueOf(store.Strings{fmt.Sprint(name, n), `"quoted", \`}))
		case store.Audience:
			f.Set(reflect.ValueOf(store.OnlyFor(fmt.Sprint("prt_", n))))
		case store.Time:
			f.Set(reflect.ValueOf(store.At(time.UnixMicro(int64(n) * 1_000_001))))
		default:
			panic("fill: field " + name)
		}
	}
}
