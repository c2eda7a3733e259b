package web

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/certs"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/store/needs"
	webamqp "schakel/web/amqp"
	"schakel/web/site"
)

// An administrator adds a broker, an own party, and a process; a partner fills in its party at its endpoint.
// Rules: AMQP-09, AMQP-20, AMQP-21, AMQP-23, AMQP-46, AMQP-64.
func TestAMQPPartyPages(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t)
	wantWords(t, text(w.admin.get("/admin/amqp")), "No message broker is known yet", "Nobody exchanges messages yet", "Clock is not known")
	w.checkBrokerPages(t)
	wantWords(t, text(w.admin.get("/admin/amqp/parties/new")), "Add an own party", "Dead-letter queue", "Exchange")
	if !strings.Contains(text(w.admin.get("/admin/amqp/parties/new")), `value="`+w.broker+`" selected`) {
		t.Error("the only broker is not chosen")
	}
	own := redirected(t, w.admin.post("/admin/amqp/parties", w.partyForm("name", "Chain clinic", "herId", "100")))
	wantWords(t, text(w.admin.get(own)), "Party Chain clinic is added", "100_dl", "100_reply", "No certificate is registered")
	wantRefused(t, w.admin.post(own+"/edit", w.partyForm("herId", "x", "answerWait", "soon")), "Use a whole number", "Write a time with its unit")
	wantStatus(t, w.admin.post(own+"/edit", w.partyForm("name", "Clinic", "herId", "100")), http.StatusSeeOther)
	w.checkCertificatePages(t, own)
	w.checkPartnerParty(t, idOf(own))
}

func (w *amqpWorld) checkBrokerPages(t *testing.T) {
	t.Helper()
	wantWords(t, text(w.admin.get("/admin/amqp/brokers/new")), "RabbitMQ 4", "Azure Service Bus", "SASL EXTERNAL")
	form := url.Values{"name": {"Exchange"}, "dialect": {"rabbitmq4"}, "url": {"amqp://broker.example"}, "sasl": {"plain"}, "username": {"schakel"}, "enabled": {"on"}}
	wantRefused(t, w.admin.post("/admin/amqp/brokers", form), "Write amqps://", "Fill in the password")
	form.Set("url", "amqps://broker.example")
	form.Set("password", "not-to-be-told")
	wantStatus(t, w.admin.post("/admin/amqp/brokers", form), http.StatusSeeOther)
	rows := must(w.db.AMQPBrokers(t.Context()))(t)
	w.broker = rows[0].ID
	one := "/admin/amqp/brokers/" + w.broker
	page := text(w.admin.get(one))
	wantWords(t, page, "A password is stored", "added message broker Exchange")
	lacks(t, page, "not-to-be-told")
	form.Set("password", "")
	wantStatus(t, w.admin.post(one, form), http.StatusSeeOther)
	form.Set("url", "amqps://elsewhere.example")
	wantRefused(t, w.admin.post(one, form), "fill in the password again")
	for _, path := range []string{"/admin/amqp", one, "/admin/amqp/brokers/new", "/admin/amqp/import"} {
		wantStatus(t, w.staff.get(path), http.StatusForbidden)
	}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SaveAMQPConnection(t.Context(), &store.AMQPConnection{BrokerID: w.broker, Node: "node-a", Phase: store.AMQPWaiting, Detail: "connection refused", Since: tx.Now}, tx.Now)
	}))
	wantWords(t, text(w.admin.get("/admin/amqp")), "Not connected", "connection refused", "node-a", "RabbitMQ 4")
}

func (w *amqpWorld) checkCertificatePages(t *testing.T, own string) {
	t.Helper()
	cert, key := testCertificate(t, "clinic", w.clock.Now().AddDate(1, 0, 0))
	old, _ := testCertificate(t, "old clinic", w.clock.Now().AddDate(0, 0, -1))
	wantRefused(t, w.admin.post(own+"/certificates", url.Values{"certificates": {"nonsense"}}), "Paste it as PEM", "nonsense")
	wantRefused(t, w.admin.post(own+"/certificates", url.Values{"certificates": {cert}, "privateKeys": {""}}), "Paste it as PEM")
	wantStatus(t, w.admin.post(own+"/certificates", url.Values{"certificates": {old}, "privateKeys": {key}}), http.StatusSeeOther)
	wantWords(t, text(w.admin.get(own)), "2 certificates are added", "Expired", "There is no valid certificate for signing")
	wantStatus(t, w.admin.post(own+"/certificates", url.Values{"certificates": {cert}, "privateKeys": {key}}), http.StatusSeeOther)
	page := text(w.admin.get(own))
	wantWords(t, page, "CN=clinic", "signing", "encryption", "Valid")
	lacks(t, page, "PRIVATE KEY-----\nM", "no valid certificate")
	rows := must(w.db.AMQPCertificates(t.Context(), idOf(own)))(t)
	wantStatus(t, w.admin.post(own+"/certificates/"+rows[0].ID+"/removal", nil), http.StatusSeeOther)
	wantStatus(t, w.admin.post(own+"/certificates/"+rows[0].ID+"/removal", nil), http.StatusNotFound)
}

// checkPartnerParty has the people of a partner look after their own party, and no more.
func (w *amqpWorld) checkPartnerParty(t *testing.T, own string) {
	t.Helper()
	wantWords(t, text(w.staff.get("/partner/endpoints/new?kind=amqp")), "Events go to a queue of a message broker")
	endpoint := setUp(t, w.staff.post("/partner/endpoints", url.Values{"name": {"Queues"}, "kind": {"amqp"}}))
	wantWords(t, text(w.staff.get(endpoint)), "Fill in the party", "Nothing can be sent to this endpoint yet")
	wantWords(t, text(w.admin.get("/admin/endpoints/"+idOf(endpoint))), "Fill in its HER-id and queues")
	wantWords(t, text(w.admin.get("/admin/amqp")), "Endpoints without a party", "Queues of Partner of pat@example.nl")
	form := w.partyForm("endpoint", idOf(endpoint))
	wantWords(t, text(w.staff.get("/partner/amqp/parties/new?endpoint="+idOf(endpoint))), "Fill in the form for a queue with CloudEvents")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		p, err := tx.Partner(t.Context(), w.owner)
		if p.HerID = "200"; err == nil {
			err = tx.UpdatePartner(t.Context(), &p)
		}
		return err
	}))
	registered := regexp.MustCompile(`name="herId"[^>]*value="200"`)
	for _, b := range []*browser{w.staff, w.admin} {
		base := map[bool]string{true: "/admin", false: "/partner"}[b == w.admin]
		if page := text(b.get(base + "/amqp/parties/new?endpoint=" + idOf(endpoint))); !registered.MatchString(page) {
			t.Errorf("%s: the HER-id of the registration is not filled in", base)
		}
	}
	wantRefused(t, w.staff.post("/partner/amqp/parties", changed(form, "name", "", "herId", "")), "Fill in the HER-id")
	other, _ := w.at(t, "eve@example.nl")
	wantStatus(t, other.post("/partner/amqp/parties", w.partyForm("endpoint", idOf(endpoint))), http.StatusNotFound)
	wantStatus(t, w.staff.get("/partner/amqp/parties/new"), http.StatusNotFound)
	party := redirected(t, w.staff.post("/partner/amqp/parties", w.partyForm("endpoint", idOf(endpoint))))
	if registered.MatchString(text(w.staff.get("/partner/amqp/parties/new?endpoint=" + idOf(endpoint)))) {
		t.Error("a HER-id that a party has is filled in")
	}
	wantWords(t, text(w.staff.get(endpoint)), "200_async", "Certificates and processes of Legekontor")
	wantWords(t, text(w.staff.get(party)), "200_error", "who decides about it adds the process that both sides support")
	wantStatus(t, other.get(party), http.StatusNotFound)
	wantStatus(t, other.post(party+"/edit", form), http.StatusNotFound)
	cert, _ := testCertificate(t, "legekontor", w.clock.Now().AddDate(0, 0, 20))
	wantStatus(t, w.staff.post(party+"/certificates", url.Values{"certificates": {cert}}), http.StatusSeeOther)
	wantWords(t, text(w.staff.get(party)), "Expires soon", "CN=legekontor")
	wantStatus(t, w.staff.get("/partner/amqp/parties/"+own), http.StatusNotFound)
	w.party = idOf(party)
	w.checkProcessPages(t, own, party)
}

func (w *amqpWorld) checkProcessPages(t *testing.T, own, party string) {
	t.Helper()
	admin := "/admin/amqp/parties/" + w.party
	form := url.Values{"ownPartyId": {own}, "name": {"E-contact"}, "subject": {"DIALOG_INNBYGGER_EKONTAKT"}, "mode": {"async"}, "sends": {"no.example.sent"}}
	wantWords(t, text(w.admin.get(admin+"/processes/new?subject=DIALOG_INNBYGGER_TEST&cpaId=123")), "DIALOG_INNBYGGER_TEST", `value="123"`, "Clinic (100)")
	wantRefused(t, w.admin.post(admin+"/processes", url.Values{"mode": {"async"}}), "Choose from our own parties", "Choose a code", "Fill in the event type")
	wantStatus(t, w.admin.post(admin+"/processes", form), http.StatusSeeOther)
	wantWords(t, text(w.staff.get(party)), "E-contact", "out: no.example.sent", "asynchronous")
	wantRefused(t, w.staff.post(party+"/edit", w.partyForm("herId", "201")), "Processes are agreed with this HER-id")
	rows := must(w.db.AMQPProcesses(t.Context(), w.party))(t)
	one := admin + "/processes/" + rows[0].ID
	wantWords(t, text(w.admin.get(one)), "Change process", "no.example.sent")
	wantRefused(t, w.admin.post(one, changed(form, "receives", "no.example.came")), "Nobody is subscribed to this event type")
	w.checkOrphan(t, one, admin, changed(form, "receives", "no.example.came"))
	wantStatus(t, w.staff.post(one+"/removal", nil), http.StatusForbidden)
	wantStatus(t, w.admin.post(one+"/removal", nil), http.StatusSeeOther)
	wantStatus(t, w.admin.get(one), http.StatusNotFound)
	wantWords(t, text(w.admin.get("/admin/audit")), "added process E-contact to AMQP party Legekontor", "removed process E-contact from AMQP party Legekontor")
}

// checkOrphan gives a process a recipient, takes it away again, and looks for the warnings.
func (w *amqpWorld) checkOrphan(t *testing.T, process, party string, form url.Values) {
	t.Helper()
	own := must(w.db.OwnPartner(t.Context()))(t)
	e := store.Endpoint{PartnerID: own.ID, Name: "Inbox", Kind: store.EndpointPull, Status: store.EndpointActive}
	sub := store.Subscription{PartnerID: own.ID, Status: store.SubscriptionApproved, Types: []string{"no.example.came"}}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
			return err
		}
		sub.EndpointID = e.ID
		return tx.InsertSubscription(t.Context(), &sub)
	}))
	wantStatus(t, w.admin.post(process, form), http.StatusSeeOther)
	const warning = "Nobody is subscribed to what these processes take in"
	pages := []string{"/admin/amqp", party, "/admin/subscriptions/" + sub.ID}
	for _, page := range pages {
		if strings.Contains(text(w.admin.get(page)), warning) {
			t.Errorf("%s warns of a process that has a recipient", page)
		}
	}
	at := "/admin/subscriptions/" + sub.ID
	wantWords(t, text(w.admin.post(at+"/end", url.Values{"reason": {"Not needed."}})), "would have no recipient")
	wantStatus(t, w.admin.post(at+"/suspend", url.Values{"reason": {"Broken."}}), http.StatusSeeOther)
	for _, page := range pages {
		wantWords(t, text(w.admin.get(page)), warning, "E-contact with Legekontor")
	}
}

// What a CPP or the address registry says is shown before it is taken over.
// Rules: AMQP-09, AMQP-20, AMQP-27, AMQP-28, AMQP-57.
func TestAMQPImportPages(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	wantWords(t, text(w.admin.get("/admin/amqp/import")), "communication details of the address registry")
	upload := func(document string, fields url.Values) *http.Response {
		return w.admin.upload(t, "/admin/amqp/import", fields, "cpp.xml", []byte(document))
	}
	wantRefused(t, upload("", nil), "Choose a file, or paste it.")
	wantRefused(t, upload("<html/>", nil), "is no CPA, CPP or communication details")
	document := needs.File(t, "amqp", "cpa", "CPP_93238.xml")
	wantWords(t, text(upload(string(document), nil)), "Nobody here has HER-id 93238")
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		p, err := tx.AMQPParty(t.Context(), w.party)
		p.HerID = 93238
		if err != nil {
			return err
		}
		return tx.UpdateAMQPParty(t.Context(), &p)
	}))
	wantWords(t, text(upload(string(document), nil)), "this would change", "The asynchronous queue becomes", "is added", "It supports these processes too", "/processes/new?")
	w.change(t, "access.proof_age", "10m")
	w.clock.Advance(11 * time.Minute)
	take := func(her string) *http.Response {
		page := wantPage(t, w.admin.post("/admin/amqp/import/take", url.Values{"main": {her}, "text": {string(document)}}), http.StatusForbidden, "Confirm that it is you")
		form := url.Values{"proof-form": {strings.Split(match(t, `name="proof-form" value="[^"]+"`, page), `"`)[3]}, "proof-password": {testPassword}}
		answer := w.admin.post("/admin/amqp/import/take", form)
		w.clock.Advance(11 * time.Minute)
		return answer
	}
	answer := take("93238")
	wantStatus(t, answer, http.StatusSeeOther)
	wantWords(t, text(w.admin.get(answer.Header.Get("Location"))), "is taken over", "93238_async", "from a CPA or CPP", "took over the CPP for AMQP party Legekontor")
	wantStatus(t, take("93238"), http.StatusConflict)
	wantStatus(t, take("1"), http.StatusNotFound)
	wantStatus(t, take("x"), http.StatusBadRequest)
}

// A certificate below a root that is not trusted is not shown as valid: the page names the issuer and what to do.
func TestAMQPUntrustedRoot(t *testing.T) {
	t.Parallel()
	var trusted []certs.Anchor
	h := newPortalHarness(t, func(cfg *site.PortalConfig) {
		trusts := func(c *x509.Certificate, others []*x509.Certificate) bool {
			return certs.New(certs.Config{Roots: trusted, Now: time.Now}).Trusts(c, others)
		}
		cfg.AMQP = amqp.New(amqp.Config{DB: cfg.DB, Now: time.Now, Log: slog.New(slog.DiscardHandler), Node: "a", Trusts: trusts})
	})
	w := newAMQPWorldOn(t, h).filled(t)
	cert, _ := testCertificate(t, "legekontor", h.clock.Now().AddDate(1, 0, 0))
	must(h.reg.AMQP.AddCertificates(t.Context(), h.admin, w.party, cert, ""))(t)
	pages := map[*browser]string{w.admin: "/admin/amqp/parties/" + w.party, w.staff: "/partner/amqp/parties/" + w.party}
	for b, path := range pages {
		page := text(b.get(path))
		wantWords(t, page, "Root not trusted", "ends at the issuer CN=legekontor", "--amqp-trust")
		lacks(t, page, "no valid certificate")
	}
	wantWords(t, text(w.admin.get("/admin/amqp")), "ends at the issuer CN=legekontor")
	block, _ := pem.Decode([]byte(cert))
	trusted = []certs.Anchor{{Certificate: must(x509.ParseCertificate(block.Bytes))(t)}}
	for b, path := range pages {
		lacks(t, text(b.get(path)), "not trusted", "ends at the issuer")
	}
}

func TestShortTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{4 * time.Hour: "4h", 30 * time.Minute: "30m", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s"} {
		if got := webamqp.ShortTime(d); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// amqpWorld is the portal with a broker, an own party, and the party of a partner.
type amqpWorld struct {
	*portalHarness
	admin, staff    *browser
	broker          string
	own, party      string // ids
	endpoint, owner string
}

func newAMQPWorld(t *testing.T) *amqpWorld {
	t.Helper()
	return newAMQPWorldOn(t, newPortalHarness(t))
}

func newAMQPWorldOn(t *testing.T, h *portalHarness) *amqpWorld {
	t.Helper()
	w := &amqpWorld{portalHarness: h, admin: h.browser()}
	w.admin.login(t, testEmail)
	staff, who := h.at(t, "pat@example.nl")
	w.staff, w.owner = staff, who.PartnerID
	return w
}

func (w *amqpWorld) filled(t *testing.T) *amqpWorld {
	t.Helper()
	ctx := t.Context()
	b := must(w.reg.AMQP.CreateBroker(ctx, w.portalHarness.admin, registryamqp.BrokerInput{
		Name: "Exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example", SASL: store.AMQPAnonymous, Enabled: true,
	}))(t)
	own := must(w.reg.AMQP.CreateOwnParty(ctx, w.portalHarness.admin, registryamqp.PartyInput{BrokerID: b.ID, Kind: store.AMQPHealth, Name: "Chain clinic", HerID: 100, Enabled: true}))(t)
	e := must(w.reg.Endpoints.Create(ctx, w.portalHarness.admin, w.owner, partners.EndpointInput{Name: "Queues", Kind: store.EndpointAMQP}))(t)
	p := must(w.reg.AMQP.CreateCounterpart(ctx, w.portalHarness.admin, e.ID, registryamqp.PartyInput{BrokerID: b.ID, Kind: store.AMQPHealth, Name: "Legekontor", HerID: 200, Enabled: true}))(t)
	w.broker, w.own, w.party, w.endpoint = b.ID, own.ID, p.ID, e.ID
	return w
}

// message keeps a message of the counterpart, changed as a test wants.
func (w *amqpWorld) message(t *testing.T, id string, edit func(*store.AMQPMessage)) store.AMQPMessage {
	t.Helper()
	ctx := t.Context()
	m := store.AMQPMessage{
		Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPOpenMessage, OwnPartyID: w.own, PartyID: w.party, PartnerID: w.owner, OwnHer: 100,
		Her: 200, MessageID: id, MsgID: "msg-" + id, CorrelationID: "cor-" + id, Subject: "DIALOG_INNBYGGER_EKONTAKT", Queue: "200_async",
	}
	edit(&m)
	noError(t, w.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertAMQPMessage(ctx, &m); err != nil {
			return err
		}
		return tx.TraceAMQP(ctx, store.AMQPTrace{MessageID: m.ID, Step: "written", Detail: "200_async", Node: "a"})
	}))
	return m
}

func (w *amqpWorld) partyForm(pairs ...string) url.Values {
	return changed(url.Values{
		"kind": {"health"}, "name": {"Legekontor"}, "herId": {"200"}, "brokerId": {w.broker}, "answerWait": {"4h"}, "enabled": {"on"},
	}, pairs...)
}

var testRSAKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// testCertificate makes a certificate for signing and encryption, and its key, as PEM.
func testCertificate(t *testing.T, name string, until time.Time) (certificate, key string) {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(until.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: until.AddDate(-2, 0, 0), NotAfter: until,
		KeyUsage: x509.KeyUsageContentCommitment | x509.KeyUsageDataEncipherment, BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, c, c, testRSAKey().Public(), testRSAKey()))(t)
	var cert, private bytes.Buffer
	noError(t, pem.Encode(&cert, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	noError(t, pem.Encode(&private, &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(testRSAKey())}))
	return cert.String(), private.String()
}

// wantRefused checks that a form comes back with these words.
func wantRefused(t *testing.T, answer *http.Response, words ...string) {
	t.Helper()
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), words...)
}
