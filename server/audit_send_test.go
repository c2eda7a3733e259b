package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry/audit"
	"schakel/registry/installation"
	"schakel/store"
	"schakel/store/storetest"
)

// syslogSink is a syslog server over TLS. It keeps what it reads whole, and breaks the connections that are named, by number.
type syslogSink struct {
	listener net.Listener
	roots    *x509.CertPool
	breaks   []int

	mu    sync.Mutex
	got   []int64 // places in the chain
	conns int
	wrong []string
}

func newSyslogSink(t *testing.T, breaks ...int) *syslogSink {
	t.Helper()
	certPath, keyPath := writeCertificate(t, t.TempDir(), ecKey(t), 7)
	cert, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	s := &syslogSink{listener: listener, roots: roots, breaks: breaks}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			n := s.conns
			s.mu.Unlock()
			done.Go(func() { s.read(conn, slices.Contains(s.breaks, n)) })
		}
	})
	t.Cleanup(func() { listener.Close(); done.Wait() })
	return s
}

// read reads messages behind their lengths until the end; a connection that breaks ends behind the first.
func (s *syslogSink) read(conn net.Conn, breaks bool) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		count, err := in.ReadString(' ')
		if errors.Is(err, io.EOF) && count == "" {
			return
		}
		n, failure := strconv.Atoi(strings.TrimSpace(count))
		message := make([]byte, max(n, 0))
		if _, err := io.ReadFull(in, message); err != nil || failure != nil {
			return
		}
		seq, err := audit.ReadSeq(audit.FormSyslog, message)
		s.mu.Lock()
		if s.got = append(s.got, seq); err != nil {
			s.wrong = append(s.wrong, err.Error())
		}
		s.mu.Unlock()
		if breaks {
			if c, ok := conn.(*tls.Conn); ok {
				_ = c.NetConn().(*net.TCPConn).SetLinger(0) // a reset, as of a server that dies
				_ = c.NetConn().Close()
			}
			return
		}
	}
}

func (s *syslogSink) seqs() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// auditWorld is a database with a sender of its entries.
type auditWorld struct {
	db     *store.DB
	sender *auditSender
}

func newAuditWorld(t *testing.T) auditWorld {
	t.Helper()
	db := storetest.SQLite(t)
	w := auditWorld{db: db}
	w.sender = w.other()
	return w
}

func (w auditWorld) add(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertAudit(t.Context(), store.Audit{ActorKind: "account", ActorName: "Jörg", Action: "x.done"})
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// other is another node on the same database, or the same after a restart.
func (w auditWorld) other() *auditSender {
	return &auditSender{db: w.db, log: quiet(), now: w.db.Now, leases: leases{db: w.db, log: quiet(), node: w.db.NewID("node"), lease: time.Minute, beat: time.Minute, most: 1}}
}

// Every entry goes to the syslog server in its order, over nodes and restarts; a batch whose connection the server broke goes again, and the
// installation tells that entries wait.
func TestAuditSyslog(t *testing.T) {
	t.Parallel()
	sink := newSyslogSink(t, 2)
	server := &syslogServer{address: sink.listener.Addr().String(), config: &tls.Config{RootCAs: sink.roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}, host: "here"}
	target := auditTarget{task: auditSyslogTask, to: server.address, send: server.send}
	w := newAuditWorld(t)
	look := func(s *auditSender) error { return s.look(t.Context(), target) }
	w.add(t, 3)
	if err := look(w.sender); err != nil {
		t.Fatal(err)
	}
	if err := look(w.sender); err != nil || len(sink.seqs()) != 3 {
		t.Fatalf("sent %v, %v", sink.seqs(), err)
	}
	w.add(t, 2)
	if err := look(w.other()); err == nil {
		t.Fatal("a broken connection is no failure")
	}
	facts := (&examiner{db: w.db, flags: InstallationFlags{AuditFlags: AuditFlags{AuditSyslog: server.address}}}).auditFacts(t.Context())
	if len(facts) != 1 || facts[0].Waiting != 2 || facts[0].To != server.address || facts[0].Failure == "" || facts[0].Since.IsZero() {
		t.Errorf("facts %+v", facts)
	}
	late := installation.Judge(&installation.Facts{Now: facts[0].Since.Add(6 * time.Minute), Surroundings: installation.Surroundings{Audit: facts}}).Findings()
	if len(late) != 1 || late[0].Code != "audit-behind" || !strings.Contains(late[0].Text.String(), "2 entries wait") {
		t.Errorf("findings %v", late)
	}
	if soon := installation.Judge(&installation.Facts{Now: facts[0].Since.Add(time.Minute), Surroundings: installation.Surroundings{Audit: facts}}).Findings(); len(soon) != 0 {
		t.Errorf("told at once: %v", soon)
	}
	if err := look(w.other()); err != nil || len(sink.seqs()) != 4 {
		t.Errorf("sent %v right after a failure, %v", sink.seqs(), err)
	}
	rested := w.other()
	rested.now = func() time.Time { return w.db.Now().Add(auditSendRest) }
	if err := look(rested); err != nil {
		t.Fatal(err)
	}
	if got := sink.seqs(); !slices.Equal(got, []int64{1, 2, 3, 4, 4, 5}) || len(sink.wrong) > 0 {
		t.Errorf("the server read %v, wrong %v", got, sink.wrong)
	}
	stranger := &syslogServer{address: server.address, config: &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12}}
	if err := stranger.send(t.Context(), []audit.Line{{}}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server without a known certificate got entries: %v", err)
	}
}

// Subscribers get what comes after the events were turned on, each entry as an event of the own organisation that fits its description.
func TestAuditEvents(t *testing.T) {
	t.Parallel()
	var got []outbox.Submission
	e := auditEvents{base: "https://schakel.example", accept: func(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
		got = append(got, s)
		return outbox.Receipt{}, nil
	}}
	target := auditTarget{task: auditEventsTask, to: audit.EventType, fromNow: true}
	w := newAuditWorld(t)
	e.db = w.db
	target.send = e.send
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertPartner(t.Context(), &store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved})
	}); err != nil {
		t.Fatal(err)
	}
	w.add(t, 2)
	if err := w.sender.look(t.Context(), target); err != nil || len(got) != 0 {
		t.Fatalf("events of what was there before: %v, %v", got, err)
	}
	w.add(t, 2)
	if err := w.other().look(t.Context(), target); err != nil || len(got) != 2 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	ev := got[1].Events[0]
	var data audit.Line
	if err := json.Unmarshal(ev.Data, &data); err != nil || data.Seq != 4 || ev.ID != data.ID || ev.Type != audit.EventType || got[1].Audience != store.OnlyFor() || !got[1].FromOwn {
		t.Errorf("event %+v, data %+v, %v", ev, data, err)
	}
}

func TestAuditFlags(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"": "", "logs.example.nl:6514": "", "tcp://127.0.0.1:601": "", "tcp://localhost:601": "",
		"logs.example.nl": "not HOST:PORT", "tcp://logs.example.nl:601": "without TLS", "logs.example.nl:0": "no port", ":6514": "not HOST:PORT",
	} {
		err := AuditFlags{AuditSyslog: flag}.CheckFlags()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", flag, err, want)
		}
	}
}
