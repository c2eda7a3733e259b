package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"schakel/delivery/filter"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/pgserver"
)

// house holds what the scenarios of a run share.
type house struct {
	options
	pki      *trial.PKI
	roots    *x509.CertPool
	naming   naming
	postgres *postgres // nil when there is none
	made     int       // databases so far
}

// newHouse prepares a run; t is for the whole of it.
func newHouse(t trial.T, o options, needsPostgres bool) *house {
	h := &house{options: o, pki: trial.NewPKI(t), roots: x509.NewCertPool(), naming: newNaming()}
	raw, err := os.ReadFile(h.pki.CAFile)
	trial.Must(t, err)
	h.roots.AppendCertsFromPEM(raw)
	if h.Binary == "" {
		h.Binary = filepath.Join(t.TempDir(), "schakel")
		if out, err := exec.Command("go", "build", "-tags", "netgo", "-o", h.Binary, "schakel/server").CombinedOutput(); err != nil {
			t.Fatalf("build the program: %v\n%s", err, out)
		}
	}
	switch {
	case !needsPostgres:
	case o.Postgres != "":
		h.postgres = &postgres{url: o.Postgres}
	default:
		if h.postgres, err = startPostgres(t, o.Scratch); err != nil {
			t.Logf("scenarios on PostgreSQL are left out: %v", err)
		}
	}
	return h
}

// database makes an empty one for a scenario.
func (h *house) database(t trial.T, onPostgres bool) string {
	t.Helper()
	if !onPostgres {
		return trial.SQLitePath(t)
	}
	h.made++
	return h.postgres.database(t, fmt.Sprintf("schakel_load_%d_%d", os.Getpid(), h.made))
}

// stage is one scenario while it is played.
type stage struct {
	trial.T
	*house
	plan      scenario
	receiver  *receiver
	nodes     []*trial.Program
	endpoints []string // ids
	creds     demo.Credentials
	token     string // to publish with
}

// newStage starts the receiver, and the programs between it and what publishes.
func newStage(t trial.T, h *house, plan scenario) *stage {
	s := &stage{T: t, house: h, plan: plan, token: receiverToken}
	var config *tls.Config
	if plan.tls {
		config = &tls.Config{Certificates: []tls.Certificate{h.pki.Cert}, NextProtos: []string{"http/1.1"}}
	}
	var err error
	receive := anyPort
	if plan.peer {
		receive = h.Receive
	}
	s.receiver, err = startReceiver(h.naming, plan.endpoints, receive, plan.tokens, config)
	trial.Must(t, err)
	t.Cleanup(s.receiver.close)
	if plan.nodes == 0 {
		return s
	}
	database := h.database(t, plan.postgres)
	for range plan.nodes {
		s.nodes = append(s.nodes, s.newNode(database))
	}
	s.creds = s.agree()
	if plan.closed {
		s.pause(0, true)
	}
	for _, n := range s.nodes {
		n.Start(t)
	}
	s.token = s.nodes[0].Token(t, s.creds, identity.ScopeEventsPublish)
	return s
}

// newNode makes a program that is not started. All nodes are known to others by the address of the first.
func (s *stage) newNode(database string) *trial.Program {
	n := trial.NewProgram(s, s.pki, demo.OwnA(), database)
	n.Checked = true // as a chain has it
	n.Binary = s.Binary
	listen, admin := host(s, n.Base), host(s, n.Admin)
	n.Base = "http://" + listen
	if s.plan.tls {
		n.Base = "https://" + listen
	}
	base := n.Base
	if len(s.nodes) > 0 {
		base, n.SecretKey = s.nodes[0].Base, s.nodes[0].SecretKey
	}
	n.Args = []string{
		"serve", "--addr", listen, "--admin-addr", admin, "--base-url", base, "--database", database, "--secret-key-file", n.SecretKey,
		"--organisation", n.Own.Name, "--oin", n.Own.OIN(), "--ca-file", s.pki.CAFile, "--log-level", "warn",
		"--allow-outbound", "127.0.0.0/8", "--allow-outbound", "::1/128", "--plain-http-loopback",
		"--max-batch-events", strconv.Itoa(max(100, s.Batch)), "--max-batch-bytes", strconv.Itoa(max(1<<20, s.Batch*2*eventBytes)),
	}
	if s.plan.tls {
		n.Args = append(n.Args, "--tls-cert", s.pki.CertFile, "--tls-key", s.pki.KeyFile)
	}
	return n
}

func host(t trial.T, address string) string {
	t.Helper()
	return trial.Must1[*url.URL](t)(url.Parse(address)).Host
}

// ledgerPlaces sets the capacity of a ledger, in events: more than any machine takes in ten minutes. Memory is only
// taken for what is used.
const ledgerPlaces = 1 << 26

// newLedger opens ledger n; nil spreads its events evenly over the endpoints.
func (s *stage) newLedger(n int, route func(place int) int) *ledger {
	if route == nil {
		route = func(place int) int { return place % s.plan.endpoints }
	}
	l := newLedger(ledgerPlaces, route)
	s.receiver.ledgers[n].Store(l)
	return l
}

// newFeed makes what publishes the events of ledger n, batch at a time; with no programs it posts straight to the
// receiver, or to a relay.
func (s *stage) newFeed(n int, l *ledger, batch int) *feed {
	f := &feed{connections: s.Connected, batch: batch, ledger: l}
	path, hosts := "/events/v1/events", []string(nil)
	for _, node := range s.nodes {
		hosts = append(hosts, host(s, node.Base))
	}
	headers := []string{"Authorization: Bearer " + s.token}
	switch {
	case s.plan.peer:
		peer := trial.Must1[*url.URL](s)(url.Parse(s.Peer))
		path, hosts, headers, f.anyOf2xx = peer.RequestURI(), []string{peer.Host}, s.PeerHeader, true
	case s.plan.between:
		path, hosts = "/events", []string{s.startRelay()}
	case s.plan.nodes == 0:
		path, hosts = "/events", s.receiver.hosts[:1]
	}
	for _, h := range hosts {
		to := target{addr: h}
		if s.plan.tls {
			to.tls = &tls.Config{RootCAs: s.roots, ServerName: "localhost", NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
		}
		f.targets = append(f.targets, to)
	}
	f.request = func(to target) *request { return s.naming.newRequest(n, batch, to.addr, path, headers...) }
	return f
}

// measure reads what was used until now.
func (s *stage) measure() usage {
	s.Helper()
	var pids []int
	for _, n := range s.nodes {
		pids = append(pids, n.PID())
	}
	postmaster := 0
	if s.plan.postgres {
		postmaster = s.postgres.pid
	}
	return trial.Must1[usage](s)(measure(pids, postmaster))
}

// maxConcurrency of an endpoint: how many requests to it may be under way at once. It is the most that can be chosen.
const maxConcurrency = 64

// agree makes, before the programs start, what is agreed: the contract, a client that publishes, and an approved
// subscription for each endpoint of the receiver, which gets the events with its own subject. It gives the client.
func (s *stage) agree() (creds demo.Credentials) {
	s.nodes[0].SetUp(s, func(c *demo.Chain) {
		ctx := s.Context()
		trial.Must(s, demo.PublishContracts(ctx, c.Services, c.Admin))
		if s.plan.encrypted {
			now := trial.Must1[*profile.ProfileState](s)(c.Profile.Load(ctx))
			values := now.Values()
			values["data.encryption"] = registry.PolicyOn
			_, _, err := c.Profile.Save(ctx, c.Admin, profile.ProfileChange{Version: now.Version, Values: values})
			trial.Must(s, err)
		}
		creds = trial.Must1[demo.Credentials](s)(c.Publisher(ctx, c.Admin, s.nodes[0].Own, identity.ScopeEventsConsume))
		for i := range s.plan.endpoints {
			endpoint := trial.Must1[store.Endpoint](s)(c.Endpoints.Create(ctx, c.Admin, "", s.endpoint(i)))
			request := partners.SubscriptionRequest{
				EndpointID: endpoint.ID, Types: []string{demo.TypeEnrolled}, Purpose: "Measure how fast events arrive.",
			}
			if s.plan.endpoints > 1 {
				request.Filters = "[" + filter.Simple{Attribute: "subject", Dialect: "exact", Text: subject(i)}.JSON() + "]"
			}
			sub := trial.Must1[store.Subscription](s)(c.Subscriptions.Request(ctx, c.Admin, request))
			trial.Must(s, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
			s.endpoints = append(s.endpoints, endpoint.ID)
		}
	})
	return creds
}

// endpoint describes endpoint i of the receiver.
func (s *stage) endpoint(i int) partners.EndpointInput {
	in := partners.EndpointInput{
		Name: "Endpoint " + subject(i), Kind: store.EndpointWebhook, URL: s.receiver.url(i, "/events"),
		TokenAuthMethod: registry.TokenAuthNone, MaxConcurrency: maxConcurrency, TimeoutSeconds: 10,
	}
	if s.plan.batchOut > 0 {
		in.BatchEvents, in.BatchStated = int64(s.plan.batchOut), true
	}
	if s.plan.tokens {
		in.TokenURL, in.TokenAuthMethod = s.receiver.url(i, "/token"), token.ClientSecretBasic
		in.TokenClientID, in.TokenSecret = "load", "secret of the receiver"
	}
	return in
}

// pause closes an endpoint, or opens it again, as its partner does in the portal.
func (s *stage) pause(endpoint int, closed bool) {
	s.nodes[0].SetUp(s, func(c *demo.Chain) {
		if closed {
			trial.Must(s, c.Endpoints.Pause(s.Context(), c.Admin, s.endpoints[endpoint], "A measurement."))
			return
		}
		trial.Must(s, c.Endpoints.Resume(s.Context(), c.Admin, s.endpoints[endpoint]))
	})
}

// errNoPostgres is why the scenarios on PostgreSQL are left out.
var errNoPostgres = errors.New("no PostgreSQL programs (initdb, postgres) are installed, and --postgres names no server")

// postgres is a server on which each scenario gets a database of its own.
type postgres struct {
	url string // of a database that is there
	pid int    // 0 when the server is not ours
}

// startPostgres runs a private server that writes to disk before it answers, as one in use does. It listens on a Unix
// socket in its folder and nowhere else.
func startPostgres(t trial.T, scratch string) (*postgres, error) {
	private, err := pgserver.New(scratch)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		return nil, errNoPostgres
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(private.Dir) })
	if err := private.Init(); err != nil {
		return nil, err
	}
	server := private.Postgres("listen_addresses=", "max_connections=300", "shared_buffers=256MB")
	output := &trial.Log{}
	server.Stdout, server.Stderr = output, output
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = server.Wait()
	})
	address := url.URL{Scheme: "postgres", User: url.User(pgserver.Superuser), Path: "/postgres", RawQuery: url.Values{"host": {private.Dir}}.Encode()}
	p := &postgres{url: address.String(), pid: server.Process.Pid}
	if err := p.await(t.Context()); err != nil {
		return nil, fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, output.Tail())
	}
	return p, nil
}

// await returns when the server takes connections.
func (p *postgres) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trial.Patience)
	defer cancel()
	for {
		err := p.do(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		rest(ctx, 50*time.Millisecond)
	}
}

// database makes a database that is dropped at the end, and names it.
func (p *postgres) database(t trial.T, name string) string {
	t.Helper()
	trial.Must(t, p.do(t.Context(), "CREATE DATABASE "+name))
	t.Cleanup(func() {
		if err := p.do(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	u, err := url.Parse(p.url)
	trial.Must(t, err)
	u.Path = "/" + name
	return u.String()
}

func (p *postgres) do(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", p.url)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}
