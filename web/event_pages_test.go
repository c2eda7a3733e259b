package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/web/site"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   string
		most int
		want string
		cut  bool
	}{
		"text":             {"héllo\n\tx", 100, "héllo\n\tx", false},
		"Windows lines":    {"a\r\nb", 100, "a\nb", false},
		"control":          {"a\x00\x1b[31mb", 100, `a\u0000\u001b[31mb`, false},
		"direction":        {"abc\u202egpj.exe", 100, `abc\u202egpj.exe`, false},
		"byte order mark":  {"\ufeffx", 100, `\ufeffx`, false},
		"joined":           {"👩\u200d🚀", 100, "👩\u200d🚀", false},
		"cut":              {"abcdef", 3, "abc", true},
		"cut in character": {"aé", 2, "a", true},
		"stored cut":       {"abc\xc3", 100, "abc", true},
		"bytes":            {"\xff\xfe\x00", 100, "00000000  ff fe 00                                          |...|\n", false},
		"nothing":          {"", 100, "", false},
	} {
		got, cut := site.Readable([]byte(tt.in), tt.most)
		if got != tt.want || cut != tt.cut {
			t.Errorf("%s: %q (cut %v), want %q (%v)", name, got, cut, tt.want, tt.cut)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, seed := range []string{"", "abc", "\xff\xc3", "\u202e", strings.Repeat("é", 40)} {
		f.Add([]byte(seed), 16)
	}
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = max(0, most%64)
		text, cut := site.Readable(data, most)
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\u202e\ufeff\r") {
			t.Fatalf("%q is shown as %q", data, text)
		}
		if len(data) > most && !cut {
			t.Fatalf("%q is cut to %d bytes unsaid", data, most)
		}
		if len(text) > 8*max(most, 16)+100 {
			t.Fatalf("%d bytes are shown as %d", len(data), len(text))
		}
	})
}

func TestIndentedJSONKeepsWhatItShows(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1.50,"a":"\u00e9"}`:     "{\n  \"a\": 1.50,\n  \"a\": \"\\u00e9\"\n}",
		`{`:                           "",
		strings.Repeat("[", 5000):     "",
		strings.Repeat(" ", 70000):    "",
		`12345678901234567890.000001`: "12345678901234567890.000001",
	} {
		if got := site.IndentedJSON([]byte(in)); got != want {
			t.Errorf("%.40q is shown as %q", in, got)
		}
	}
}

func TestEventDataIsDownloadedByteForByte(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for _, tt := range []struct {
		kind      event.DataKind
		data, ext string
	}{
		{event.DataJSON, "{ \"a\" : 1 }", ".json"}, {event.DataText, "<script>alert(1)</script>", ".txt"}, {event.DataBinary, "\xff\x00\xfe", ".bin"},
	} {
		e := w.event(tt.kind, tt.data)
		answer := w.admin.get("/admin/events/" + e.ID + "/data")
		wantStatus(t, answer, http.StatusOK)
		if got := text(answer); got != tt.data {
			t.Errorf("downloaded %q, want %q", got, tt.data)
		}
		h := answer.Header
		if h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != `attachment; filename="`+e.ID+tt.ext+`"` || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", h)
		}
	}
	wantStatus(t, w.admin.get("/admin/events/"+w.event(event.DataNone, "").ID+"/data"), http.StatusNotFound)
}

// An administrator sees for whom an event is that is not for everyone.
//
// Rules: EDU-07.
func TestEventPageTellsWhomItIsFor(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	own := must(w.db.OwnPartner(t.Context()))(t)
	first := must(w.db.Partner(t.Context(), w.first.id))(t)
	for audience, want := range map[store.Audience]string{store.OnlyFor(first.ID): own.Name + ", " + first.Name, store.OnlyFor(): own.Name} {
		e := store.Event{PartnerID: own.ID, ClientID: "cli_test", CEID: uuid.NewString(), CESource: "urn:x", CEType: queueType, Attributes: []byte(`{}`), Audience: audience}
		w.write(func(tx *store.Tx) error {
			e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
			_, err := tx.InsertEvents(t.Context(), []store.Event{e})
			return err
		})
		shows(t, w.admin.get("/admin/events/"+e.ID), http.StatusOK, "Only for", want)
	}
}

func TestEventPages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataBinary, "\xff\xfe binary")
	w.deliver(e, w.first)
	shows(t, w.admin.get("/admin/events/"+e.ID), http.StatusOK, "Chain Office", "cli_test", "Deliveries of this event", "Hook of first@example.nl",
		"Bytes, 9 bytes", "ff fe 20 62", "Download the data byte for byte")
	lonely := w.event(event.DataText, strings.Repeat("x", 100<<10))
	shows(t, w.admin.get("/admin/events/"+lonely.ID), http.StatusOK, "Nobody was subscribed", "Text, the beginning of 100 KiB")
	for query, want := range map[string]int{
		"": 2, "event=" + e.CEID: 1, "type=" + queueType: 2, "type=x": 0, "partner=" + w.first.id: 0, "until=2020-01-01": 0,
	} {
		page := shows(t, w.admin.get("/admin/events?"+query), http.StatusOK)
		if got := max(0, rows(page)); got != want {
			t.Errorf("%s: %d events, want %d", query, got, want)
		}
	}
}

// What became of an event that expired stands on its page, in the list of its reason, and in the API; nobody can resend it.
//
// Rules: CE-24.
func TestExpiredEventIsShown(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	e := w.event(event.DataJSON, `{}`)
	expires := store.At(w.clock.Now().Add(time.Minute))
	late := w.attempt(w.deliverUntil(e, w.other, expires), store.DeliveryDead, webhook.ReasonAttempts, store.Attempt{StatusCode: 500})
	d := w.deliverUntil(e, w.first, expires)
	shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Pending", "Event expires")
	w.clock.Advance(2 * time.Minute)
	w.write(func(tx *store.Tx) error { _, err := tx.ExpireEvents(ctx, 10); return err })
	shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Discarded: Event has expired", "expirytime", "Event expires")
	shows(t, w.first.browser.get("/partner/deliveries/"+d.ID), http.StatusOK, "Event has expired")
	shows(t, w.admin.get("/admin/deliveries?status=discarded&reason=event-expired"), http.StatusOK, "1 delivery", "Event has expired")
	here := "/admin/deliveries/" + late.ID
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{}), here)
	shows(t, w.admin.get(here), http.StatusOK, "its event has expired")
	w.wantState(late.ID, store.DeliveryDead)
}

func TestExpiredEventInTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher := h.consumer(t, partner.ID), h.publisher(t, "")
	storySubscribe(t, h, c, partner)
	publisher.publish(t, sampleEvent("1", `"expirytime":"2001-02-03T04:05:06Z"`)).want(t, http.StatusAccepted)
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.ExpireEvents(t.Context(), 10); return err }))
	list := decoded[struct{ Deliveries []site.DeliveryAnswer }](t, c.get(t, "/events/v1/deliveries?status=discarded&reason=event-expired").want(t, http.StatusOK))
	if len(list.Deliveries) != 1 || list.Deliveries[0].Reason != store.ReasonEventExpired || list.Deliveries[0].ExpiresAt.Year() != 2001 {
		t.Fatalf("deliveries %+v", list)
	}
	c.do(t, http.MethodPost, "/events/v1/deliveries/"+list.Deliveries[0].DeliveryID+"/resend", "").problem(t, http.StatusConflict, "event-expired")
}
