package installation

import (
	"strings"
	"testing"
	"time"

	"schakel/store"
)

var now = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// sound are the facts of an installation without any problem.
func sound() *Facts {
	return &Facts{
		Now: now,
		Surroundings: Surroundings{
			Running: &Running{Addr: "localhost:8090", Answered: true},
			Disk:    &Disk{Folder: "/data", Free: 50 << 30, Size: 100 << 30},
			Key:     &KeyFile{Path: "/data/k", Fingerprint: "abcd"},
			Address: &Address{URL: "https://events.example.nl", Asked: true, Own: true, Expires: now.Add(60 * 24 * time.Hour)},
			Proxy:   &Proxy{},
			TLS:     &Certificate{Path: "/tls.pem", Expires: now.Add(90 * 24 * time.Hour), Level: "good"},
			Clock:   &Clock{Known: true, Synchronised: true},
			Outbound: &Outbound{Targets: []Target{
				{Host: "a.example", Resolved: true, Reached: true}, {Host: "b.example", Kind: Blocked, Resolved: true},
			}},
			Mail: &MailServer{Host: "smtp.example.nl"},
		},
		Database:       &Database{Engine: store.Engine{Dialect: store.SQLite, Synchronous: 2, Journal: "wal"}, Current: 5, Target: 5},
		Mails:          []store.Mail{{Status: store.MailPending}, {Status: store.MailSent}, {Status: store.MailFailed, CreatedAt: store.At(now)}},
		Backup:         &Record{At: now.Add(-24 * time.Hour)},
		KeyBackup:      &Record{At: now, KeyID: "abcd"},
		StoredKey:      "abcd",
		Newest:         now,
		Answers:        []Answer{{Host: "a.example", Told: now.Add(-2 * time.Second), Got: now}},
		Administrators: []Administrator{{Email: "b@example.nl"}, {Email: "a@example.nl", Confirmed: true}},
	}
}

func TestSoundInstallation(t *testing.T) {
	t.Parallel()
	for _, r := range Judge(sound()) {
		if r.State != OK || len(r.Findings) > 0 {
			t.Errorf("%s is %s: %v", r.Check, r.State, r.Findings)
		}
	}
}

// Facts that were not gathered are unknown, and never fine.
func TestUnknownFacts(t *testing.T) {
	t.Parallel()
	for _, r := range Judge(&Facts{Now: now}) {
		if r.State != Unknown {
			t.Errorf("%s is %s without facts", r.Check, r.State)
		}
	}
}

func postgres(f *Facts) *Database {
	f.Database = &Database{Engine: store.Engine{
		Dialect: store.Postgres, Version: "16.4", Major: 16, Clock: now, SynchronousCommit: "on", Fsync: "on", FullPageWrites: "on",
	}, Current: 5, Target: 5}
	return f.Database
}

// Every problem is found when its facts change: alone, with its severity and a remedy.
func TestEveryProblem(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		severity Severity
		change   func(f *Facts)
	}{
		"running-no":                  {Notice, func(f *Facts) { f.Running.Answered = false }},
		"running-unready":             {Error, func(f *Facts) { f.Running.Troubles = []string{"engine failed: no"} }},
		"database-unavailable":        {Error, func(f *Facts) { f.Database = &Database{Failure: "away"} }},
		"database-pending":            {Error, func(f *Facts) { f.Database.Current = 4 }},
		"database-newer":              {Error, func(f *Facts) { f.Database.Current = 6 }},
		"database-synchronous":        {Error, func(f *Facts) { f.Database.Synchronous = 1 }},
		"database-journal":            {Error, func(f *Facts) { f.Database.Journal = "delete" }},
		"database-fsync":              {Error, func(f *Facts) { postgres(f).Fsync = "off" }},
		"database-full-page-writes":   {Error, func(f *Facts) { postgres(f).FullPageWrites = "off" }},
		"database-synchronous-commit": {Error, func(f *Facts) { postgres(f).SynchronousCommit = "off" }},
		"database-pooler-settings":    {Warning, func(f *Facts) { postgres(f).Untuned = true }},
		"database-version":            {Warning, func(f *Facts) { postgres(f).Major = 13 }},
		"disk-full":                   {Error, func(f *Facts) { f.Disk.Free = 1 << 20 }},
		"disk-low":                    {Warning, func(f *Facts) { f.Disk.Free = 4 << 30 }},
		"disk-unknown":                {Warning, func(f *Facts) { f.Disk.Failure = "no such folder" }},
		"backup-never":                {Warning, func(f *Facts) { f.Backup = nil }},
		"backup-old":                  {Warning, func(f *Facts) { f.Backup.At = now.Add(-BackupEvery - time.Second) }},
		"key-unusable":                {Error, func(f *Facts) { f.Key.Failure = "others can read it; run: chmod 600" }},
		"key-other":                   {Error, func(f *Facts) { f.Key.Fingerprint = "eeee" }},
		"key-no-backup":               {Warning, func(f *Facts) { f.KeyBackup = nil }},
		"key-changed":                 {Warning, func(f *Facts) { f.KeyBackup.KeyID = "old" }},
		"address-local":               {Warning, func(f *Facts) { f.Address = &Address{URL: "http://localhost:8080"} }},
		"address-plain":               {Error, func(f *Facts) { f.Address = &Address{URL: "http://events.example.nl"} }},
		"address-private":             {Notice, func(f *Facts) { f.Address.Kind = Blocked }},
		"address-unreachable":         {Error, func(f *Facts) { f.Address.Kind = "tls" }},
		"address-other":               {Error, func(f *Facts) { f.Address.Own, f.Address.Failure = false, "404" }},
		"proxy-untrusted":             {Warning, func(f *Facts) { f.Proxy.Seen, f.Proxy.Near = "10.0.0.5", true }},
		"proxy-forged":                {Notice, func(f *Facts) { f.Proxy.Seen = "203.0.113.9" }},
		"certificate-expired":         {Error, func(f *Facts) { f.TLS.Expires = now }},
		"certificate-soon": {Warning, func(f *Facts) {
			f.Ends = []Expiry{{Kind: ExpiryParty, ID: "amp_1:sign", What: "x", Remedy: "y", Until: now.Add(20 * 24 * time.Hour)}}
		}},
		"certificate-unusable":     {Error, func(f *Facts) { f.TLS.Failure = "no PEM" }},
		"certificate-phase-out":    {Warning, func(f *Facts) { f.TLS.Level = "phase-out" }},
		"certificate-insufficient": {Error, func(f *Facts) { f.TLS.Level = "insufficient" }},
		"clock-database":           {Warning, func(f *Facts) { postgres(f).Clock = now.Add(time.Minute) }},
		"clock-outside":            {Error, func(f *Facts) { f.Answers[0].Told = now.Add(-6 * time.Minute) }},
		"clock-behind":             {Error, func(f *Facts) { f.Newest = now.Add(2 * time.Minute) }},
		"clock-unsynchronised":     {Warning, func(f *Facts) { f.Clock.Synchronised = false }},
		"outbound-dns":             {Error, func(f *Facts) { f.Outbound.Targets[1] = Target{Host: "b.example", Kind: "dns"} }},
		"outbound-unreachable":     {Warning, func(f *Facts) { f.Outbound.Targets[1] = Target{Host: "b.example", Resolved: true, Kind: "timeout"} }},
		"outbound-unlisted":        {Warning, func(f *Facts) { f.Outbound.Targets[1] = Target{Host: "b.example", Resolved: true, Kind: Unlisted} }},
		"mail-none":                {Warning, func(f *Facts) { f.Mail.Host = "" }},
		"mail-failed":              {Error, func(f *Facts) { f.Mails = f.Mails[2:] }},
		"mail-retrying": {Warning, func(f *Facts) {
			f.Mails = []store.Mail{{Status: store.MailPending, Error: "421", CreatedAt: store.At(now)}}
		}},
		"administrator-none":        {Error, func(f *Facts) { f.Administrators = nil }},
		"administrator-unconfirmed": {Warning, func(f *Facts) { f.Administrators = f.Administrators[:1] }},
	} {
		f := sound()
		c.change(f)
		found := Judge(f).Findings()
		if len(found) != 1 || found[0].Code != code || found[0].Severity != c.severity {
			t.Errorf("%s: found %+v", code, found)
			continue
		}
		for _, text := range []string{found[0].Text.String(), found[0].Remedy.String()} {
			if text == "" || strings.Contains(text, "%!") || strings.HasPrefix(text, "installation.") {
				t.Errorf("%s reads %q", code, text)
			}
		}
	}
}

// When nothing outside is reached, a proxy of the environment is named, which this program does not use.
func TestNothingOutsideIsReached(t *testing.T) {
	t.Parallel()
	f := sound()
	f.Outbound = &Outbound{Targets: []Target{{Host: "a.example", Resolved: true, Kind: "timeout"}}, ProxyVariable: "HTTPS_PROXY"}
	found := Judge(f).Findings()
	if len(found) != 2 || found[0].Code != "outbound-none" || !strings.Contains(found[0].Remedy.String(), "HTTPS_PROXY") {
		t.Errorf("found %+v", found)
	}
}
