package installation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Kinds of what ends.
const (
	ExpiryTLS       = "tls"                  // the certificate of --tls-cert
	ExpiryChain     = "tls-chain"            // one of an authority in the same file
	ExpiryAddress   = "address"              // what answers at the base URL, such as a proxy
	ExpiryTrust     = "trust"                // a root or intermediate that we hold others against
	ExpiryParty     = "amqp-party"           // of a party for messages over AMQP
	ExpiryBroker    = "amqp-broker"          // our client certificate for a broker
	ExpiryBrokerCA  = "amqp-broker-ca"       // whom we trust at a broker
	ExpiryClient    = "client"               // what a machine client showed last
	ExpiryClientKey = "client-key"           // x5c of a key that is registered with a client
	ExpiryReadKey   = "read-key"             // of a pipeline
	ExpiryAssertion = "assertion-key"        // the certificate of the key that signs our client assertions
	ExpirySignKey   = "endpoint-signing"     // of the key before, that signs requests until it retires
	ExpiryEndpoint  = "endpoint-certificate" // the client certificate that an endpoint is shown
	ExpiryOutbound  = "outbound"             // the client certificate that the others are shown
	ExpiryMail      = "mail"                 // the client certificate that the mail server is shown
	ExpiryRecipient = "encryption-key"       // the last of a pasted set that the data of a subscription can be encrypted with
	ExpiryKeySet    = "encryption-key-set"   // the same of a set behind an address, as a node read it last
	ExpiryReceiver  = "receiver"             // the certificate that the host of an endpoint showed a node last
	ExpiryToken     = "token-endpoint"       // the same of the host of its token endpoint
	ExpiryKeyHost   = "client-key-address"   // the same of the host that the keys of a client are read from
	ExpiryDatabase  = "database"             // our certificate for PostgreSQL, or one that it is held against
)

// Kinds of TLS certificates that other servers showed a node last, and of what it read there.
const (
	ExpiryProvider       = "oidc-provider"       // a host of an OpenID provider
	ExpiryTokenIssuer    = "token-issuer"        // a host of another issuer of tokens: its metadata, keys and introspection
	ExpiryMirror         = "mirror"              // a host that contracts are mirrored from
	ExpiryMandates       = "mandates"            // the register of mandates
	ExpiryOINRegister    = "oin-register"        // the list of organisations by OIN
	ExpiryRevocation     = "revocation"          // a host of revocation lists
	ExpiryMailServer     = "mail-server"         // the mail server
	ExpirySyslog         = "syslog-server"       // the syslog server of the audit trail
	ExpiryTraces         = "trace-collector"     // the collector of spans
	ExpiryDatabaseServer = "database-server"     // PostgreSQL
	ExpiryBrokerServer   = "amqp-broker-server"  // a broker
	ExpiryKeySetHost     = "encryption-key-host" // the host that keys to encrypt with are read from
	ExpiryClientKeySet   = "client-key-set"      // the last certificate (x5c) in the keys behind the address of a client
)

// The codes of what the check of certificates finds about ends.
const (
	CodeExpires = "certificate-soon"
	CodeExpired = "certificate-expired"
)

// Expiry is a certificate or key that ends.
type Expiry struct {
	Kind string // one of the kinds above
	ID   string // of what is renewed: after that the same has another end
	What i18n.Message
	// From is the moment since which it is valid; zero when that is not known.
	From, Until time.Time
	// PartnerID is whose it is, when it is not ours: its people are told too.
	PartnerID string
	// Severe marks one without which something of ours stops at its end.
	Severe bool
	Remedy i18n.Message
	// Href is the page of administrators, PartnerHref that of the people of the partner; empty for what is mended outside the portal.
	Href, PartnerHref string
}

// Item names what ends, in all languages and for ever.
func (e Expiry) Item() string { return e.Kind + " " + e.ID }

// KindOf returns the kind of what an Item names.
func KindOf(item string) string {
	kind, _, _ := strings.Cut(item, " ")
	return kind
}

// StoredKinds lists the kinds in the database, which all nodes share: of these, what is not found any more is over. Of files, which each node has
// its own of, only a later end says so.
func StoredKinds() []string {
	return []string{ExpiryParty, ExpiryBroker, ExpiryBrokerCA, ExpiryClient, ExpiryClientKey, ExpiryReadKey, ExpirySignKey, ExpiryEndpoint, ExpiryAssertion, ExpiryRecipient}
}

// Text tells when it ends, or that it has ended.
func (e Expiry) Text(now time.Time) i18n.Message {
	if now.Before(e.Until) {
		return i18n.M("installation.certificate.soon", e.What, e.Until)
	}
	return i18n.M("installation.certificate.expired", e.What, e.Until)
}

const day = 24 * time.Hour

// expiryDays lists the days ahead at which people are told of an end. Certificates that are made for at most shortLived are renewed by programs, about a third
// of their life ahead: of them people are told when that has not worked.
var (
	expiryDays      = []int{60, 30, 7, 1}
	shortLivedDays  = []int{7, 1}
	shortLived      = 100 * day
	warnedOf        = 30 * day
	mostExpiries    = 50 // that the check lists
	expiryForgotten = 60 * day
)

// Due returns the last threshold that has passed at a moment, in days before the end: 0 when it has ended. It is false when none has.
func (e Expiry) Due(now time.Time) (days int, due bool) {
	left := e.Until.Sub(now)
	if left <= 0 {
		return 0, true
	}
	thresholds := expiryDays
	if !e.From.IsZero() && e.Until.Sub(e.From) <= shortLived {
		thresholds = shortLivedDays
	}
	for _, t := range slices.Backward(thresholds) {
		if left < time.Duration(t)*day {
			return t, true
		}
	}
	return 0, false
}

// finding judges it at a moment; false finds nothing.
func (e Expiry) finding(now time.Time) (Finding, bool) {
	days, due := e.Due(now)
	if !due {
		return Finding{}, false
	}
	f := Finding{Code: CodeExpires, Severity: Notice, Text: e.Text(now), Remedy: e.Remedy, Href: e.Href}
	switch {
	case days == 0 && e.Severe:
		f.Code, f.Severity = CodeExpired, Error
	case days == 0:
		f.Code, f.Severity = CodeExpired, Warning
	case e.Until.Sub(now) < warnedOf:
		f.Severity = Warning
	}
	return f, true
}

// Expiries lists all certificates and keys that end, ours and those of others, the first to end first.
func (f *Facts) Expiries() []Expiry {
	list := slices.Concat(f.Files, f.Ends)
	if t := f.TLS; t != nil && !t.Expires.IsZero() {
		list = append(list, Expiry{
			Kind: ExpiryTLS, ID: t.Path, What: i18n.M("installation.expiry.tls", t.Path), From: t.From, Until: t.Expires, Severe: true,
			Remedy: "installation.certificate.file-remedy",
		})
	}
	if a := f.Address; a != nil && !a.Expires.IsZero() && (f.TLS == nil || !f.TLS.Expires.Equal(a.Expires)) {
		list = append(list, Expiry{
			Kind: ExpiryAddress, ID: a.URL, What: i18n.M("installation.expiry.address", a.URL), From: a.From, Until: a.Expires, Severe: true,
			Remedy: "installation.certificate.public-remedy",
		})
	}
	sorted.By(list, func(a, b Expiry) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Item(), b.Item())) })
	return list
}

func judgeCertificates(f *Facts) ([]Finding, bool) {
	var found []Finding
	if t := f.TLS; t != nil {
		found = append(found, judgeTLS(*t)...)
	}
	ends := 0
	for _, e := range f.Expiries() {
		one, due := e.finding(f.Now)
		if !due {
			continue
		}
		if ends++; ends <= mostExpiries {
			found = append(found, one)
		}
	}
	if more := ends - mostExpiries; more > 0 {
		found = append(found, Finding{Code: "certificate-more", Severity: Notice, Text: i18n.M("installation.certificate.more", more), Remedy: "installation.certificate.more-remedy"})
	}
	return found, f.TLS != nil || f.Address != nil || f.usable()
}

func judgeTLS(t Certificate) []Finding {
	if t.Failure != "" {
		return []Finding{{Code: "certificate-unusable", Severity: Error, Text: i18n.M("installation.certificate.unusable", t.Path, i18n.Raw(t.Failure)), Remedy: "installation.certificate.unusable-remedy"}}
	}
	switch t.Level {
	case "phase-out":
		return []Finding{{Code: "certificate-phase-out", Severity: Warning, Text: i18n.M("installation.certificate.phase-out", t.Path), Remedy: "installation.certificate.level-remedy"}}
	case "insufficient":
		return []Finding{{Code: "certificate-insufficient", Severity: Error, Text: i18n.M("installation.certificate.insufficient", t.Path), Remedy: "installation.certificate.level-remedy"}}
	}
	return nil
}
