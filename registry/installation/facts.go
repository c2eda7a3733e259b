package installation

import (
	"time"

	"schakel/store"
)

// Facts are all that [Judge] looks at. A part that is nil or zero was not gathered: its checks are silent, or unknown.
type Facts struct {
	Now time.Time
	Surroundings

	Database       *Database
	Mails          []store.Mail // the newest, newest first
	Backup         *Record      // the last that succeeded; nil when there was none
	KeyBackup      *Record      // the last that an administrator confirmed; nil when nobody did
	StoredKey      string       // the fingerprint of the key that the secrets of the database are sealed with
	Ends           []Expiry     // of certificates and keys in the database
	Newest         time.Time    // the latest moment that is stored
	Answers        []Answer
	Administrators []Administrator
}

// Surroundings are the facts that the database does not have.
type Surroundings struct {
	Running *Running
	Disk    *Disk
	Replica *Replica // nil when the database is not copied to a folder
	Key     *KeyFile
	Address *Address
	Proxy   *Proxy
	TLS     *Certificate // of --tls-cert
	Files   []Expiry     // other certificates in files that flags name, and keys and certificates of receivers
	Clock   *Clock
	// Outbound is nil when nothing outside was looked for.
	Outbound *Outbound
	Mail     *MailServer
	// Links holds the connections to other machines that are not protected as they should be.
	Links []Link
	// Audit holds the systems that entries of the audit trail are sent to.
	Audit []AuditTarget
	// ProbedAt holds the time of the last request to the own address and to others; zero before the first.
	ProbedAt time.Time
}

// Replica is the copy of the database that the program keeps in a folder.
type Replica struct {
	Folder  string
	Started time.Time // of the program
	Since   time.Time // everything committed before is in it; zero when it cannot be restored yet
	Failure string    // why the last try failed; empty when it did not
}

// Running is a program that was asked how it is, by schakel doctor.
type Running struct {
	Addr     string
	Answered bool
	Troubles []string // the lines of /readyz that name a failure
}

// Database is the state of the database.
type Database struct {
	store.Engine

	Failure         string // why it cannot be used; the rest is empty then
	Current, Target int64  // versions of the schema: that of the tables, and that of this program
}

// Disk is the room on the volume of the database, in bytes.
type Disk struct {
	Folder     string
	Free, Size uint64
	Failure    string // why it could not be read
}

// KeyFile is the file with the secret key.
type KeyFile struct {
	Path        string
	Fingerprint string   // of its first key; empty when it cannot be used
	Others      []string // the fingerprints of all its keys
	Failure     string   // why not
}

// Address is the base URL and what a request to it found.
type Address struct {
	URL string
	// Asked is false when no request was made.
	Asked bool
	// Kind, one of package outbound, and Failure give the cause of a missing answer.
	Kind, Failure string
	// Own reports whether the answer came from this installation.
	Own bool
	// Expires holds the end of the certificate at the address; zero over plain HTTP.
	Expires time.Time
	From    time.Time // since when that is valid
}

// Proxy holds the facts about proxies in front that requests give away.
type Proxy struct {
	// Trusted are the proxies of --trusted-proxy.
	Trusted []string
	// Seen is the last address that sent X-Forwarded-For without being trusted; empty when none did.
	Seen   string
	SeenAt time.Time
	// Near reports whether Seen is a private address or this machine, as a proxy's mostly is.
	Near bool
}

// Certificate is that of our own TLS.
type Certificate struct {
	Path    string
	From    time.Time
	Expires time.Time
	Level   string // good, phase-out or insufficient, as the NCSC rates key and signature
	Failure string
}

// Clock holds the verdict of the kernel on the clock of this machine.
type Clock struct {
	Synchronised bool
	Known        bool // the kernel said it
}

// Outbound holds the results of trying to reach others from here.
type Outbound struct {
	Targets []Target
	// ProxyVariable names the variable of the environment that names a proxy, which this program does not use; empty when there is none.
	ProxyVariable string
}

// Target is a host outside that this installation needs.
type Target struct {
	Host string
	// Resolved and Reached report what worked. Kind is that of the failure, as in package outbound.
	Resolved, Reached bool
	Kind              string
}

// MailServer names the server that mails are sent by.
type MailServer struct {
	Host string // empty: mails are not sent
}

// Link is a connection to another machine that is not protected as it should be.
type Link struct {
	Kind string // LinkDatabase, LinkMail or LinkBroker
	To   string
	// Encrypted reports whether TLS is used, without holding the name in the certificate against that of the host.
	Encrypted bool
}

// The kinds of links.
const (
	LinkDatabase = "database"
	LinkMail     = "mail"
	LinkBroker   = "broker"
)

// AuditTarget is a system that gets the entries of the audit trail as they come.
type AuditTarget struct {
	To      string
	Waiting int64     // entries that it did not get yet
	Since   time.Time // when the oldest of them was made
	Failure string    // of the last try
}

// Record is a thing that was done, as it is stored.
type Record struct {
	At    time.Time `json:"at"`
	By    string    `json:"by,omitempty"`
	Place string    `json:"place,omitempty"` // where a backup went
	Bytes int64     `json:"bytes,omitempty"`
	KeyID string    `json:"keyId,omitempty"` // the fingerprint of the key
	Email string    `json:"email,omitempty"`
}

// Answer is the time another server told in an answer, and when we got it.
type Answer struct {
	Host      string
	Told, Got time.Time
}

// Administrator is an account that can decide.
type Administrator struct {
	Email     string
	Confirmed bool // a mail to this address arrived
}
