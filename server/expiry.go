package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/store"
	"schakel/templates/i18n"
)

// fileFacts lists the certificates in the files that flags name, but for our own.
func fileFacts(f InstallationFlags) []installation.Expiry {
	list := trustFiles(f)
	if f.TLSCert != "" {
		list = append(list, chainFile(f.TLSCert, 1)...)
	}
	if f.AdminTLSCert != "" && f.AdminTLSCert != f.TLSCert {
		list = append(list, chainFile(f.AdminTLSCert, 0)...)
	}
	if f.OutboundCertificate != "" {
		list = append(list, clientFile(f.OutboundCertificate, installation.ExpiryOutbound, "installation.expiry.outbound-remedy")...)
	}
	if f.SMTPCertificate != "" {
		list = append(list, clientFile(f.SMTPCertificate, installation.ExpiryMail, "installation.expiry.mail-remedy")...)
	}
	return append(list, databaseFiles(f.Database)...)
}

// clientFile is a client certificate of the organisation.
func clientFile(path, kind string, remedy i18n.Message) []installation.Expiry {
	text, err := os.ReadFile(path)
	found := installation.CertificatesIn(text)
	if err != nil || len(found) == 0 {
		return nil // the program does not start without
	}
	return []installation.Expiry{{
		Kind: kind, ID: path, What: i18n.M("installation.expiry.outbound", path), From: found[0].NotBefore, Until: found[0].NotAfter, Severe: true, Remedy: remedy,
	}}
}

// tlsFact reads the certificate of --tls-cert; nil without one.
func tlsFact(f HTTPFlags, now func() time.Time) *installation.Certificate {
	if f.TLSCert == "" {
		return nil
	}
	c := &installation.Certificate{Path: f.TLSCert}
	file, err := loadCertificate(f.TLSCert, f.TLSKey, now)
	if err != nil {
		c.Failure = err.Error()
		return c
	}
	leaf := file.leaf()
	c.From, c.Expires, c.Level = leaf.NotBefore, leaf.NotAfter, certificateLevel(leaf)
	return c
}

// trustFiles lists the certificates that others are held against, in the files of flags.
func trustFiles(f InstallationFlags) (list []installation.Expiry) {
	paths := append([]string{f.CAFile, f.AMQPTrust, f.SMTPCA}, f.ClientCA...)
	seen := map[string]bool{"": true}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the part that needs it says so
		}
		for _, c := range installation.CertificatesIn(text) {
			list = append(list, installation.Expiry{
				Kind: installation.ExpiryTrust, ID: installation.Fingerprint(c), What: i18n.M("installation.expiry.trust", c.Subject.String(), path),
				From: c.NotBefore, Until: c.NotAfter, Remedy: "installation.expiry.trust-remedy",
			})
		}
	}
	return list
}

// chainFile lists the certificates in a file of a listener, from a place on: that of --tls-cert itself has a check of its own.
func chainFile(path string, first int) (list []installation.Expiry) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // the check of that file says so
	}
	for i, c := range installation.CertificatesIn(text) {
		if i < first {
			continue
		}
		list = append(list, installation.Expiry{
			Kind: installation.ExpiryChain, ID: installation.Fingerprint(c), What: i18n.M("installation.expiry.trust", c.Subject.String(), path),
			From: c.NotBefore, Until: c.NotAfter, Severe: true, Remedy: "installation.certificate.file-remedy",
		})
	}
	return list
}

// databaseFiles lists the certificates in the files that the address of PostgreSQL names.
func databaseFiles(database string) (list []installation.Expiry) {
	u, err := url.Parse(database)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil
	}
	for _, name := range []string{"sslcert", "sslrootcert"} {
		path := u.Query().Get(name)
		text, err := os.ReadFile(path)
		if err != nil {
			continue // "system" is no file, and without one that is needed nothing starts
		}
		for _, c := range installation.CertificatesIn(text) {
			list = append(list, installation.Expiry{
				Kind: installation.ExpiryDatabase, ID: name + " " + installation.Fingerprint(c), What: i18n.M("installation.expiry.trust", c.Subject.String(), path),
				From: c.NotBefore, Until: c.NotAfter, Severe: true, Remedy: "installation.expiry.database-remedy",
			})
		}
	}
	return list
}

// tellEnds tells of ends, unless the tables are of another version: then those in the database are not known.
func (w *installationWatch) tellEnds(ctx context.Context, facts installation.Facts, ends []installation.Expiry) error {
	if facts.Database == nil || facts.Database.Current != facts.Database.Target {
		return nil
	}
	return w.alerts.ends(ctx, ends)
}

// ends tells people and subscribers of certificates and keys that end: once for each threshold, whichever node sees it first, and once that one was
// renewed. It follows the order of [alerts.turn]: events first, under ids that are the same each time, then mails with what notes them.
func (a *alerts) ends(ctx context.Context, list []installation.Expiry) error {
	if a.flags.AlertAfter == 0 {
		return nil
	}
	notices, err := a.db.ExpiryNotices(ctx)
	if err != nil {
		return err
	}
	now := a.now()
	due := newlyDue(list, notices, now)
	over := overNow(list, notices)
	for _, d := range due {
		a.tellEnd(ctx, alertRaisedType, d.notice, now)
	}
	for _, n := range over {
		a.tellEnd(ctx, alertEndedType, n, now)
	}
	if len(due)+len(over) == 0 {
		return nil
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		var tell []mail.Ending
		for _, d := range due {
			first, err := tx.NoteExpiry(ctx, d.notice)
			if err != nil {
				return err
			}
			if first {
				e := d.expiry
				tell = append(tell, mail.Ending{Text: e.Text(now), Remedy: e.Remedy, PartnerID: e.PartnerID, Href: e.Href, PartnerHref: e.PartnerHref})
			}
		}
		for _, n := range over {
			if err := tx.EndExpiry(ctx, n.Item, n.Until); err != nil {
				return err
			}
		}
		return a.mails.Endings(ctx, tx, tell)
	})
}

// dueEnd is something that people are to be told of, and what is noted then.
type dueEnd struct {
	expiry installation.Expiry
	notice store.ExpiryNotice
}

// newlyDue lists what passed a threshold that nobody was told of.
func newlyDue(list []installation.Expiry, notices []store.ExpiryNotice, now time.Time) (due []dueEnd) {
	type key struct {
		item  string
		until int64
	}
	told := map[key]int64{}
	for _, n := range notices {
		told[key{n.Item, n.Until.UnixMicro()}] = n.Days
	}
	for _, e := range list {
		days, is := e.Due(now)
		if !is {
			continue
		}
		at := store.At(e.Until)
		before, known := told[key{e.Item(), at.UnixMicro()}]
		if known && before <= int64(days) {
			continue
		}
		code := installation.CodeExpires
		if days == 0 {
			code = installation.CodeExpired
		}
		due = append(due, dueEnd{e, store.ExpiryNotice{
			Item: e.Item(), Until: at, Days: int64(days), ToldAt: store.At(now), Code: code, Text: e.Text(now).String(), Remedy: e.Remedy.String(),
		}})
	}
	return due
}

// overNow lists what people were told of and is over: the same has a later end now, or is gone from the database.
func overNow(list []installation.Expiry, notices []store.ExpiryNotice) (over []store.ExpiryNotice) {
	latest, found := map[string]store.Time{}, map[string]bool{}
	gone := map[string]bool{}
	for _, kind := range installation.StoredKinds() {
		gone[kind] = true
	}
	for _, e := range list {
		item := e.Item()
		found[item] = true
		if until := store.At(e.Until); until.After(latest[item].Time) {
			latest[item] = until
		}
	}
	for _, n := range notices {
		if n.EndedAt.IsZero() && (latest[n.Item].After(n.Until.Time) || !found[n.Item] && gone[installation.KindOf(n.Item)]) {
			over = append(over, n)
		}
	}
	return over
}

// tellEnd hands an event to the engine, for subscribers of the own organisation alone.
func (a *alerts) tellEnd(ctx context.Context, kind string, n store.ExpiryNotice, now time.Time) {
	sum := sha256.Sum256([]byte(n.Item))
	severity := installation.Warning
	if n.Days == 0 {
		severity = installation.Error
	}
	err := a.hand(ctx, map[string]any{
		"id":   fmt.Sprintf("%s-%s-%d-%d", kind, hex.EncodeToString(sum[:8]), n.Until.Unix(), n.Days),
		"type": kind, "subject": n.Code, "partitionkey": n.Code, "time": now.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": alertData{Code: n.Code, Severity: severity, Text: n.Text, Remedy: n.Remedy, Since: n.ToldAt, Ends: n.Until},
	})
	if err != nil {
		a.log.WarnContext(ctx, "an alert is not told as an event", "code", n.Code, "error", err)
	}
}

// mostEnds bounds the series of the metric; the first to end are among them.
const mostEnds = 1000

var expirySeconds = prometheus.NewDesc("schakel_expiry_seconds",
	"Seconds until a certificate or key ends, ours or of a partner; negative after its end. The first 1000 to end.", []string{"kind", "id", "what"}, nil)

// collectEnds gives the seconds until each certificate and key ends, the next end of what has several.
func collectEnds(ch chan<- prometheus.Metric, list []installation.Expiry, now time.Time) {
	seen := map[string]bool{}
	for _, e := range list {
		if seen[e.Item()] || len(seen) == mostEnds {
			continue
		}
		seen[e.Item()] = true
		ch <- prometheus.MustNewConstMetric(expirySeconds, prometheus.GaugeValue, e.Until.Sub(now).Seconds(), e.Kind, e.ID, e.What.String())
	}
}
