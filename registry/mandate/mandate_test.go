package mandate_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/mandate"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const (
	supplier = "00000003272448340204"
	school   = "0000000700000AV00000"
	service  = "http://xml.example.nl/schemas/transfer/20180404"
	kind     = "nl.example.student.enrolled"
)

// fakeOSR answers as the API of the Onderwijs Serviceregister does.
type fakeOSR struct {
	*httptest.Server
	status atomic.Int64
	asked  atomic.Int64
}

func newFakeOSR(t *testing.T) *fakeOSR {
	t.Helper()
	o := &fakeOSR{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		q := r.URL.Query()
		if r.URL.Path != "/api/v2/mandates" || r.Header.Get("X-Api-Key") != "k3y" || q.Get("supplier_oin") != supplier || q.Get("school_oin") != school ||
			q.Get("service_version_namespace") != service || q.Get("reference_date") == "" {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		w.WriteHeader(int(o.status.Load()))
	}))
	t.Cleanup(o.Close)
	return o
}

type world struct {
	*mandate.Checker
	osr   *fakeOSR
	db    *store.DB
	clock *storetest.Clock
	cfg   mandate.Config
	from  store.Partner
}

func newWorld(t *testing.T, change func(*mandate.Config)) *world {
	t.Helper()
	w := &world{osr: newFakeOSR(t), clock: storetest.NewClock()}
	w.db = storetest.SQLite(t, storetest.WithClock(w.clock))
	w.cfg = mandate.Config{
		Source:   mandate.OSR{Base: w.osr.URL + "/api/v2/", KeyHeader: "X-Api-Key", Key: "k3y", HTTP: w.osr.Client()},
		Services: []mandate.Service{{Types: []string{"nl.example.*"}, Name: service}}, Fresh: time.Hour, Attribute: "recipient", DB: w.db, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&w.cfg)
	}
	w.Checker = mandate.New(w.cfg)
	w.from = store.Partner{Name: "Supplier", OIN: supplier, Status: store.PartnerApproved}
	w.insert(t, &w.from)
	return w
}

func (w *world) insert(t *testing.T, p *store.Partner) {
	t.Helper()
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), p) }); err != nil {
		t.Fatal(err)
	}
}

// send offers an event of the school, and names the outcome: ok, no or unknown.
func (w *world) send(ctx context.Context) string {
	err := w.MaySend(ctx, w.from, kind, "urn:nld:oin:"+strings.ToLower(school)+":lvs")
	switch e, _ := errors.AsType[*registry.Error](err); {
	case err == nil:
		return "ok"
	case errors.Is(err, mandate.ErrUnknown):
		return "unknown"
	case e != nil && e.Code == registry.CodeForbidden:
		return "no"
	}
	return err.Error()
}

func (w *world) audits(t *testing.T) (actions string) {
	t.Helper()
	rows, err := w.db.NewestAudits(t.Context(), store.AuditFilter{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		actions += r.Action + " "
	}
	return actions
}

// An intermediary sends for a school while it has the mandate of it. The register is asked once for as long as an answer is believed, by all
// nodes together; the audit trail has what changed, and pages the last answer.
//
// Rules: SEC-14.
func TestMandate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	w.osr.status.Store(http.StatusOK)
	other := mandate.New(w.cfg) // another node
	for range 3 {
		if got := w.send(ctx); got != "ok" {
			t.Fatal(got)
		}
	}
	if err := other.MaySend(ctx, w.from, kind, "urn:nld:oin:"+school+":lvs"); err != nil || w.osr.asked.Load() != 1 {
		t.Errorf("%v after %d questions", err, w.osr.asked.Load())
	}
	for name, source := range map[string]string{
		"its own source": "urn:nld:oin:" + supplier + ":sis", "no OIN": "https://school.example/sis", "too short": "urn:nld:oin:123:sis",
	} {
		if err := w.MaySend(ctx, w.from, kind, source); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.MaySend(ctx, w.from, "org.other.type", "urn:nld:oin:"+school+":lvs"); err != nil {
		t.Errorf("a type without a service: %v", err)
	}
	if err := w.MaySend(ctx, store.Partner{Own: true}, kind, "urn:nld:oin:"+school+":lvs"); err != nil {
		t.Errorf("the own organisation: %v", err)
	}
	if err := w.MaySend(ctx, store.Partner{Name: "No OIN"}, kind, "urn:nld:oin:"+school+":lvs"); err == nil {
		t.Error("a partner without an OIN sends for another")
	}
	w.osr.status.Store(http.StatusNotFound)
	w.clock.Advance(59 * time.Minute)
	if got := w.send(ctx); got != "ok" || w.osr.asked.Load() != 1 {
		t.Errorf("within the hour: %s", got)
	}
	w.clock.Advance(2 * time.Minute)
	if got := w.send(ctx); got != "no" {
		t.Errorf("withdrawn: %s", got)
	}
	w.osr.status.Store(http.StatusOK)
	w.clock.Advance(time.Minute + time.Second)
	if got := w.send(ctx); got != "ok" {
		t.Errorf("given again: %s", got)
	}
	if got := w.audits(t); got != "mandate.found mandate.missing mandate.found " {
		t.Errorf("audit trail: %s", got)
	}
	if list, err := w.Last(ctx, supplier); err != nil || len(list) != 1 || !list[0].Mandated || list[0].Organisation != school || list[0].Service != service {
		t.Errorf("last %+v, %v", list, err)
	}
}

// While the register cannot be asked nothing passes, or by choice of the operator what passed before and what nobody knows.
func TestMandateUnknown(t *testing.T) {
	t.Parallel()
	closed := newWorld(t, nil)
	closed.osr.status.Store(http.StatusInternalServerError)
	for range 5 {
		if got := closed.send(t.Context()); got != "unknown" {
			t.Errorf("closed: %s", got)
		}
	}
	if n := closed.osr.asked.Load(); n != 1 {
		t.Errorf("a register that is down was asked %d times in a moment", n)
	}
	closed.osr.status.Store(http.StatusOK)
	closed.clock.Advance(11 * time.Second)
	if got := closed.send(t.Context()); got != "ok" {
		t.Errorf("back again: %s", got)
	}

	open := newWorld(t, func(c *mandate.Config) { c.Open = true })
	open.osr.status.Store(http.StatusNotFound)
	if got := open.send(t.Context()); got != "no" {
		t.Error(got)
	}
	open.osr.status.Store(http.StatusUnauthorized)
	open.clock.Advance(2 * time.Minute)
	if got := open.send(t.Context()); got == "ok" {
		t.Errorf("open, refused before: %s", got)
	}
	fresh := newWorld(t, func(c *mandate.Config) { c.Open = true })
	fresh.osr.status.Store(http.StatusBadGateway)
	if got := fresh.send(t.Context()); got != "ok" {
		t.Errorf("open, never answered: %s", got)
	}
}
