package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/server/release"
	"schakel/store"
)

// DoctorCmd checks an installation, whether it runs or not.
type DoctorCmd struct {
	InstallationFlags

	JSON    bool `name:"json" env:"-" help:"Print JSON, for scripts."`
	Offline bool `env:"-" help:"Ask nobody outside: leave out whether the base URL leads here and whether others can be reached."`
}

// Help is shown with --help.
func (c *DoctorCmd) Help() string {
	return "Give it the flags or environment that schakel serve gets: the checks are those of the installation page and of /readyz. " +
		"It changes nothing. Exit code 1 means that there is at least one error; warnings and notices leave it 0."
}

// doctorAnswer bounds the time that the running program may take for an answer.
const doctorAnswer = 5 * time.Second

// Run gathers the facts, judges them and prints what was found.
func (c *DoctorCmd) Run(ctx context.Context, streams cli.Streams) error {
	base, err := c.baseURL()
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	e := &examiner{flags: c.InstallationFlags, base: base.String(), client: client, now: cli.Clock}
	facts := installation.Facts{Now: cli.Clock()}
	running := askRunning(ctx, c.AdminAddr, c.AdminTLSCert)
	db, err := openAsIs(ctx, c.Database)
	if err == nil {
		defer db.Close()
		e.db = db
		err = installation.Gather(ctx, db, &facts)
	}
	if err != nil {
		facts.Database = &installation.Database{Failure: err.Error()}
	}
	facts.Surroundings = e.look(ctx, !c.Offline)
	facts.Running = running
	if !running.Answered { // nobody is there to answer at the base URL
		facts.Address = &installation.Address{URL: e.base}
	}
	report := installation.Judge(&facts)
	if c.JSON {
		err = printReport(streams.Out, report)
	} else {
		err = writeReport(streams.Out, cmp.Or(facts.Address.URL, e.base), report)
	}
	if n := report.Count(installation.Error); err == nil && n > 0 {
		return &cli.ExitError{Code: cli.ExitFailed, Err: errors.New(cli.Plural(int64(n), "error", "errors") + " found")}
	}
	return err
}

// openAsIs opens a database that is there, and changes nothing in it.
func openAsIs(ctx context.Context, database string) (*store.DB, error) {
	if err := existing(database); err != nil {
		return nil, err
	}
	return store.Open(ctx, database, store.Options{Now: cli.Clock})
}

// askRunning asks the program that runs here how it is, over TLS when it has a certificate for that.
func askRunning(ctx context.Context, addr, certificate string) *installation.Running {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return &installation.Running{Addr: addr}
	}
	r := &installation.Running{Addr: net.JoinHostPort(cmp.Or(host, "localhost"), port)}
	ctx, cancel := context.WithTimeout(ctx, doctorAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addr+"/readyz", nil)
	if err != nil {
		return r
	}
	client := &http.Client{}
	if text, err := os.ReadFile(certificate); err == nil {
		// The program shows this certificate or none that counts, under the name that is in it and not that of the address.
		if found := installation.CertificatesIn(text); len(found) > 0 {
			roots := x509.NewCertPool()
			roots.AddCert(found[0])
			req.URL.Scheme = "https"
			client.Transport = &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: nameIn(found[0])}}
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return r
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return r
	}
	r.Answered = true
	for line := range strings.Lines(string(body)) {
		if strings.Contains(line, " failed: ") {
			r.Troubles = append(r.Troubles, strings.TrimSpace(line))
		}
	}
	return r
}

// nameIn gives a name or an address that a certificate is for.
func nameIn(c *x509.Certificate) string {
	for _, ip := range c.IPAddresses {
		return ip.String()
	}
	for _, name := range c.DNSNames {
		return strings.Replace(name, "*", "x", 1)
	}
	return ""
}

// jsonFinding and jsonCheck are the form of --json.
type jsonFinding struct {
	Code     string                `json:"code"`
	Severity installation.Severity `json:"severity"`
	Text     string                `json:"text"`
	Remedy   string                `json:"remedy"`
}

type jsonCheck struct {
	Check    string             `json:"check"`
	State    installation.State `json:"state"`
	Findings []jsonFinding      `json:"findings"`
}

func printReport(w io.Writer, report installation.Report) error {
	out := struct {
		Version  string      `json:"version"`
		Errors   int         `json:"errors"`
		Warnings int         `json:"warnings"`
		Checks   []jsonCheck `json:"checks"`
	}{Version: release.Current().Version, Errors: report.Count(installation.Error), Warnings: report.Count(installation.Warning)}
	for _, r := range report {
		check := jsonCheck{Check: r.Check, State: r.State, Findings: []jsonFinding{}}
		for _, f := range r.Findings {
			check.Findings = append(check.Findings, jsonFinding{f.Code, f.Severity, f.Text.String(), f.Remedy.String()})
		}
		out.Checks = append(out.Checks, check)
	}
	return cli.PrintJSON(w, out)
}

// writeReport prints a line for each check, and below it what was found and what to do.
func writeReport(w io.Writer, base string, report installation.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Schakel %s at %s\n\n", release.Current().Version, base)
	for _, r := range report {
		fmt.Fprintf(&b, "%-8s %s\n", r.State, r.Title)
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "         %s (%s)\n         %s\n", f.Text, f.Code, f.Remedy)
		}
	}
	fmt.Fprintf(&b, "\n%s, %s, %s\n", cli.Plural(int64(report.Count(installation.Error)), "error", "errors"),
		cli.Plural(int64(report.Count(installation.Warning)), "warning", "warnings"), cli.Plural(int64(report.Count(installation.Notice)), "notice", "notices"))
	_, err := io.WriteString(w, b.String())
	return err
}

// hostOf is the host of an address, with its port; the address itself when it cannot be read.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
