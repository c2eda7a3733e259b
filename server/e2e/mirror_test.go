package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// liar stands between a register and who mirrors it. Told to lie, it gives one byte
// of every document otherwise than the register does; for the rest it answers as the
// register says, digests included.
type liar struct {
	*httptest.Server
	lies atomic.Bool
}

func newLiar(t *testing.T, p *trial.PKI, base string) *liar {
	l := &liar{}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := http.NewRequestWithContext(r.Context(), r.Method, base+r.URL.RequestURI(), nil)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		q.Header = r.Header.Clone()
		answer, err := p.Client.Do(q)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if l.lies.Load() && strings.HasSuffix(r.URL.Path, "/original") {
			body = bytes.Replace(body, []byte("example"), []byte("examp1e"), 1)
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(body)
	}))
	l.TLS = &tls.Config{Certificates: []tls.Certificate{p.Cert}}
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

// mirrored is a register with the client that asks it to mirror another.
type mirrored struct {
	*trial.Program
	client demo.Credentials
	token  string
	key    string // with which it reads the other
}

// TestTwoSchakelsMirrorEachOther: each copies what the other publishes, and does not
// copy the copies back; a changed byte at the source raises the alarm, and the copy
// stays what it was.
//
// Rules: EDU-06e, EDU-N05, EDU-N06.
func TestTwoSchakelsMirrorEachOther(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	a := &mirrored{Program: trial.NewProgram(t, p, demo.OwnA(), storetest.PostgresURL(t))}
	b := &mirrored{Program: trial.NewProgram(t, p, demo.OwnB(), trial.SQLitePath(t))}
	for here, other := range map[*mirrored]*mirrored{a: b, b: a} {
		here.SetUp(t, func(c *demo.Chain) {
			ctx := t.Context()
			trial.Must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
			here.client = trial.Must1[demo.Credentials](t)(c.Publisher(ctx, c.Admin, here.Own, identity.ScopeRegistryWrite))
			partner, _, err := c.Approved(ctx, other.Own)
			trial.Must(t, err)
			_, plain, err := c.ReadKeys.Create(ctx, c.Admin, partner.ID, identity.NewReadKey{Name: "mirror"})
			trial.Must(t, err)
			other.key = plain
			// Only partners see this one: without the key it is not there.
			_, err = c.Contracts.SetVisibility(ctx, c.Admin, demo.WebhookContract, contracts.VisibilityChange{Visibility: store.VisibilityPartners, Reason: "For partners.", AcceptLoss: true})
			trial.Must(t, err)
		})
	}
	a.Start(t)
	b.Start(t)
	between := newLiar(t, p, b.Base)
	ways := map[*mirrored]string{}
	for here, url := range map[*mirrored]string{a: between.URL, b: a.Base} {
		here.token = here.Token(t, here.client, "registry.write")
		var made struct{ MirrorID string }
		here.Call(t, http.MethodPost, "/registry/v1/mirrors", here.token, nil, map[string]any{
			"name": "The other", "prefix": "other", "kind": "schakel", "url": url, "key": here.key, "schedule": "@daily",
			"contracts": []string{"leerlingen-*", "other-*"},
		}).Want(t, http.StatusCreated).Into(t, &made)
		ways[here] = "/registry/v1/mirrors/" + made.MirrorID
	}
	for _, here := range []*mirrored{a, b, a} { // a again, when b has copies of a
		here.run(t, ways[here])
	}
	for here, other := range map[*mirrored]*mirrored{a: b, b: a} {
		here.checkCopy(t, other, demo.EventsContract)
		here.checkCopy(t, other, demo.WebhookContract)
		if got := here.Call(t, http.MethodGet, "/registry/v1/contracts/other-other-"+demo.EventsContract, here.token, nil, nil); got.Status != http.StatusNotFound {
			t.Errorf("a copy of a copy: %d", got.Status)
		}
	}
	between.lies.Store(true)
	if last := a.run(t, ways[a]); last.Changed != 2 || last.New != 0 {
		t.Errorf("the run with changed bytes found %+v", last)
	}
	var alarms struct {
		Alarms []struct{ AlarmID, ContractID, Digest string }
	}
	a.Call(t, http.MethodGet, ways[a]+"/alarms?status=open", a.token, nil, nil).Want(t, http.StatusOK).Into(t, &alarms)
	if len(alarms.Alarms) != 2 {
		t.Fatalf("alarms %+v", alarms)
	}
	aside := a.Call(t, http.MethodGet, ways[a]+"/alarms/"+alarms.Alarms[0].AlarmID+"/content", a.token, nil, nil).Want(t, http.StatusOK)
	if !bytes.Contains(aside.Body, []byte("examp1e")) {
		t.Error("what is kept aside is not what came")
	}
	a.checkCopy(t, b, demo.EventsContract) // b itself never changed; neither did the copy
	a.Stop(t)
	b.Stop(t)
}

type mirrorRun struct {
	RunID, Error                  string
	New, Changed, Refused, Failed int
	FinishedAt                    string
}

// run asks for a run and waits until it is over.
func (m *mirrored) run(t *testing.T, mirror string) mirrorRun {
	t.Helper()
	runs := func() []mirrorRun {
		var got struct{ Runs []mirrorRun }
		m.Call(t, http.MethodGet, mirror+"/runs", m.token, nil, nil).Want(t, http.StatusOK).Into(t, &got)
		return got.Runs
	}
	before := len(runs())
	m.Call(t, http.MethodPost, mirror+"/runs", m.token, nil, nil).Want(t, http.StatusAccepted)
	var last mirrorRun
	trial.Eventually(t, "the run ends", func() (bool, string) {
		all := runs()
		if len(all) == before {
			return false, "no run yet"
		}
		last = all[0]
		return last.FinishedAt != "", fmt.Sprintf("%+v", last)
	})
	if last.Error != "" || last.Failed != 0 || last.Refused != 0 {
		log := m.Call(t, http.MethodGet, mirror+"/runs/"+last.RunID, m.token, nil, nil)
		t.Errorf("run: %s", log.Body)
	}
	return last
}

// checkCopy wants the copy of a contract to have the bytes of the other register, to
// be internal, and to name its origin.
func (m *mirrored) checkCopy(t *testing.T, other *mirrored, id string) {
	t.Helper()
	const latest = "/versions/latest"
	theirs := other.Call(t, http.MethodGet, "/registry/v1/contracts/"+id+latest+"/original", other.token, nil, nil).Want(t, http.StatusOK)
	path := "/registry/v1/contracts/other-" + id
	ours := m.Call(t, http.MethodGet, path+latest+"/original", m.token, nil, nil).Want(t, http.StatusOK)
	if !bytes.Equal(ours.Body, theirs.Body) || ours.Header.Get("ETag") != theirs.Header.Get("ETag") {
		t.Errorf("%s differs from its copy", id)
	}
	var about struct {
		Visibility string
		CopyOf     json.RawMessage
	}
	m.Call(t, http.MethodGet, path, m.token, nil, nil).Want(t, http.StatusOK).Into(t, &about)
	if about.Visibility != "internal" || !strings.Contains(string(about.CopyOf), id) {
		t.Errorf("the copy of %s is %s, of %s", id, about.Visibility, about.CopyOf)
	}
	if got := m.Call(t, http.MethodGet, path, "", nil, nil); got.Status != http.StatusNotFound {
		t.Errorf("a visitor gets %d for a copy", got.Status)
	}
}
