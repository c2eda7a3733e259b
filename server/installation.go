package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/amqp"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/registry/identity/token"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
	"schakel/web/site"
)

// How the installation is looked at while the program runs.
const (
	installationEvery = time.Minute      // between reports
	probeEvery        = time.Hour        // between looks outside
	probeTimeout      = 10 * time.Second // of all that is asked outside at one time
	probeTargets      = 5                // of how many endpoints the hosts are tried
)

// InstallationFlags hold the flags that the checks of an installation read.
type InstallationFlags struct {
	DatabaseFlags
	OrganisationFlags
	HTTPFlags
	MailFlags
	OIDCFlags
	cli.OutboundFlags
	ClientCertificateFlags
	AMQPFlags
	DeliveryFlags
	AuditFlags
}

// examiner finds the facts of an installation that the database does not have. It is safe for concurrent use.
type examiner struct {
	flags     InstallationFlags
	base      string
	client    *outbound.Client
	db        *store.DB                     // nil when it cannot be opened
	forwarded func() (site.Forwarded, bool) // nil outside the program that serves
	encrypter *jwe.Service                  // nil outside it
	issuer    *token.Issuer                 // nil outside it
	replica   *replica                      // nil outside it, and without one
	now       func() time.Time

	mu       sync.Mutex
	key      *installation.KeyFile
	address  *installation.Address
	outbound *installation.Outbound
	probedAt time.Time
}

// look finds the surroundings; again also asks for our own address and tries what is outside.
func (e *examiner) look(ctx context.Context, again bool) installation.Surroundings {
	if again {
		e.probe(ctx)
	}
	s := installation.Surroundings{
		Disk: diskFact(e.flags.Database), Replica: e.replica.fact(), Key: e.keyFact(ctx, again), TLS: tlsFact(e.flags.HTTPFlags, e.now), Files: append(fileFacts(e.flags), slices.Concat(e.receiverEnds(ctx), e.serverEnds(ctx))...),
		Clock: clockFact(), Mail: &installation.MailServer{Host: e.flags.SMTPHost}, Proxy: e.proxyFact(), Audit: e.auditFacts(ctx), Links: e.links(ctx),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.Address, s.Outbound, s.ProbedAt = e.address, e.outbound, e.probedAt
	if s.Address == nil {
		s.Address = &installation.Address{URL: e.base}
	}
	return s
}

// probe asks for our own address and tries the hosts that this installation needs.
func (e *examiner) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var address installation.Address
	var out installation.Outbound
	var both sync.WaitGroup
	both.Go(func() { address = e.askAddress(ctx) })
	both.Go(func() { out = e.tryOutside(ctx) })
	both.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.address, e.outbound, e.probedAt = &address, &out, e.now()
}

// askAddress asks the base URL for a proof that only an installation with this secret key can give. Over plain HTTP nothing is asked: the
// guard lets no such request out.
func (e *examiner) askAddress(ctx context.Context) installation.Address {
	a := installation.Address{URL: e.base}
	vault, err := e.flags.keys().OpenExisting(ctx)
	if err != nil || !strings.HasPrefix(e.base, "https://") || installation.Local(e.base) {
		return a
	}
	question := rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+installation.ReachablePath+question, nil)
	if err != nil {
		return a
	}
	a.Asked = true
	resp, err := e.client.HTTPClient().Do(req)
	if err != nil {
		a.Kind, a.Failure = outbound.Kind(err), err.Error()
		return a
	}
	defer resp.Body.Close()
	proof, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	a.Own = resp.StatusCode == http.StatusOK && vault.Proves(installation.ReachablePurpose+question, strings.TrimSpace(string(proof)))
	a.Failure = strconv.Itoa(resp.StatusCode)
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		a.From, a.Expires = resp.TLS.PeerCertificates[0].NotBefore, resp.TLS.PeerCertificates[0].NotAfter
	}
	return a
}

// tryOutside connects to the OpenID provider and the hosts of some endpoints, and sends them nothing.
func (e *examiner) tryOutside(ctx context.Context) installation.Outbound {
	var out installation.Outbound
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			out.ProxyVariable = name
			break
		}
	}
	addresses := []string{}
	addresses = append(addresses, e.flags.issuers()...)
	if e.db != nil {
		hosts, err := e.db.ActiveHosts(ctx, probeTargets)
		if err == nil { // the database is a check of its own
			addresses = append(addresses, hosts...)
		}
	}
	out.Targets = make([]installation.Target, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() {
			err := e.client.Reach(ctx, address)
			kind := outbound.Kind(err)
			if _, ok := errors.AsType[*outbound.UnlistedError](err); ok {
				kind = installation.Unlisted
			}
			out.Targets[i] = installation.Target{Host: hostOf(address), Resolved: kind != outbound.KindDNS, Reached: err == nil, Kind: kind}
		})
	}
	all.Wait()
	return out
}

// proxyFact collects the proxies that requests gave away since the program started.
func (e *examiner) proxyFact() *installation.Proxy {
	if e.forwarded == nil {
		return nil
	}
	p := &installation.Proxy{}
	for _, trusted := range e.flags.TrustedProxy {
		p.Trusted = append(p.Trusted, trusted.String())
	}
	if f, seen := e.forwarded(); seen {
		p.Seen, p.SeenAt, p.Near = f.From.String(), f.At, near(f.From)
	}
	return p
}

func near(ip netip.Addr) bool { return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() }

// diskFact is the room on the volume of an SQLite database; nil for PostgreSQL, whose disk is not ours to see.
func diskFact(database string) *installation.Disk {
	path, ok := strings.CutPrefix(database, "sqlite:")
	if !ok {
		return nil
	}
	dir := filepath.Dir(path)
	s, err := spaceOf(dir)
	if err != nil {
		return &installation.Disk{Folder: dir, Failure: err.Error()}
	}
	return &installation.Disk{Folder: dir, Free: s.Free, Size: s.Size}
}

// keyFact reads the keys as they are now, and makes none. A command is run the first time, and when somebody asks again.
func (e *examiner) keyFact(ctx context.Context, again bool) *installation.KeyFile {
	source := e.flags.keys()
	e.mu.Lock()
	known := e.key
	e.mu.Unlock()
	if known != nil && source.Command != "" && !again {
		return known
	}
	k := &installation.KeyFile{Path: source.File}
	if !source.IsFile() {
		k.Path = source.String()
	}
	vault, err := source.OpenExisting(ctx)
	if err != nil {
		k.Failure = err.Error()
	} else {
		k.Fingerprint, k.Others = vault.ID(), vault.KeyIDs()
	}
	e.mu.Lock()
	e.key = k
	e.mu.Unlock()
	return k
}

func clockFact() *installation.Clock {
	c := amqp.SystemClock()
	return &installation.Clock{Synchronised: c.Synchronised, Known: c.Known}
}

// readiness turns a finding into the answer of a Readier: a failure when it is an error, else a warning.
func readiness(f installation.Finding, found bool) error {
	switch {
	case !found:
		return nil
	case f.Severity == installation.Error:
		return f
	}
	return warning(f.Error())
}

// installationWatch is the service that reports on the installation for /readyz and /metrics.
type installationWatch struct {
	service *installation.Service
	alerts  *alerts
	log     *slog.Logger
	now     func() time.Time

	mu     sync.Mutex
	last   installation.Report
	ends   []installation.Expiry
	failed error
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (w *installationWatch) Name() string { return "installation" }

// Start implements Service. The first look is at once: the program answers at its address already.
func (w *installationWatch) Start(ctx context.Context) error {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.done.Go(func() {
		for due := w.now(); ; {
			again := !w.now().Before(due)
			if again {
				due = w.now().Add(probeEvery)
			}
			w.look(ctx, again)
			if !cli.Pause(ctx, installationEvery) {
				return
			}
		}
	})
	return nil
}

// Stop implements Service.
func (w *installationWatch) Stop(ctx context.Context) error {
	w.cancel()
	return waitFor(ctx, &w.done)
}

// look makes a report, and logs each error that is new.
func (w *installationWatch) look(ctx context.Context, again bool) {
	facts, report, err := w.service.Report(ctx, again)
	if ctx.Err() != nil {
		return
	}
	ends := facts.Expiries()
	w.mu.Lock()
	before := w.last
	if w.failed = err; err == nil {
		w.last, w.ends = report, ends
	}
	w.mu.Unlock()
	if err == nil {
		err := errors.Join(w.alerts.turn(ctx, report.Findings()), w.tellEnds(ctx, facts, ends))
		if err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "alerts wait; they are told at the next look", "error", err)
		}
	}
	known := map[string]bool{}
	for _, f := range before.Findings() {
		known[f.Code] = true
	}
	for _, f := range report.Findings() {
		if f.Severity == installation.Error && !known[f.Code] {
			w.log.WarnContext(ctx, "a check of the installation found an error", "code", f.Code, "text", f.Text.String(), "remedy", f.Remedy.String())
		}
	}
}

// Ready implements Readier: a warning that names what was found. What makes the program unready is a line of the part that cannot work.
func (w *installationWatch) Ready(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return warning(w.failed.Error())
	}
	var codes []string
	for _, f := range w.last.Findings() {
		if f.Severity != installation.Notice {
			codes = append(codes, f.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return warning(fmt.Sprintf("%s; run schakel doctor, or see /admin/installation", strings.Join(codes, ", ")))
}

// Describe implements prometheus.Collector.
func (w *installationWatch) Describe(ch chan<- *prometheus.Desc) {
	ch <- installationFinding
	ch <- expirySeconds
}

var installationFinding = prometheus.NewDesc("schakel_installation_finding", "What the checks of the installation found: 1 for each, by code.", []string{"code", "severity"}, nil)

// Collect implements prometheus.Collector.
func (w *installationWatch) Collect(ch chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	collectEnds(ch, w.ends, w.now())
	count := map[[2]string]float64{}
	for _, f := range w.last.Findings() {
		count[[2]string{f.Code, string(f.Severity)}]++
	}
	for labels, n := range count {
		ch <- prometheus.MustNewConstMetric(installationFinding, prometheus.GaugeValue, n, labels[0], labels[1])
	}
}
