package installation

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of the checks. Each stands in the texts of its findings or in the operator's guide.
const (
	// BackupEvery bounds the age of the last backup.
	BackupEvery = 7 * 24 * time.Hour
	// ReplicaBehind bounds how far a replica is behind, and ReplicaFirst how long the first one takes.
	ReplicaBehind = 5 * time.Minute
	ReplicaFirst  = time.Hour

	clockNear    = 30 * time.Second // by which another clock may differ: answers take time, and Date has whole seconds
	clockFar     = 5 * time.Minute  // beyond which access tokens and signatures of others are refused
	clockMoment  = time.Minute      // by which what is stored may be ahead of now
	answerRecent = 24 * time.Hour   // bounds the age of an answer whose Date is compared
	mailRecent   = 7 * 24 * time.Hour

	// LeastPostgres is the oldest major version of PostgreSQL that still gets security fixes and that this program is tested with.
	LeastPostgres = 14
	fullSync      = 2 // PRAGMA synchronous
)

func judgeRunning(f *Facts) ([]Finding, bool) {
	r := f.Running
	switch {
	case r == nil:
		return nil, false
	case !r.Answered:
		return []Finding{{Code: "running-no", Severity: Notice, Text: i18n.M("installation.running.no", r.Addr), Remedy: "installation.running.no-remedy"}}, true
	}
	var found []Finding
	for _, line := range r.Troubles {
		found = append(found, Finding{Code: "running-unready", Severity: Error, Text: i18n.M("installation.running.unready", i18n.Raw(line)), Remedy: "installation.running.unready-remedy"})
	}
	return found, true
}

func judgeDatabase(f *Facts) ([]Finding, bool) {
	d := f.Database
	if d == nil {
		return nil, false
	}
	if d.Failure != "" {
		return []Finding{{Code: "database-unavailable", Severity: Error, Text: i18n.M("installation.database.unavailable", i18n.Raw(d.Failure)), Remedy: "installation.database.unavailable-remedy"}}, true
	}
	var found []Finding
	switch {
	case d.Current < d.Target:
		found = append(found, Finding{Code: "database-pending", Severity: Error, Text: i18n.M("installation.database.pending", plain(d.Current), plain(d.Target)), Remedy: "installation.database.pending-remedy"})
	case d.Current > d.Target:
		found = append(found, Finding{Code: "database-newer", Severity: Error, Text: i18n.M("installation.database.newer", plain(d.Current), plain(d.Target)), Remedy: "installation.database.newer-remedy"})
	}
	if d.Dialect == store.SQLite {
		return append(found, judgeSQLite(d)...), true
	}
	return append(found, judgePostgres(d)...), true
}

func judgeSQLite(d *Database) (found []Finding) {
	if d.Synchronous < fullSync {
		found = append(found, Finding{Code: "database-synchronous", Severity: Error, Text: "installation.database.synchronous", Remedy: "installation.database.settings-remedy"})
	}
	if !strings.EqualFold(d.Journal, "wal") {
		found = append(found, Finding{Code: "database-journal", Severity: Error, Text: i18n.M("installation.database.journal", d.Journal), Remedy: "installation.database.journal-remedy"})
	}
	return found
}

func judgePostgres(d *Database) (found []Finding) {
	if d.Fsync != "on" {
		found = append(found, Finding{Code: "database-fsync", Severity: Error, Text: "installation.database.fsync", Remedy: "installation.database.fsync-remedy"})
	}
	if d.FullPageWrites != "on" {
		found = append(found, Finding{Code: "database-full-page-writes", Severity: Error, Text: "installation.database.full-page-writes", Remedy: "installation.database.full-page-writes-remedy"})
	}
	if d.SynchronousCommit == "off" {
		found = append(found, Finding{Code: "database-synchronous-commit", Severity: Error, Text: "installation.database.synchronous-commit", Remedy: "installation.database.synchronous-commit-remedy"})
	}
	if d.Untuned {
		found = append(found, Finding{Code: "database-pooler-settings", Severity: Warning, Text: "installation.database.pooler-settings", Remedy: "installation.database.pooler-settings-remedy", Href: "/docs/postgresql"})
	}
	if d.Major < LeastPostgres {
		found = append(found, Finding{Code: "database-version", Severity: Warning, Text: i18n.M("installation.database.version", d.Version, plain(LeastPostgres)), Remedy: "installation.database.version-remedy"})
	}
	return found
}

// JudgeDisk finds whether a volume runs full: below a tenth of it, or 5 GiB of a large one, and when there is next to nothing left.
func JudgeDisk(d Disk) (Finding, bool) {
	switch {
	case d.Failure != "":
		return Finding{Code: "disk-unknown", Severity: Warning, Text: i18n.M("installation.disk.unknown", d.Folder, i18n.Raw(d.Failure)), Remedy: "installation.disk.unknown-remedy"}, true
	case d.Free < min(d.Size/100, 64<<20):
		return Finding{Code: "disk-full", Severity: Error, Text: i18n.M("installation.disk.full", int64(d.Free>>20), int64(d.Size>>20), d.Folder), Remedy: "installation.disk.remedy"}, true
	case d.Free < min(d.Size/10, 5<<30):
		return Finding{Code: "disk-low", Severity: Warning, Text: i18n.M("installation.disk.low", int64(d.Free>>20), int64(d.Size>>20), d.Folder), Remedy: "installation.disk.remedy"}, true
	}
	return Finding{}, false
}

func judgeDisk(f *Facts) ([]Finding, bool) {
	if f.Disk == nil {
		return nil, false
	}
	if found, bad := JudgeDisk(*f.Disk); bad {
		return []Finding{found}, true
	}
	return nil, true
}

func judgeBackup(f *Facts) ([]Finding, bool) {
	if !f.usable() {
		return nil, false
	}
	if found := judgeReplica(f.Replica, f.Now); len(found) > 0 {
		return found, true
	}
	switch {
	case f.Backup == nil:
		return []Finding{{Code: "backup-never", Severity: Warning, Text: "installation.backup.never", Remedy: "installation.backup.remedy", Href: "/docs/backups"}}, true
	case f.Now.Sub(f.Backup.At) > BackupEvery:
		return []Finding{{Code: "backup-old", Severity: Warning, Text: i18n.M("installation.backup.old", f.Backup.At), Remedy: "installation.backup.remedy", Href: "/docs/backups"}}, true
	}
	return nil, true
}

// judgeReplica judges a replica. The first whole copy of a large file takes a while.
func judgeReplica(r *Replica, now time.Time) []Finding {
	switch {
	case r == nil:
	case r.Since.IsZero() && (r.Failure != "" || now.Sub(r.Started) > ReplicaFirst):
		return []Finding{{Code: "backup-replica-none", Severity: Warning, Text: i18n.M("installation.backup.replica-none", r.Folder, r.Failure), Remedy: "installation.backup.replica-remedy", Href: "/docs/backups"}}
	case !r.Since.IsZero() && now.Sub(r.Since) > ReplicaBehind:
		return []Finding{{Code: "backup-replica-behind", Severity: Warning, Text: i18n.M("installation.backup.replica-behind", r.Folder, r.Since, r.Failure), Remedy: "installation.backup.replica-remedy", Href: "/docs/backups"}}
	}
	return nil
}

// usable reports whether the database could be read.
func (f *Facts) usable() bool {
	return f.Database != nil && f.Database.Failure == "" && f.Database.Current == f.Database.Target
}

func judgeKey(f *Facts) ([]Finding, bool) {
	var found []Finding
	if k := f.Key; k != nil && k.Failure != "" {
		return []Finding{{Code: "key-unusable", Severity: Error, Text: i18n.M("installation.key.unusable", k.Path, i18n.Raw(k.Failure)), Remedy: "installation.key.unusable-remedy"}}, true
	}
	if k := f.Key; k != nil && f.StoredKey != "" && k.Fingerprint != f.StoredKey && !slices.Contains(k.Others, f.StoredKey) {
		found = append(found, Finding{Code: "key-other", Severity: Error, Text: i18n.M("installation.key.other", k.Path, k.Fingerprint, f.StoredKey), Remedy: "installation.key.other-remedy"})
	}
	if !f.usable() || f.StoredKey == "" {
		return found, f.Key != nil
	}
	switch {
	case f.KeyBackup == nil:
		found = append(found, Finding{Code: "key-no-backup", Severity: Warning, Text: "installation.key.no-backup", Remedy: "installation.key.no-backup-remedy", Href: "/admin/installation#key"})
	case f.KeyBackup.KeyID != f.StoredKey:
		found = append(found, Finding{Code: "key-changed", Severity: Warning, Text: i18n.M("installation.key.changed", f.KeyBackup.KeyID, f.KeyBackup.At, f.StoredKey), Remedy: "installation.key.no-backup-remedy", Href: "/admin/installation#key"})
	}
	return found, true
}

func judgeAddress(f *Facts) ([]Finding, bool) {
	a := f.Address
	if a == nil {
		return nil, false
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, false
	}
	if local(u.Hostname()) {
		return []Finding{{Code: "address-local", Severity: Warning, Text: i18n.M("installation.address.local", a.URL), Remedy: "installation.address.local-remedy", Href: "/docs/operating"}}, true
	}
	var found []Finding
	if u.Scheme != "https" {
		found = append(found, Finding{Code: "address-plain", Severity: Error, Text: i18n.M("installation.address.plain", a.URL), Remedy: "installation.address.plain-remedy", Href: "/docs/proxies"})
	}
	switch {
	case !a.Asked:
	case a.Kind == Blocked:
		found = append(found, Finding{Code: "address-private", Severity: Notice, Text: i18n.M("installation.address.private", a.URL), Remedy: "installation.address.private-remedy"})
	case a.Kind != "":
		found = append(found, Finding{Code: "address-unreachable", Severity: Error, Text: i18n.M("installation.address.unreachable", a.URL, reach(a.Kind)), Remedy: "installation.address.unreachable-remedy", Href: "/docs/proxies"})
	case !a.Own:
		found = append(found, Finding{Code: "address-other", Severity: Error, Text: i18n.M("installation.address.other", a.URL, a.Failure), Remedy: "installation.address.other-remedy", Href: "/docs/proxies"})
	}
	return found, true
}

// Blocked is the kind of failure of a request to an address that this installation sends nothing to; see package outbound.
const Blocked = "blocked-address"

// Unlisted is the kind of a host that is not among --outbound-hosts.
const Unlisted = "unlisted"

// reach explains by a kind of package outbound that a host was not reached.
func reach(kind string) i18n.Message { return i18n.Word("installation.reach", kind) }

// Local reports whether an address is of this machine to everybody, so that others cannot reach it.
func Local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && local(u.Hostname())
}

// local reports whether a host is this machine to everybody.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func judgeProxy(f *Facts) ([]Finding, bool) {
	p := f.Proxy
	switch {
	case p == nil:
		return nil, false
	case p.Seen == "":
		return nil, true
	case p.Near:
		return []Finding{{Code: "proxy-untrusted", Severity: Warning, Text: i18n.M("installation.proxy.untrusted", p.Seen, p.SeenAt), Remedy: i18n.M("installation.proxy.untrusted-remedy", p.Seen), Href: "/docs/proxies"}}, true
	}
	return []Finding{{Code: "proxy-forged", Severity: Notice, Text: i18n.M("installation.proxy.forged", p.Seen, p.SeenAt), Remedy: i18n.M("installation.proxy.untrusted-remedy", p.Seen), Href: "/docs/proxies"}}, true
}

// plain writes a version, without separators.
func plain[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
