package registry

import (
	"time"

	"schakel/registry/cpa"
)

// Values that settings of a profile share. What each means stands with its setting.
const (
	PolicyRequire = "require"
	PolicyEnforce = "enforce"
	PolicyRefuse  = "refuse"
	PolicyStrict  = "strict"
	PolicyWarn    = "warn"
	PolicyAccept  = "accept"
	PolicyOn      = "on"
	PolicyOff     = "off"
)

// Values of single settings.
const (
	KeyQuoted  = "quoted"  // an Idempotency-Key stands in quotes (IDEM-I01)
	KeyLenient = "lenient" // its quotes may be left out (OPEN-17)

	SourceURNOIN = "urn-nld-oin" // a source is urn:nld:oin: with an OIN of 20 digits (CE-08)
	SourceURN    = "urn-nld"     // a source is a URN of namespace nld
	SourceAny    = "any"         // any URI-reference

	OversizeReject     = "reject"      // an event that is too large is refused
	OversizeClaimCheck = "claim_check" // its data is kept as an object, to which the event refers (EDU-01a)

	MismatchQuarantine = "quarantine" // a key that is used for something else: kept aside until a person decides (E11)
	ConcurrentWait     = "wait"       // a repeat waits for the answer to the first (E12)

	PublicationApprove = "approve" // a version of a partner is published by an administrator, at its request
	PublicationDirect  = "direct"  // partners publish versions of what they own

	UnwantedHold   = "hold"   // a message by AMQP that nobody is subscribed to is held, without an AppRec, until somebody is
	UnwantedReject = "reject" // it gets a negative AppRec

	DedupeConsumer     = "consumer"     // consumers leave out repeated events
	DedupeIntermediary = "intermediary" // we leave out repeated events for everybody
	DedupeBoth         = "both"         // we and consumers
)

// Profile is what a chain collaboration agreed on: how strictly the rules of the
// Edukoppeling profile are held, and what it leaves to its users (OPEN-01 to
// OPEN-17). The table of Settings says what each member means. A Profile that
// was handed out does not change.
type Profile struct {
	RequireKey   string        // IDEM-02
	KeySyntax    string        // IDEM-I01
	KeyLifetime  time.Duration // IDEM-07
	WriteKey     string        // IDEM-03
	DeleteKey    string        // IDEM-05
	OnMismatch   string        // IDEM-11, E11
	OnConcurrent string        // IDEM-I06, E12

	MaxEventBytes  int    // CE-32
	Oversize       string // EDU-01a
	MaxObjectBytes int    // EDU-01a
	Batches        string // EDU-16
	MaxBatchEvents int    // CE-56
	MaxBatchBytes  int    // CE-56
	UnknownTypes   string // CE-15
	Payload        string // CE-15
	TypePolicy     string // CE-12
	SourcePolicy   string // CE-08
	SourceAction   string // CE-08
	Sensitive      string // EDU-26
	SourceBinding  string // CE-10

	ClientRate  float64 // requests a second, 0 for no limit (EDU-20)
	ClientBurst int     // EDU-20

	RetryWaits      []time.Duration // EDU-18
	RetryAttempts   int             // EDU-18
	RetryDeadline   time.Duration   // IDEM-12
	MaxRetryAfter   time.Duration   // EDU-10
	CircuitFailures int             // 0 for never (EDU-12)
	CircuitWait     time.Duration   // EDU-12
	CircuitMaxWait  time.Duration   // EDU-12
	ContentMode     string          // CE-50
	DedupeAt        string          // EDU-18b

	SpecVersions       string // EDU-21
	PartnerPublication string // EDU-21
	MinScore           int    // 0 to 100 (EDU-21)
	ClientAuth         string // SEC-02

	AMQPSubjects []string // codes of list 8279 (AMQP-21)
	AMQPUnwanted string   // AMQP-16
}

// LenientProfile is the profile of an installation that chooses to start leniently. It relaxes three rules: an
// Idempotency-Key is required on events alone (IDEM-03), contracts may be written in older versions of OpenAPI and
// AsyncAPI (EDU-21), and clients may authenticate with a secret (SEC-02).
func LenientProfile() Profile {
	p := DefaultProfile()
	p.WriteKey, p.SpecVersions, p.ClientAuth = PolicyAccept, PolicyAccept, AuthSecretBasic
	return p
}

// Relaxations lists the settings in which a profile departs from what the Edukoppeling profile asks for, in the order of
// Settings. Before is the strict value, After the value of the profile.
func (p Profile) Relaxations() []SettingChange {
	var list []SettingChange
	for _, s := range Settings() {
		if value := s.Value(&p); s.Standing(value) == StandingRelaxed {
			list = append(list, SettingChange{s, s.Strict, value})
		}
	}
	return list
}

// DefaultProfile is the profile of an installation where nobody chose: it relaxes no rule of the Edukoppeling profile.
func DefaultProfile() Profile {
	return Profile{
		RequireKey: PolicyRequire, KeySyntax: KeyQuoted, KeyLifetime: 7 * 24 * time.Hour, WriteKey: PolicyRequire, DeleteKey: PolicyAccept,
		OnMismatch: PolicyRefuse, OnConcurrent: PolicyRefuse,
		MaxEventBytes: 65536, Oversize: OversizeReject, MaxObjectBytes: 10 << 20, Batches: PolicyOn, MaxBatchEvents: 100, MaxBatchBytes: 1 << 20,
		UnknownTypes: PolicyRefuse, Payload: PolicyRefuse, TypePolicy: PolicyStrict, SourcePolicy: SourceURN, SourceAction: PolicyWarn,
		Sensitive: PolicyWarn, SourceBinding: PolicyEnforce,
		ClientBurst: 100,
		RetryWaits: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
			30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
		},
		RetryAttempts: 50, RetryDeadline: 7 * 24 * time.Hour, MaxRetryAfter: 24 * time.Hour,
		CircuitFailures: 10, CircuitWait: 30 * time.Second, CircuitMaxWait: 15 * time.Minute, ContentMode: ModeStructured, DedupeAt: DedupeConsumer,
		SpecVersions: PolicyRefuse, PartnerPublication: PublicationApprove, ClientAuth: AuthPrivateKey,
		AMQPSubjects: cpa.SubjectCodes(), AMQPUnwanted: UnwantedHold,
	}
}

// withDefaults fills in what an installation does not say.
func (p Profile) withDefaults() Profile {
	standard := DefaultProfile()
	for _, s := range Settings() {
		if s.unset(&p) {
			s.copy(&p, &standard)
		}
	}
	return p
}

// values writes every setting as text, by key.
func (p *Profile) values() map[string]string {
	all := make(map[string]string)
	for _, s := range Settings() {
		all[s.Key] = s.Value(p)
	}
	return all
}

// profileOf reads settings from text; those that are not named are as in base.
// What cannot be read is told by key. bounds also holds values that differ from
// base against what the settings allow.
func profileOf(base Profile, values map[string]string, bounds bool) (Profile, problems) {
	p, wrong := base, problems{}
	for _, s := range Settings() {
		text, named := values[s.Key]
		if !named {
			continue
		}
		wrong.add(s.Key, s.set(&p, text))
		if bounds && s.Value(&p) != s.Value(&base) {
			wrong.add(s.Key, s.check(&p))
		}
	}
	if bounds && len(wrong) == 0 {
		p.checkTogether(wrong)
	}
	return p, wrong
}

// checkTogether holds settings against each other.
func (p *Profile) checkTogether(wrong problems) {
	if p.MaxBatchBytes < p.MaxEventBytes+2 {
		wrong.add("events.max_batch_bytes", "A batch must have room for the largest event: choose at least "+itoa(int64(p.MaxEventBytes+2))+", or lower the largest event.")
	}
	if p.MaxObjectBytes < p.MaxEventBytes {
		wrong.add("events.max_object_bytes", "Data that is too large for an event must fit: choose at least "+itoa(int64(p.MaxEventBytes))+", or lower the largest event.")
	}
	if p.RetryDeadline > p.KeyLifetime {
		wrong.add("sending.deadline", "Retries end when the Idempotency-Key does (IDEM-12): choose at most "+spell(p.KeyLifetime)+", or lengthen the lifetime of keys.")
	}
	if p.CircuitMaxWait < p.CircuitWait {
		wrong.add("sending.circuit_max_wait", "Choose at least the first pause, "+spell(p.CircuitWait)+".")
	}
}

// strict takes everything back to what the profile asks, and leaves what
// it leaves free as it is.
func (p Profile) strict() Profile {
	for _, s := range Settings() {
		if s.Strict != "" {
			_ = s.set(&p, s.Strict) // a test holds every strict value against its setting
		}
	}
	p.RetryDeadline = min(p.RetryDeadline, p.KeyLifetime)
	p.MaxBatchBytes = max(p.MaxBatchBytes, p.MaxEventBytes+2)
	p.MaxObjectBytes = max(p.MaxObjectBytes, p.MaxEventBytes)
	return p
}
