package main

import "slices"

// Rule is one rule that the product is held to, in our own words.
type Rule struct {
	// ID is that of the requirements, such as EDU-10.
	ID string
	// Level gives how binding it is.
	Level string
	Text  string
	// Reason says why no test can prove it; empty for a rule with tests.
	Reason string
}

// The levels of rules: those of RFC 2119, and what the list of rules adds.
const (
	must      = "must"
	mustNot   = "must not"
	should    = "should"
	shouldNot = "should not"
	may       = "may"
	optional  = "optional"
	option    = "option"    // of a chain collaboration
	choice    = "choice"    // ours, among several
	own       = "ours"      // a rule we added
	exception = "exception" // something that does not apply
	example   = "example"
	info      = "note"
	corrected = "corrected" // an error of the text, as it holds here
	editorial = "editorial"
)

// Chapter is a part of the rules.
type Chapter struct {
	Title string
	Rules []Rule
}

// Chapters are all rules, in the order of the requirements.
func Chapters() []Chapter {
	return []Chapter{
		{"Exchange and register (Edukoppeling)", eduRules()},
		{"Idempotency", idemRules()},
		{"CloudEvents and webhooks", ceRules()},
		{"OAuth and TLS", secRules()},
		{"Choices of a chain", openRules()},
		{"Health messages by AMQP", amqpRules()},
		{"How the AMQP profile is read", amqpReadings()},
		{"Mutation delivery", mutRules()},
	}
}

// known reports whether there is a rule with this id.
func known(id string) bool {
	return slices.ContainsFunc(Chapters(), func(c Chapter) bool {
		return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.ID == id })
	})
}

// openRules are the open points of the profile's review, each an option of a
// chain collaboration.
func openRules() []Rule {
	return []Rule{
		{ID: "OPEN-01", Level: option, Text: "Delivery by webhook, by pull, or both"},
		{ID: "OPEN-02", Level: option, Text: "The largest event, and what happens to a larger one"},
		{ID: "OPEN-03", Level: option, Text: "The OAuth profile"},
		{ID: "OPEN-04", Level: option, Text: "A key required, asked for, or not looked at"},
		{ID: "OPEN-05", Level: option, Text: "Parts that can be used apart"},
		{ID: "OPEN-06", Level: option, Text: "The register as an API"},
		{ID: "OPEN-07", Level: option, Text: "Where duplicates are told"},
		{ID: "OPEN-08", Level: option, Text: "Rates by client"},
		{ID: "OPEN-09", Level: option, Text: "Who defines which document"},
		{ID: "OPEN-10", Level: option, Text: "Which versions of OpenAPI and AsyncAPI"},
		{ID: "OPEN-11", Level: option, Text: "What a subscription can select by"},
		{ID: "OPEN-12", Level: option, Text: "Edu-V notifications", Reason: "not offered; the API at /events/v1 has the same flows"},
		{ID: "OPEN-13", Level: option, Text: "Acknowledged after keeping, always"},
		{ID: "OPEN-14", Level: option, Text: "Registration by hand or by API"},
		{ID: "OPEN-15", Level: option, Text: "The first load of data", Reason: "not offered: transactions that stay synchronous are outside this exchange"},
		{ID: "OPEN-16", Level: option, Text: "Editorial remarks", Reason: "remarks on the text of the profile"},
		{ID: "OPEN-17", Level: option, Text: "Syntax of keys, other content under a key, parts of a batch, sources, lifetime"},
	}
}

// secRules are the rules of OAuth and TLS.
func secRules() []Rule {
	return append(secTokens(), secTransport()...)
}

func secTokens() []Rule {
	return []Rule{
		{ID: "SEC-01", Level: must, Text: "Grant client_credentials alone, no refresh tokens"},
		{ID: "SEC-02", Level: must, Text: "Clients prove themselves with private_key_jwt"},
		{ID: "SEC-03", Level: may, Text: "Or with a TLS certificate"},
		{ID: "SEC-04", Level: must, Text: "An assertion is for one endpoint, short-lived and used once"},
		{ID: "SEC-05", Level: must, Text: "Keys are published as a JWKS and roll without a failed token"},
		{ID: "SEC-06", Level: must, Text: "Keys of clients come with PKIoverheid certificates with an OIN, which are checked; so do our own, where one is given"},
		{ID: "SEC-07", Level: must, Text: "Access tokens are signed JWTs, and all of one is checked"},
		{ID: "SEC-08", Level: must, Text: "A token in the address is refused"},
		{ID: "SEC-09", Level: should, Text: "Tokens live short and are asked for once a lifetime"},
		{ID: "SEC-10", Level: must, Text: "Scopes are described, and enforced as described"},
		{ID: "SEC-11", Level: must, Text: "Tokens are read as JWT, or their issuer is asked about them; a revoked client is out within seconds"},
		{ID: "SEC-12", Level: must, Text: "Keys are found by discovery, fetched again for an unknown one, not flooded"},
		{ID: "SEC-13", Level: optional, Text: "Tokens bound to a certificate, or to a key by DPoP, of other issuers too"},
		{ID: "SEC-14", Level: choice, Text: "Who sends or receives for another organisation needs its mandate, where a register is configured"},
		{ID: "SEC-15", Level: must, Text: "The OIN in the certificate of a partner is compared with its own"},
	}
}

func secTransport() []Rule {
	return []Rule{
		{ID: "SEC-20", Level: must, Text: "TLS 1.2 and 1.3, nothing older"},
		{ID: "SEC-21", Level: must, Text: "Only cipher suites rated good or sufficient"},
		{ID: "SEC-22", Level: must, Text: "Key exchange with hybrids first, none that is weak"},
		{ID: "SEC-23", Level: must, Text: "Our own certificate is judged at the start"},
		{ID: "SEC-24", Level: must, Text: "No compression, renegotiation or early data"},
		{ID: "SEC-25", Level: must, Text: "Two-way TLS, off, requested or required for each API"},
		{ID: "SEC-26", Level: must, Text: "Certificates of others are always verified"},
		{ID: "SEC-27", Level: own, Text: "No request of ours reaches what it should not; sizes and times are bounded"},
	}
}

// idemRules are the rules of idempotency: of the profile, its example and the
// draft of the Idempotency-Key header.
func idemRules() []Rule {
	return append(idemProfile(), append(idemAround(), corrections()...)...)
}

func idemProfile() []Rule {
	return []Rule{
		{ID: "IDEM-01", Level: must, Text: "The rules hold for what is answered at once and for what is not"},
		{ID: "IDEM-02", Level: must, Text: "Every request with events carries an Idempotency-Key"},
		{ID: "IDEM-03", Level: must, Text: "So does every POST and PATCH that changes something, where the chain is strict"},
		{ID: "IDEM-04", Level: must, Text: "No change escapes that by its method"},
		{ID: "IDEM-05", Level: should, Text: "DELETE honours a key: twice gives the same answer"},
		{ID: "IDEM-06", Level: must, Text: "A key is a UUID of version 4"},
		{ID: "IDEM-07", Level: should, Text: "A key lives seven days"},
		{ID: "IDEM-08", Level: must, Text: "A fingerprint tells requests under one key apart"},
		{ID: "IDEM-09", Level: must, Text: "The sender keeps its key for its whole life, through restarts"},
		{ID: "IDEM-10", Level: may, Text: "The sender works from an outbox"},
		{ID: "IDEM-11", Level: must, Text: "One key, one payload: 422 for another"},
		{ID: "IDEM-12", Level: should, Text: "Retries stop when the key is over; then a person decides"},
		{ID: "IDEM-13", Level: must, Text: "After that a new key, for the same event"},
		{ID: "IDEM-14", Level: must, Text: "A repeated request gets the answer of the first"},
		{ID: "IDEM-15", Level: should, Text: "A repeated event is accepted, and handled once"},
		{ID: "IDEM-16", Level: must, Text: "Keys are apart for each client"},
		{ID: "IDEM-17", Level: should, Text: "Key and effect are kept in one transaction"},
		{ID: "IDEM-18", Level: must, Text: "The key is looked at before all else, and 400 when it is wrong"},
	}
}

// idemAround are the example of the profile and the draft of the header.
func idemAround() []Rule {
	return []Rule{
		{ID: "IDEM-X01", Level: should, Text: "A known event is dropped, an unknown one handled, its id kept with the effect"},
		{ID: "IDEM-X02", Level: should, Text: "The id is the producer's and never changes on the way"},
		{ID: "IDEM-X03", Level: example, Text: "The outbox keeps payload, key, expiry and state of each delivery"},
		{ID: "IDEM-X04", Level: example, Text: "A key is kept with client, fingerprint, status, headers, body and times"},
		{ID: "IDEM-X05", Level: example, Text: "Of many requests at once under one key, one does its work"},
		{ID: "IDEM-X06", Level: example, Text: "4xx is for a person to mend, 5xx for another try"},
		{ID: "IDEM-I01", Level: must, Text: "The header is one quoted string of RFC 8941"},
		{ID: "IDEM-I02", Level: must, Text: "A key is never used with another payload"},
		{ID: "IDEM-I03", Level: should, Text: "A key is random"},
		{ID: "IDEM-I04", Level: may, Text: "The fingerprint is a checksum over the payload"},
		{ID: "IDEM-I05", Level: must, Text: "What we do with keys, and how long, is published"},
		{ID: "IDEM-I06", Level: should, Text: "400, 409 and 422 are problem documents that lead to an explanation"},
		{ID: "IDEM-I07", Level: should, Text: "A repeated request gets the same result, success or error"},
		{ID: "IDEM-I08", Level: must, Text: "The sender repeats 409 and never a request that must be mended"},
		{ID: "IDEM-I09", Level: should, Text: "A key of fixed form, looked at first, looked up per client"},
	}
}

// corrections are the errors of the text, in the corrected form that holds here.
func corrections() []Rule {
	return []Rule{
		{ID: "E1", Level: corrected, Text: "A key is over when its time has passed, not before"},
		{ID: "E2", Level: corrected, Text: "Cleaning up takes what is over and leaves what lives"},
		{ID: "E3", Level: corrected, Text: "5xx and time-outs are tried again, not failed at once"},
		{ID: "E4", Level: corrected, Text: "A key on DELETE is asked for where the chain says so"},
		{ID: "E5", Level: corrected, Text: "An invalid key is always 400"},
		{ID: "E6", Level: corrected, Text: "Seven days is the default, and can be set"},
		{ID: "E7", Level: editorial, Text: "HTTP methods are those of RFC 9110", Reason: "a reference in the text; the router holds methods by RFC 9110"},
		{ID: "E8", Level: corrected, Text: "The unique insert is the lock, so that nothing comes between look-up and lock"},
		{ID: "E9", Level: editorial, Text: "A consumer is not a provider", Reason: "a wrong word in the text"},
		{ID: "E10", Level: editorial, Text: "Annexes are referred to by the wrong name", Reason: "wrong references in the text"},
		{ID: "E11", Level: corrected, Text: "Other content under a used key is refused, or kept aside where the chain says so"},
		{ID: "E12", Level: corrected, Text: "409 only while the first request is not on disk"},
		{ID: "E13", Level: corrected, Text: "Keys are looked up by client and operation"},
		{ID: "E14", Level: editorial, Text: "The draft has expired and is no standard", Reason: "a label in the text"},
		{ID: "E15", Level: editorial, Text: "Exactly once is said of effects alone", Reason: "about words; what we guarantee is said as at least once"},
		{ID: "E16", Level: editorial, Text: "Limiting by address is advised against", Reason: "a wrong level in the text; EDU-20b holds"},
		{ID: "E17", Level: corrected, Text: "Only completed outcomes are stored with a key"},
	}
}
