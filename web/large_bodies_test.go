package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp/msghead"
	"schakel/registry"
	"schakel/store"
	"schakel/store/storetest"
	webevents "schakel/web/events"
	"schakel/web/site"
)

// largeWorld is a chain that keeps large data apart, with a publisher and a
// subscriber that pulls.
type largeWorld struct {
	*pullWorld
	stranger *apiClient
}

func newLargeWorld(t *testing.T) *largeWorld {
	t.Helper()
	clock := storetest.NewClock()
	w := &largeWorld{pullWorld: newPullWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock)}
	w.set(t, "events.oversize", "claim_check")
	w.stranger = w.consumerOf(t, w.newPartner(t, "Stranger").ID)
	return w
}

// largeEvent is an event with n bytes of data in base64.
func largeEvent(id string, n int) (body string, data []byte) {
	data = make([]byte, n)
	for i := range data {
		data[i] = byte(i * 31 / 7)
	}
	return `{"specversion":"1.0","id":"` + id + `","type":"nl.example.student.enrolled","source":"urn:nld:oin:00000001823288444000:systeem:sis",
		"datacontenttype":"application/pdf","nrofpages":7,"data_base64":"` + base64.StdEncoding.EncodeToString(data) + `"}`, data
}

// received is the one event that waits for the receiver, as it is on the wire, and
// the lock it is received under.
func (w *largeWorld) received(t *testing.T) (event json.RawMessage, lock string) {
	t.Helper()
	answer := w.consumer.postJSON(t, w.base+"/receive", `{"maxEvents":10,"maxWaitTime":1}`).want(t, http.StatusOK)
	var got struct {
		Details []struct {
			Event            json.RawMessage
			BrokerProperties struct{ LockToken string }
		}
	}
	answer.decode(t, &got)
	if len(got.Details) != 1 {
		t.Fatalf("%d events were received", len(got.Details))
	}
	return got.Details[0].Event, got.Details[0].BrokerProperties.LockToken
}

// address returns the path and the lock of the data of the received event.
func (w *largeWorld) address(t *testing.T) (path, lock string) {
	t.Helper()
	var light struct{ DataRef string }
	wire, lock := w.received(t)
	noError(t, json.Unmarshal(wire, &light))
	return strings.TrimPrefix(light.DataRef, apiTestBase), lock
}

// Five million bytes go through: on the wire the event fits, the receiver fetches
// the same bytes, and nobody else does.
// Rules: EDU-01a, CE-21, CE-31, OPEN-02.
func TestLargeDataGoesThrough(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	body, data := largeEvent("large-1", 5_000_000)
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	wire, _ := w.received(t)
	if len(wire) > 65536 {
		t.Errorf("%d bytes on the wire", len(wire))
	}
	var light struct {
		ID, Source, DataRef, DataContentType string
		NrOfPages                            int
		Data, DataBase64                     *json.RawMessage
	}
	noError(t, json.Unmarshal(wire, &light))
	address, ours := strings.CutPrefix(light.DataRef, apiTestBase)
	if !ours || light.ID != "large-1" || light.DataContentType != "application/pdf" || light.NrOfPages != 7 || bytes.Contains(wire, []byte("data_base64")) {
		t.Fatalf("the event became %s", wire)
	}
	answer := w.consumer.get(t, address).want(t, http.StatusOK)
	sum := sha256.Sum256(data)
	if !bytes.Equal(answer.body, data) || answer.header.Get("Content-Type") != "application/pdf" ||
		answer.header.Get("Repr-Digest") != "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":" {
		t.Errorf("%d bytes, %v", len(answer.body), answer.header)
	}
	for name, c := range map[string]*apiClient{"publisher": w.publisher, "own": w.consumerOf(t, w.own.ID)} {
		if got := c.get(t, address).want(t, http.StatusOK); !bytes.Equal(got.body, data) {
			t.Errorf("%s gets other bytes", name)
		}
	}
	w.consumer.get(t, address).want(t, http.StatusOK) // again at once is no other entry
	taken, _, err := w.db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionDataDownloaded})
	noError(t, err)
	readers := map[string]string{}
	for _, a := range taken {
		readers[a.ActorID] = a.ObjectKind + " " + a.PartnerID + " " + a.ActorKind
	}
	if len(taken) != 2 || !strings.HasPrefix(readers[w.consumer.id], "event ptn_") || !strings.HasSuffix(readers[w.consumer.id], " client") {
		t.Errorf("the audit trail says %v", taken)
	}
	w.stranger.get(t, address).problem(t, http.StatusNotFound, "not-found")
	// The partner of the consumer has another client, whose keys a partner changes as it likes: it has no scope to read.
	w.apiHarness.publisher(t, must(w.db.Client(t.Context(), w.consumer.id))(t).PartnerID).get(t, address).problem(t, http.StatusForbidden, "insufficient-scope")
	w.consumer.get(t, site.ObjectsPath+"obj_none").problem(t, http.StatusNotFound, "not-found")
	w.anyone().get(t, address).problem(t, http.StatusUnauthorized, "token-missing")
	w.consumer.get(t, address+"?access_token=x").problem(t, http.StatusBadRequest, "token-in-query")
}

// Parts, conditions and HEAD work as HTTP says.
func TestObjectInParts(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	body, data := largeEvent("1", 700_000)
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	address, _ := w.address(t)
	ask := func(pairs ...string) apiAnswer { return w.consumer.do(t, http.MethodGet, address, "", pairs...) }
	whole := ask()
	tag := whole.header.Get("ETag")
	for asked, want := range map[string][]byte{
		"bytes=0-99": data[:100], "bytes=262000-262300": data[262000:262301], "bytes=699990-": data[699990:], "bytes=-5": data[699995:],
	} {
		if got := ask("Range", asked, "If-Range", tag).want(t, http.StatusPartialContent); !bytes.Equal(got.body, want) {
			t.Errorf("%s: %d bytes", asked, len(got.body))
		}
	}
	ask("If-None-Match", tag).want(t, http.StatusNotModified)
	ask("If-Match", `"other"`).want(t, http.StatusPreconditionFailed)
	if got := ask("Range", "bytes=800000-"); got.problem(t, 416, "range-refused").Status != 416 || got.header.Get("Content-Range") != "bytes */700000" {
		t.Errorf("headers %v", got.header)
	}
	if got := ask("Range", "bytes=5-2"); got.problem(t, 416, "range-refused").Status != 416 || got.header.Get("Content-Range") != "bytes */700000" {
		t.Errorf("headers %v", got.header)
	}
	for _, none := range []string{"bytes=-0", "bytes=-00, -0", "bytes= -0"} {
		if got := ask("Range", none); got.problem(t, 416, "range-refused").Status != 416 || got.header.Get("Content-Range") != "bytes */700000" {
			t.Errorf("%s: headers %v", none, got.header)
		}
	}
	if got := ask("Range", "bytes=-0,0-1").want(t, http.StatusPartialContent); !bytes.Equal(got.body, data[:2]) {
		t.Errorf("two ranges, of which one has bytes: %d bytes", len(got.body))
	}
	if got := ask("Range", "bytes=-0", "If-Range", `"other"`).want(t, http.StatusOK); len(got.body) != 700_000 {
		t.Errorf("a range of another version: %d bytes", len(got.body))
	}
	if got := ask("Range", "lines=0-1").want(t, http.StatusOK); len(got.body) != 700_000 {
		t.Errorf("a range in lines: %d bytes", len(got.body))
	}
	if head := w.consumer.do(t, http.MethodHead, address, ""); head.header.Get("Content-Length") != "700000" || head.header.Get("ETag") != tag {
		t.Errorf("HEAD: %v", head.header)
	}
}

// After its event the data is gone: those who had it are told so, others see nothing.
// Rules: EDU-01a.
func TestObjectAfterRetention(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	body, _ := largeEvent("1", 100_000)
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	address, lock := w.address(t)
	w.consumer.postJSON(t, w.base+"/acknowledge", `{"lockTokens":["`+lock+`"]}`).want(t, http.StatusOK)
	w.clock.Advance(30 * 24 * time.Hour)
	for _, c := range []*apiClient{w.publisher, w.consumer, w.stranger} {
		c.token = c.newToken(t, "")
	}
	w.prune(t, func(tx *store.Tx, cursor string) (store.Pruned, error) {
		return tx.PruneEvents(t.Context(), store.At(tx.Now.Add(-24*time.Hour)), cursor, 500)
	})
	w.consumer.get(t, address).problem(t, http.StatusGone, "object-gone") // the event is gone, the bytes not yet
	w.prune(t, func(tx *store.Tx, cursor string) (store.Pruned, error) {
		return tx.PruneObjects(t.Context(), tx.Now, cursor, 500)
	})
	for _, c := range []*apiClient{w.publisher, w.consumer} {
		if p := c.get(t, address).problem(t, http.StatusGone, "object-gone"); !strings.Contains(string(p.Detail), "Ask the publisher") {
			t.Errorf("no remedy: %s", p.Detail)
		}
	}
	w.stranger.get(t, address).problem(t, http.StatusNotFound, "not-found")
}

// prune does all steps of a kind of pruning.
func (w *largeWorld) prune(t *testing.T, step func(tx *store.Tx, cursor string) (store.Pruned, error)) {
	t.Helper()
	for p := (store.Pruned{}); !p.Done; {
		noError(t, w.db.Write(t.Context(), func(tx *store.Tx) (err error) {
			p, err = step(tx, p.Cursor)
			return err
		}))
	}
}

// What is too large even so is refused, with nothing left behind; what fits is left as it is.
// Rules: CE-32, OPEN-02.
func TestLargeDataRefused(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	w.set(t, "events.max_object_bytes", "1000000")
	tooMuch, _ := largeEvent("1", 1_000_001)
	farTooMuch, _ := largeEvent("1", 1_500_000)
	large, _ := largeEvent("1", 100_000)
	for name, tc := range map[string]struct{ body, says string }{
		"a byte too many":   {tooMuch, "at most 1000000"},
		"much too large":    {farTooMuch, "too large"},
		"a dataref as well": {strings.Replace(large, `"nrofpages":7`, `"dataref":"https://data.example.nl/1"`, 1), "has a dataref"},
	} {
		if p := w.publisher.publish(t, tc.body).problem(t, http.StatusRequestEntityTooLarge, "too-large"); !strings.Contains(string(p.Detail), tc.says) {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	w.set(t, "events.oversize", "reject")
	w.publisher.publish(t, large).problem(t, http.StatusRequestEntityTooLarge, "too-large")
	if n := w.objects(t); n != 0 || w.eventCount(t) != 0 {
		t.Errorf("%d objects and %d events were kept", n, w.eventCount(t))
	}
	passing := eventOf("nl.example.student.enrolled", "urn:nld:oin:00000001823288444000:systeem:sis", `"dataref":"https://data.example.nl/1"`)
	w.publisher.publish(t, passing).want(t, http.StatusAccepted)
	if wire, _ := w.received(t); !strings.Contains(string(wire), `"dataref":"https://data.example.nl/1"`) {
		t.Errorf("a dataref of the sender became %s", wire)
	}
}

// objects counts what is stored, of events and of nothing.
func (w *largeWorld) objects(t *testing.T) int {
	t.Helper()
	rows, _, err := w.db.Events(t.Context(), store.EventFilter{})
	noError(t, err)
	n := 0
	for _, e := range append(rows, store.Event{}) {
		objects := must(w.db.ObjectsOf(t.Context(), e.ID))(t)
		n += len(objects)
	}
	return n
}

// A repeated request gets the first answer and keeps nothing twice, in every mode.
// Rules: IDEM-14, CE-51.
func TestLargeDataRepeated(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	body, data := largeEvent("1", 100_000)
	key := `"` + uuid.NewString() + `"`
	send := func() apiAnswer {
		return w.publisher.do(t, http.MethodPost, "/events/v1/events", body, "Content-Type", "application/cloudevents+json", "Idempotency-Key", key)
	}
	first := send().want(t, http.StatusAccepted)
	if again := send().want(t, http.StatusAccepted); !bytes.Equal(first.body, again.body) {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	w.publisher.publish(t, body).want(t, http.StatusAccepted) // the same event under another key
	if w.objects(t) != 1 {
		t.Errorf("%d objects are kept of one event", w.objects(t))
	}
	w.publisher.do(t, http.MethodPost, "/events/v1/events", string(data), "Idempotency-Key", `"`+uuid.NewString()+`"`, "Content-Type", "image/png",
		"Ce-Specversion", "1.0", "Ce-Id", "2", "Ce-Source", "urn:nld:oin:00000001823288444000:systeem:sis", "Ce-Type", "nl.example.student.enrolled").want(t, http.StatusAccepted)
	w.publisher.do(t, http.MethodPost, "/events/v1/events", "["+strings.Replace(body, `"1"`, `"3"`, 1)+"]", "Idempotency-Key", `"`+uuid.NewString()+`"`,
		"Content-Type", "application/cloudevents-batch+json").want(t, http.StatusAccepted)
	if w.objects(t) != 3 {
		t.Errorf("%d objects of three events", w.objects(t))
	}
	shown := decoded[struct{ Object *webevents.ObjectAnswer }](t, w.publisher.get(t, first.header.Get("Location")).want(t, http.StatusOK))
	if shown.Object == nil || shown.Object.Size != 100_000 || shown.Object.MediaType != "application/pdf" || !strings.HasPrefix(shown.Object.DataRef, apiTestBase+site.ObjectsPath) {
		t.Errorf("the publisher sees %+v", shown.Object)
	}
}

// Large bodies are few at once for a partner, and in all no more than fits in memory.
func TestRoomForLargeBodies(t *testing.T) {
	t.Parallel()
	l := webevents.NewLargeBodies()
	var gives []func()
	for range webevents.LargePerPartner {
		give, ok := l.Take("a", webevents.LargeMemory/8)
		if !ok {
			t.Fatal("no room for the share of a partner")
		}
		gives = append(gives, give)
	}
	if _, ok := l.Take("a", 1); ok {
		t.Error("a partner gets more than its share")
	}
	if _, ok := l.Take("b", webevents.LargeMemory/2+1); ok {
		t.Error("more than fits is let in")
	}
	give, ok := l.Take("b", webevents.LargeMemory/2)
	if !ok {
		t.Error("what fits is not let in")
	}
	for _, give := range append(gives, give, give) {
		give()
	}
	if _, ok := l.Take("c", 2*webevents.LargeMemory); !ok || l.Used != 2*webevents.LargeMemory {
		t.Errorf("one of the largest must always fit; %d used", l.Used)
	}
}

// A large body that nobody finishes takes its share, and gives it back.
func TestStalledLargeBodies(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	body, _ := largeEvent("x", 100_000)
	release, done := make(chan struct{}), sync.WaitGroup{}
	for i := range webevents.LargePerPartner {
		tail := &stalled{begun: make(chan struct{}), more: release, rest: strings.NewReader(body[80_000:])}
		done.Go(func() {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+"/events/v1/events", io.MultiReader(strings.NewReader(body[:80_000]), tail))
			r.Header.Set("Authorization", "Bearer "+w.publisher.token)
			r.Header.Set("Content-Type", "application/cloudevents+json")
			r.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
			got := httptest.NewRecorder()
			w.app.Handler().ServeHTTP(got, r)
			if got.Code != http.StatusAccepted {
				t.Errorf("answer %d to number %d: %s", got.Code, i, got.Body)
			}
		})
		<-tail.begun
	}
	if answer := w.publisher.publish(t, body); answer.problem(t, http.StatusTooManyRequests, "too-many-uploads").Status == 0 || answer.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.publisher.publish(t, eventOf("nl.example.student.enrolled", "urn:nld:oin:00000001823288444000:systeem:sis")).want(t, http.StatusAccepted)
	close(release)
	done.Wait()
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
}

// A business message over 64 KiB is taken once an endpoint of kind amqp is subscribed to its type, without any setting: its data is kept
// apart, from where the AMQP message gets it, and other receivers get a reference. Other types are rejected as before, and so is data
// beyond the limit of data that is stored apart.
//
// Rules: EDU-01a, CE-21, CE-31, OPEN-02
func TestLargeBusinessMessageIsTaken(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := &largeWorld{pullWorld: newPullWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock)}
	body, data := largeEvent("large-1", 200_000)
	w.publisher.publish(t, body).want(t, http.StatusRequestEntityTooLarge)
	var endpoint store.Endpoint
	clinic := w.newPartner(t, "Legekontor")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		endpoint = store.Endpoint{PartnerID: clinic.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		return tx.InsertEndpoint(t.Context(), &endpoint)
	}))
	refused := w.publisher.publish(t, body).want(t, http.StatusRequestEntityTooLarge)
	wantWords(t, string(refused.body), "at most 65536 are taken")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertSubscription(t.Context(), &store.Subscription{
			PartnerID: endpoint.PartnerID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{"nl.example.student.enrolled"},
		})
	}))
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	if path, _ := w.address(t); path == "" || len(data) != 200_000 {
		t.Error("the other receiver gets no reference")
	}
	tooMuch, _ := largeEvent("large-2", 11<<20)
	w.publisher.publish(t, tooMuch).want(t, http.StatusRequestEntityTooLarge)
}

// A business message is addressed to one health party: another that is subscribed gets no delivery of it, and one to a party that nobody
// delivers to is refused with what to do.
//
// Rules: AMQP-109, EDU-07.
func TestBusinessMessageIsAddressed(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newPullWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock)
	const eventType = "nl.example.student.enrolled"
	party := func(herID int64) msghead.Party {
		id := msghead.Ident{ID: strconv.FormatInt(herID, 10), Type: msghead.Code{V: msghead.TypeHER}}
		return msghead.Party{Organisation: msghead.Unit{Name: "Organisation", Idents: []msghead.Ident{id}}}
	}
	send := func(to int64) apiAnswer {
		document := must(msghead.Compose(msghead.Draft{
			Type: msghead.Code{V: "DIALOG_HELSEFAGLIG"}, MsgID: uuid.NewString(), Generated: clock.Now(),
			Sender: party(1), Receiver: party(to), Topic: msghead.Code{V: "BA"}, Question: "Kan du komme?",
		}))(t)
		data := string(must(json.Marshal(string(document)))(t))
		return w.publisher.publish(t, `{"specversion":"1.0","id":"`+uuid.NewString()+`","source":"urn:nld:oin:00000001823288444000:sis","type":"`+eventType+
			`","datacontenttype":"application/xml","data":`+data+`}`)
	}
	var receipt struct{ Events []struct{ EventID string } }
	send(200).want(t, http.StatusAccepted).decode(t, &receipt)
	if e := must(w.db.Event(t.Context(), receipt.Events[0].EventID))(t); e.Audience.Reaches(100) || !e.Audience.Reaches(200) {
		t.Errorf("before a health party is subscribed it is for %q: a replay would hand it to another", e.Audience)
	}
	clinics := map[int64]store.Partner{100: w.newPartner(t, "Legekontor"), 200: w.newPartner(t, "Legesenter")}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		broker := store.AMQPBroker{Name: "broker", URL: "amqps://broker.example"}
		noError(t, tx.InsertAMQPBroker(t.Context(), &broker))
		for herID, clinic := range clinics {
			endpoint := store.Endpoint{PartnerID: clinic.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
			noError(t, tx.InsertEndpoint(t.Context(), &endpoint))
			noError(t, tx.InsertAMQPParty(t.Context(), &store.AMQPParty{
				PartnerID: clinic.ID, EndpointID: endpoint.ID, BrokerID: broker.ID, Kind: store.AMQPHealth, Name: clinic.Name, HerID: herID, Enabled: true,
			}))
			noError(t, tx.InsertSubscription(t.Context(), &store.Subscription{
				PartnerID: clinic.ID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{eventType},
			}))
		}
		return nil
	}))
	send(200).want(t, http.StatusAccepted).decode(t, &receipt)
	for _, d := range must(w.db.DeliveriesOf(t.Context(), receipt.Events[0].EventID))(t) {
		if d.PartnerID == clinics[100].ID {
			t.Errorf("a message to 200 is a delivery of 100: %+v", d)
		}
	}
	refused := send(300).want(t, http.StatusUnprocessableEntity)
	wantWords(t, string(refused.body), "/problems/no-party", "HER-id 300")
}
